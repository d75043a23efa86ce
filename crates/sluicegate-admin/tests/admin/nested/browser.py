"""Signs in below a prefix, opens every page by its URL and by its link, and makes an account."""

import json
import re
import sys

from playwright.sync_api import expect, sync_playwright

CHROMIUM = "/usr/bin/chromium"
ARGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync"]
PAGES = ["/accounts", "/accounts/acme", "/tiers", "/abuse", "/ledger", "/live", "/explain", "/explain/dec_1"]
LINKS = ["Accounts", "Tiers", "Abuse", "Ledger", "Live", "Explain", "Overview"]

TOLD = json.loads(sys.argv[1])
BASE = TOLD["origin"] + TOLD["prefix"]
HOME = TOLD["origin"] + TOLD["home"]
expect.set_options(timeout=20_000)


def sign_in(page):
    page.goto(HOME)
    page.get_by_label("Admin token").fill(TOLD["token"])
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()


def open_directly(page):
    for url in [HOME, *(BASE + path for path in PAGES)]:
        page.goto(url)
        expect(page.locator("main h1")).to_be_visible()
        expect(page.locator(".loading")).to_have_count(0)


def follow_links(page):
    for name in LINKS:
        page.get_by_role("navigation").get_by_role("link", name=name).click()
        expect(page.get_by_role("heading", level=1)).to_have_text(re.compile(name))
        expect(page).to_have_url(HOME if name == "Overview" else f"{BASE}/{name.lower()}")
    page.go_back()
    expect(page).to_have_url(BASE + "/explain")


def make_account(page):
    page.goto(BASE + "/accounts")
    page.get_by_role("button", name="Create account").first.click()
    page.get_by_label("Name").fill("Globex")
    page.get_by_label("Id", exact=True).fill("globex")
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page).to_have_url(BASE + "/accounts/globex")


def sign_out(page):
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Admin token")).to_be_visible()


def main():
    complaints, outside = [], []
    # One of the pages is that of a decision that is not there.
    is_expected = lambda message: "status of 404" in message.text and "/dec_1" in message.location.get("url", "")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        context = browser.new_context()
        page = context.new_page()
        page.on("console", lambda message: message.type == "error" and not is_expected(message)
                and complaints.append(f"{message.text} {message.location}"))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: request.url == HOME or request.url.startswith(BASE + "/")
                or outside.append(request.url))
        sign_in(page)
        cookies = [(cookie["path"], cookie["httpOnly"]) for cookie in context.cookies()]
        assert cookies == [(TOLD["cookie_path"], True)], cookies
        open_directly(page)
        follow_links(page)
        make_account(page)
        sign_out(page)
        browser.close()
    print(json.dumps({"complaints": complaints, "outside": outside, "pages": 1 + len(PAGES)}))


main()
