"""What an operator does: sign in, make an account and a key, watch its traffic, change its tier, end its key."""

import json
import re

from browser import DESK, TOLD, Complaints, ask, chromium, expect, sign_in, through_the_gateway


def make_account(page):
    page.get_by_role("link", name="Accounts").click()
    expect(page.get_by_text("No accounts yet")).to_be_visible()
    page.get_by_role("button", name="Create account").first.click()
    dialog = page.get_by_role("dialog", name="Create account")
    dialog.get_by_label("Name").fill("Acme Ltd.")
    dialog.get_by_label("Id").fill("no blanks, please")
    dialog.get_by_label("Tier").select_option("free")
    page.keyboard.press("Enter")
    # What is wrong is said where it was typed.
    expect(dialog.get_by_role("alert")).to_contain_text("\"id\"")
    dialog.get_by_label("Id").fill("acme")
    dialog.get_by_role("button", name="Create").click()
    expect(page).to_have_url(re.compile("/accounts/acme$"))
    expect(page.get_by_role("heading", name="Acme Ltd.", level=1)).to_be_visible()


def make_key(page):
    expect(page.get_by_text("No keys yet")).to_be_visible()
    page.get_by_role("button", name="Create key").click()
    page.get_by_role("dialog", name="Create key").get_by_role("button", name="Create").click()
    told = page.get_by_role("dialog", name="The key is made")
    key = told.locator("#secret").inner_text()
    assert key.startswith("sg_live_"), key
    told.get_by_role("button", name="Done").click()
    # A closed dialog has no role any more, but its text leaves the document a moment later.
    expect(page.locator("#secret")).to_have_count(0)
    expect(page.get_by_text("active", exact=True)).to_be_visible()
    assert key not in page.content()
    return key


def watch_traffic(page, key):
    page.get_by_role("link", name="Live").click()
    expect(page.get_by_text("Connected")).to_be_visible()
    statuses = []
    # A few refusals. After many the key would be blocked.
    while statuses.count(429) < 3:
        statuses.append(through_the_gateway(key))
    assert 10 <= statuses.count(200) == len(statuses) - 3, statuses
    stream = page.get_by_role("list", name="Decisions, the newest first")
    expect(stream.get_by_text("Rate limited").first).to_be_visible()
    expect(stream.get_by_text("GET /api/things").first).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    page.get_by_label("Filter").fill("nothing is like this")
    expect(page.get_by_text("Nothing fits the filter")).to_be_visible()

    page.get_by_role("link", name="Overview").click()
    refused = page.locator(".figure", has_text="Refused").locator("dd").first
    expect(refused).not_to_have_text("0")
    expect(page.get_by_role("link", name="acme").first).to_be_visible()
    # The newest bucket is drawn when it is full.
    expect(page.get_by_role("img", name=re.compile("^Requests a second over"))).to_be_visible(timeout=30_000)

    # Back leads to where one came from, and forward again.
    page.go_back()
    expect(page.get_by_role("heading", name="Live", level=1)).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Acme Ltd.", level=1)).to_be_visible()
    expect(page.get_by_role("meter", name="quota")).to_have_attribute("aria-valuenow", str(statuses.count(200)))


def ask_why(page):
    page.locator("section", has_text="Recent refusals").get_by_role("link").first.click()
    expect(page).to_have_url(re.compile("/explain/"))
    expect(page.locator(".sentence")).to_contain_text("acme")
    expect(page.get_by_text("refused", exact=True).first).to_be_visible()
    # The address alone shows the same.
    page.reload()
    expect(page.locator(".sentence")).to_contain_text("acme")
    page.go_back()


def change_tier(page, key):
    page.get_by_role("button", name="Change tier").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Tier").select_option("pro")
    expect(dialog.get_by_text("searches")).to_be_visible()
    dialog.get_by_role("button", name="Change tier").click()
    expect(page.locator("header").get_by_text("pro", exact=True)).to_be_visible()
    statuses = [through_the_gateway(key) for _ in range(30)]
    assert set(statuses) == {200}, statuses


def end_key(page, key):
    revoke = page.get_by_role("button", name="Revoke production")
    revoke.click()
    dialog = page.get_by_role("dialog", name="Revoke production?")
    # What cannot be undone is not what Enter does at once; Escape goes back to where one was.
    expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(revoke).to_be_focused()
    assert through_the_gateway(key) == 200
    revoke.click()
    dialog.get_by_role("button", name="Revoke key").click()
    expect(page.get_by_text("revoked", exact=True)).to_be_visible()
    return through_the_gateway(key)


def choose_theme(page):
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    page.get_by_role("button", name="Use the dark theme").click()
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def sign_out(page):
    cookies = page.context.cookies()
    assert [cookie["httpOnly"] and cookie["sameSite"] == "Strict" for cookie in cookies] == [True], cookies
    assert page.evaluate("document.cookie") == ""
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Admin token")).to_be_visible()
    old = {"Cookie": f"{cookies[0]['name']}={cookies[0]['value']}"}
    assert ask("admin", "/admin/v1/tiers", headers=old)[0] == 401


def main():
    with chromium() as browser:
        page = browser.new_page(viewport=DESK)
        # An id with blanks in it is refused, on purpose.
        complaints = Complaints(page, ["status of 422"])
        sign_in(page)
        expect(page.get_by_text("No requests yet")).to_be_visible()
        make_account(page)
        key = make_key(page)
        watch_traffic(page, key)
        ask_why(page)
        change_tier(page, key)
        refused = end_key(page, key)
        choose_theme(page)
        sign_out(page)
        complaints.expect_none()
    print(json.dumps({"refused_after_revoking": refused}))


main()
