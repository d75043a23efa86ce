"""Wrong tokens: said to be wrong, then slowed down; and the right one still works."""

import json
import threading

from browser import DESK, TOLD, Complaints, ask, chromium, expect


def guess():
    status, _ = ask("admin", "/admin/session", "POST", {"token": "guess"})
    assert status in (401, 429), status
    return status


def keep_guessing(until):
    """Five at a time, of which four wait for their answers: the next guess of this address is refused at once."""

    def work():
        while not until.is_set():
            guess()

    workers = [threading.Thread(target=work) for _ in range(5)]
    for worker in workers:
        worker.start()
    return workers


def main():
    with chromium() as browser:
        page = browser.new_page(viewport=DESK)
        complaints = Complaints(page, ["status of 401", "status of 429"])
        page.goto(TOLD["admin"] + "/accounts")
        token, alert = page.get_by_label("Admin token"), page.get_by_role("alert")
        token.fill("guess")
        page.keyboard.press("Enter")
        expect(alert).to_have_text("That is not the admin token.")
        # The first are answered at once, the later ones after up to two seconds.
        assert [guess() for _ in range(8)] == [401] * 8
        enough = threading.Event()
        workers = keep_guessing(enough)
        while guess() != 429:
            pass
        token.fill("another guess")
        page.keyboard.press("Enter")
        expect(alert).to_contain_text("Too many wrong tokens")
        waiting = page.get_by_role("button", name="Try again in")
        expect(waiting).to_be_disabled()
        enough.set()
        for worker in workers:
            worker.join()
        token.fill(TOLD["token"])
        page.keyboard.press("Enter")
        # It is the page that was asked for at first.
        expect(page.get_by_role("heading", name="Accounts", level=1)).to_be_visible()
        complaints.expect_none()
    print(json.dumps({"signed_in": True}))


main()
