"""A few customers and their traffic, so that pages have something to show."""

import math
import random
import threading
import time

from browser import admin, through_the_gateway

CUSTOMERS = [
    ("acme", "Acme Ltd.", "pro"),
    ("globex", "Globex", "free"),
    ("initech", "Initech GmbH", "pro"),
    ("umbrella", "Umbrella Corp.", "enterprise"),
    ("hooli", "Hooli", "free"),
    ("piedpiper", "Pied Piper", "pro"),
]
PATHS = ["/api/things", "/api/things/42", "/api/search/shoes", "/api/reports/2026", "/api/search/hats"]
CLIENT = "cl_0f1e2d3c4b5a69788796a5b4c3d2e1f0"


def customers():
    """Makes them; their keys by their ids."""
    keys = {}
    for account, name, tier in CUSTOMERS:
        admin("/admin/v1/accounts", "POST", {"id": account, "name": name, "tier": tier})
        made = admin(f"/admin/v1/accounts/{account}/keys", "POST", {"name": "production", "scopes": ["convert:write"]})
        keys[account] = made["key"]
    old = admin("/admin/v1/accounts/globex/keys", "POST", {"name": "ci", "env": "test"})
    admin("/admin/v1/keys/" + old["id"], "DELETE")
    admin("/admin/v1/blocks", "POST", {"client": CLIENT, "for": "24h", "reason": "scrapes the catalogue"})
    return keys


def fill(keys, seconds):
    """Sends traffic for about so long, behind the back of whoever looks: some smoothly, some in bursts, some without a key."""
    for _ in range(15):
        through_the_gateway(keys["globex"], random.choice(PATHS))
    end = time.monotonic() + seconds
    threads = [threading.Thread(target=steady, args=(keys, end, at)) for at in range(3)]
    threads.append(threading.Thread(target=bursts, args=(keys, end)))
    for thread in threads:
        thread.daemon = True
        thread.start()
    return threads


def steady(keys, end, at):
    who = random.Random(at)
    while time.monotonic() < end:
        account = who.choices(["acme", "umbrella", "initech", "piedpiper"], [6, 4, 2, 1])[0]
        through_the_gateway(keys[account], who.choice(PATHS[:2]))
        wave = 1.2 + math.sin(time.monotonic() / 25) + 0.4 * math.sin(time.monotonic() / 7)
        time.sleep(0.02 * max(0.2, wave))


def bursts(keys, end):
    who = random.Random(9)
    while time.monotonic() < end:
        for _ in range(who.randint(4, 18)):
            through_the_gateway(keys[who.choice(["globex", "hooli"])], who.choice(PATHS))
        for _ in range(who.choice([0, 0, 1, 3])):
            through_the_gateway(None, "/api/catalogue")
        time.sleep(who.choice([0.5, 1, 3]))
