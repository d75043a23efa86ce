"""A browser that is signed in, and what it has complained about."""

import contextlib
import json
import sys
import urllib.error
import urllib.request

from playwright.sync_api import expect, sync_playwright

CHROMIUM = "/usr/bin/chromium"
ARGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync"]
DESK = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}

TOLD = json.loads(sys.argv[1])
expect.set_options(timeout=20_000)


def ask(base, path, method="GET", body=None, headers=None):
    """What a server answers: (status, JSON or None)."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(TOLD[base] + path, data, headers or {}, method=method)
    if body is not None:
        request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            status, text = answer.status, answer.read()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read()
    try:
        return status, json.loads(text)
    except ValueError:
        return status, None


def admin(path, method="GET", body=None):
    """What the admin API answers the bearer of the token. It must not refuse."""
    status, value = ask("admin", path, method, body, {"Authorization": "Bearer " + TOLD["token"]})
    assert status < 300, (method, path, status, value)
    return value


def through_the_gateway(key, path="/api/things", method="GET"):
    """The status of a request with this key."""
    return ask("gateway", path, method, headers={"X-API-Key": key} if key else {})[0]


@contextlib.contextmanager
def chromium():
    """The browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        yield browser
        browser.close()


class Complaints:
    """What a page wrote to the console as an error, and what it threw."""

    def __init__(self, page, expected=()):
        self.all = []
        self.expected = expected
        page.on("console", self.console)
        page.on("pageerror", lambda error: self.all.append(str(error)))

    def console(self, message):
        if message.type == "error" and not any(part in message.text for part in self.expected):
            self.all.append(message.text + " " + str((message.location or {}).get("url", "")))

    def expect_none(self):
        assert self.all == [], self.all


def sign_in(page):
    """Signs in by the keyboard alone."""
    page.goto(TOLD["admin"] + "/")
    page.get_by_label("Admin token").fill(TOLD["token"])
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()
