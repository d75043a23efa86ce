"""Calls a gateway with grpcio, and prints how each call ended as JSON.

The upstream is a grpcio server, which is started after the first call. Messages are bytes on both sides.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor

import grpc

gateway, upstream, small, quick = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4]

# With a backoff that no test waits for: a retry is in time only if the server says when.
RETRYING = {
    "methodConfig": [
        {
            "name": [{"service": "echo.Echo"}],
            "retryPolicy": {
                "maxAttempts": 2,
                "initialBackoff": "60s",
                "maxBackoff": "60s",
                "backoffMultiplier": 1,
                "retryableStatusCodes": ["RESOURCE_EXHAUSTED"],
            },
        }
    ]
}


def call(key, options=()):
    metadata = [("x-api-key", key)] if key else []
    with grpc.insecure_channel(gateway, options=list(options)) as channel:
        say = channel.unary_unary("/echo.Echo/Say")
        try:
            reply = say(b"hello", metadata=metadata, timeout=20)
            return {"code": "OK", "reply": reply.decode()}
        except grpc.RpcError as error:
            told = [*(error.initial_metadata() or ()), *(error.trailing_metadata() or ())]
            return {"code": error.code().name, "details": error.details(), "metadata": dict(told)}


def serve():
    echo = grpc.unary_unary_rpc_method_handler(lambda request, context: request)
    server = grpc.server(ThreadPoolExecutor(max_workers=2))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("echo.Echo", {"Say": echo}),))
    assert server.add_insecure_port(upstream), "the port is free"
    server.start()
    return server


ended = {"unreachable": call(small)}
server = serve()
ended["admitted"] = call(small)
ended["limited"] = call(small)
ended["missing_key"] = call(None)
ended["invalid_key"] = call("sg_live_nobody")
call(quick)
ended["retried"] = call(quick, [("grpc.service_config", json.dumps(RETRYING))])
server.stop(grace=None)
print(json.dumps(ended))
