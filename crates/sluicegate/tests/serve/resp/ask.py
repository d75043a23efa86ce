"""Asks a server with redis-py, in both forms of the protocol, and prints what it answered as JSON."""

import json
import sys

import redis

port, key = int(sys.argv[1]), sys.argv[2]


def asked(protocol):
    client = redis.Redis(host="127.0.0.1", port=port, protocol=protocol, decode_responses=True)
    throttle = client.execute_command("CL.THROTTLE", f"user{protocol}", 15, 30, 60)
    with client.pipeline(transaction=False) as pipe:
        for _ in range(3):
            pipe.execute_command("CL.THROTTLE", f"pipe{protocol}", 1, 1, 60)
        pipeline = [answer[0] for answer in pipe.execute()]
    check = client.execute_command("SLUICEGATE.CHECK", "KEY", key)
    if not isinstance(check, dict):
        check = dict(zip(check[::2], check[1::2]))
    try:
        error = client.execute_command("CL.THROTTLE", "k", 1, 0, 1)
    except redis.ResponseError as refused:
        error = str(refused)
    return {"throttle": throttle, "pipeline": pipeline, "ping": client.ping(), **check, "error": error}


print(json.dumps({str(protocol): asked(protocol) for protocol in (2, 3)}))
