"""Every page at a desk and on a phone: it fits, nothing goes wrong, and it can be read out. Painted if that is wanted."""

import json
import pathlib
import time

from axe_playwright_python.sync_playwright import Axe
from browser import DESK, PHONE, TOLD, Complaints, admin, chromium, expect, sign_in
from traffic import CLIENT, customers, fill

PICTURE_BYTES_MAX = 150_000
GRAVE = ("serious", "critical")


def pages():
    refused = admin("/admin/v1/decisions?account=globex&limit=1")["items"][0]["decision_id"]
    return {
        "overview": "/",
        "accounts": "/accounts",
        "account": "/accounts/globex",
        "tiers": "/tiers",
        "abuse": f"/abuse?client={CLIENT}",
        "ledger": "/ledger",
        "live": "/live",
        "explain": f"/explain/{refused}",
        "explain-recent": "/explain",
        "missing": "/accounts/nobody",
    }


def seed():
    keys = customers()
    # A reload that changes something.
    policy = pathlib.Path(TOLD["policy"])
    policy.write_text(policy.read_text().replace("quota: 10_000", "quota: 12_000").replace("rate: 200", "rate: 250"))
    for _ in range(100):
        if admin("/admin/v1/policy")["version"] > 1:
            break
        time.sleep(0.1)
    # It goes on while the pages are looked at.
    fill(keys, 600)
    time.sleep(285 if TOLD["images"] else 4)


def settle(page, path):
    page.goto(TOLD["admin"] + path)
    expect(page.locator("main h1")).to_be_visible()
    expect(page.locator(".loading")).to_have_count(0)
    page.wait_for_timeout(400)


def faults(page, name, size):
    found = []
    wide = page.evaluate("document.documentElement.scrollWidth")
    if wide > size["width"]:
        found.append(f"{name} is {wide} wide on {size['width']}")
    for fault in Axe().run(page).response["violations"]:
        if fault["impact"] in GRAVE:
            nodes = [node["html"][:160] for node in fault["nodes"][:3]]
            found.append(f"{name} at {size['width']}: {fault['id']}: {fault['help']}: {nodes}")
    return found


def paint(page, name):
    if not TOLD["images"]:
        return
    folder = pathlib.Path(TOLD["images"])
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"{name}.png", animations="disabled")
    size = (folder / f"{name}.png").stat().st_size
    assert size < PICTURE_BYTES_MAX, (name, size)


def looks(browser, size, word, scheme, only=None):
    """Looks at the pages at one size; what is wrong with them."""
    found = []
    # Only to let the rules for reading out be checked from inside; the story runs without.
    context = browser.new_context(viewport=size, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    complaints = Complaints(page, ["status of 404"])
    page.goto(TOLD["admin"] + "/")
    expect(page.get_by_label("Admin token")).to_be_visible()
    found += faults(page, "sign-in", size)
    if scheme == "light":
        paint(page, f"sign-in-{word}")
    sign_in(page)
    for name, path in pages().items():
        if only and name not in only:
            continue
        settle(page, path)
        if name == "overview":
            page.get_by_role("button", name="5 min", exact=True).click()
            expect(page.locator(".plot svg").first).to_be_visible(timeout=30_000)
            page.mouse.move(0, 0)
        found += faults(page, f"{name} ({scheme})", size)
        if name not in ("explain-recent", "missing"):
            paint(page, f"{name}-{word}")
    context.close()
    return found + complaints.all


def main():
    seed()
    with chromium() as browser:
        found = looks(browser, DESK, "desktop", "light") + looks(browser, PHONE, "phone", "light")
        found += looks(browser, DESK, "dark", "dark", ["overview", "live", "abuse"])
        found += looks(browser, {"width": 360, "height": 740}, "small", "dark", ["overview", "account", "tiers"]) if not TOLD["images"] else []
        count = len(pages())
    print(json.dumps({"pages": count, "faults": found}))


main()
