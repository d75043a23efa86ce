"""Wrong tokens: said to be wrong, then slowed down; and the right one still works."""

import json

from browser import DESK, TOLD, Complaints, ask, chromium, expect


def main():
    with chromium() as browser:
        page = browser.new_page(viewport=DESK)
        complaints = Complaints(page, ["status of 401", "status of 429"])
        page.goto(TOLD["admin"] + "/accounts")
        token, alert = page.get_by_label("Admin token"), page.get_by_role("alert")
        token.fill("guess")
        page.keyboard.press("Enter")
        expect(alert).to_have_text("That is not the admin token.")
        for _ in range(19):
            status, _ = ask("admin", "/admin/session", "POST", {"token": "guess"})
            assert status == 401, status
        token.fill("another guess")
        page.keyboard.press("Enter")
        expect(alert).to_contain_text("Too many wrong tokens")
        waiting = page.get_by_role("button", name="Try again in")
        expect(waiting).to_be_disabled()
        token.fill(TOLD["token"])
        page.keyboard.press("Enter")
        # It is the page that was asked for at first.
        expect(page.get_by_role("heading", name="Accounts", level=1)).to_be_visible()
        complaints.expect_none()
    print(json.dumps({"signed_in": True}))


main()
