"""Holds the HTTP/2 side of the gateway against RFC 9113, as h2spec does: frames as a broken client would send them.

usage: conform.py HOST:PORT        prints {"case": "what the server did", ...}
"""

import json
import socket
import struct
import sys

import h2.config
import h2.connection
import h2.events
import h2.settings
from hpack import Encoder

HOST, PORT = sys.argv[1].rsplit(":", 1)
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
NAMES = {
    0: "NO_ERROR", 1: "PROTOCOL_ERROR", 2: "INTERNAL_ERROR", 3: "FLOW_CONTROL_ERROR", 5: "STREAM_CLOSED",
    6: "FRAME_SIZE_ERROR", 7: "REFUSED_STREAM", 8: "CANCEL", 9: "COMPRESSION_ERROR", 11: "ENHANCE_YOUR_CALM",
}
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, END_HEADERS, ACK = 1, 4, 1
GET = [(":method", "GET"), (":scheme", "http"), (":authority", "a"), (":path", "/")]
POST = [(":method", "POST"), (":scheme", "http"), (":authority", "a"), (":path", "/")]


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def headers(stream, fields, flags=END_STREAM | END_HEADERS):
    return frame(HEADERS, flags, stream, Encoder().encode(fields, huffman=False))


class Wire:
    """A connection of which every frame is seen."""

    def __init__(self, settings=b""):
        self.socket = socket.create_connection((HOST, int(PORT)), timeout=10)
        self.socket.settimeout(10)
        self.buffer = b""
        self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0, settings))

    def send(self, *frames):
        try:
            self.socket.sendall(b"".join(frames))
        except OSError:
            pass

    def read(self, length):
        while len(self.buffer) < length:
            try:
                more = self.socket.recv(65536)
            except ConnectionError:
                more = b""
            if not more:
                return None
            self.buffer += more
        taken, self.buffer = self.buffer[:length], self.buffer[length:]
        return taken

    def frames(self):
        while True:
            head = self.read(9)
            if head is None:
                return
            length = int.from_bytes(head[:3], "big")
            payload = self.read(length)
            if payload is None:
                return
            yield head[3], head[4], int.from_bytes(head[5:9], "big") & 0x7FFFFFFF, payload

    def outcome(self):
        """What the server did: the error of the connection or of a stream, or the answer to a request."""
        for kind, flags, stream, payload in self.frames():
            if kind == GOAWAY:
                return "GOAWAY " + NAMES[int.from_bytes(payload[4:8], "big")]
            if kind == RST_STREAM:
                return f"RST {stream} " + NAMES[int.from_bytes(payload, "big")]
            if kind == HEADERS:
                return f"HEADERS {stream}"
            if kind == PING and flags & ACK:
                return "PONG " + payload.hex()
        return "CLOSED"


def case(*frames, settings=b""):
    wire = Wire(settings)
    wire.send(*frames)
    outcome = wire.outcome()
    wire.socket.close()
    return outcome


def setting(identifier, value):
    return struct.pack(">HI", identifier, value)


def settings_are_acknowledged():
    wire = Wire()
    for kind, flags, stream, _ in wire.frames():
        if kind == SETTINGS and flags & ACK:
            return f"ACK {stream}"
    return "CLOSED"


def too_many_streams():
    # The head of each is whole, and its body never comes.
    frames = [headers(number, POST, END_HEADERS) for number in range(1, 2 * 300, 2)]
    wire = Wire()
    wire.send(*frames)
    for kind, _, _, payload in wire.frames():
        if kind == RST_STREAM:
            return "RST " + NAMES[int.from_bytes(payload, "big")]
        if kind == GOAWAY:
            return "GOAWAY " + NAMES[int.from_bytes(payload[4:8], "big")]
    return "CLOSED"


def exchange(fields, body=b"", window=65535, trailers=None):
    """A whole request by a client that keeps to the rules. Returns the status and the length of what came."""
    wire = socket.create_connection((HOST, int(PORT)), timeout=10)
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    connection.initiate_connection()
    connection.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: window})
    connection.send_headers(1, fields, end_stream=not body and not trailers)
    wire.sendall(connection.data_to_send())
    sent, status, length, ended = 0, None, 0, False
    while not ended:
        while sent < len(body) and (room := connection.local_flow_control_window(1)) > 0:
            part = body[sent:sent + min(room, connection.max_outbound_frame_size)]
            sent += len(part)
            connection.send_data(1, part, end_stream=sent == len(body) and not trailers)
        if trailers and sent == len(body):
            connection.send_headers(1, trailers, end_stream=True)
            trailers = None
        wire.sendall(connection.data_to_send())
        received = wire.recv(65536)
        if not received:
            return "CLOSED"
        for event in connection.receive_data(received):
            if isinstance(event, h2.events.ResponseReceived):
                status = dict(event.headers).get(b":status", dict(event.headers).get(":status"))
            elif isinstance(event, h2.events.DataReceived):
                length += len(event.data)
                connection.acknowledge_received_data(event.flow_controlled_length, 1)
            elif isinstance(event, (h2.events.StreamEnded, h2.events.StreamReset, h2.events.ConnectionTerminated)):
                ended = True
    wire.sendall(connection.data_to_send())
    wire.close()
    status = status.decode() if isinstance(status, bytes) else status
    return f"{status} {'with' if length else 'without'} a body"


big = frame(DATA, 0, 1, bytes(16385))
CASES = {
    "settings are acknowledged": settings_are_acknowledged,
    "a ping is answered": lambda: case(frame(PING, 0, 0, b"12345678")),
    "an unknown frame is ignored": lambda: case(frame(0x55, 0, 0, b"?"), headers(1, GET)),
    "an unknown setting is ignored": lambda: case(headers(1, GET), settings=setting(0x99, 1)),
    "data on stream 0": lambda: case(frame(DATA, 0, 0, b"x")),
    "headers on stream 0": lambda: case(headers(0, GET)),
    "headers on an even stream": lambda: case(headers(2, GET)),
    "a stream with a smaller number": lambda: case(headers(5, POST, END_HEADERS), headers(3, GET)),
    "data on an idle stream": lambda: case(frame(DATA, 0, 1, b"x")),
    "a reset of an idle stream": lambda: case(frame(RST_STREAM, 0, 1, bytes(4))),
    "a window update of an idle stream": lambda: case(frame(WINDOW_UPDATE, 0, 1, struct.pack(">I", 1))),
    "a window update of nothing": lambda: case(frame(WINDOW_UPDATE, 0, 0, bytes(4))),
    "a window beyond its maximum": lambda: case(frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 2**31 - 1))),
    "a window update of a wrong length": lambda: case(frame(WINDOW_UPDATE, 0, 0, bytes(3))),
    "a frame that is too large": lambda: case(headers(1, POST, END_HEADERS), big),
    "a ping of a wrong length": lambda: case(frame(PING, 0, 0, b"123")),
    "a ping on a stream": lambda: case(frame(PING, 0, 1, bytes(8))),
    "settings on a stream": lambda: case(frame(SETTINGS, 0, 1)),
    "settings of a wrong length": lambda: case(frame(SETTINGS, 0, 0, b"123")),
    "an acknowledgement with settings": lambda: case(frame(SETTINGS, ACK, 0, setting(1, 1))),
    "push neither on nor off": lambda: case(settings=setting(2, 2)),
    "a first window beyond its maximum": lambda: case(settings=setting(4, 2**31)),
    "a largest frame below its minimum": lambda: case(settings=setting(5, 16383)),
    "a promise by a client": lambda: case(frame(PUSH, END_HEADERS, 1, struct.pack(">I", 2))),
    "a continuation of nothing": lambda: case(frame(CONTINUATION, END_HEADERS, 1, b"")),
    "another frame before the continuation": lambda: case(headers(1, GET, END_STREAM), frame(PING, 0, 0, bytes(8))),
    "an index that is not in the table": lambda: case(frame(HEADERS, 5, 1, b"\xff\xff\x7f")),
    "padding longer than its frame": lambda: case(headers(1, POST, 4), frame(DATA, 8, 1, b"\x09x")),
    "a name in capitals": lambda: case(headers(1, GET + [("X-Big", "1")])),
    "a header of one connection": lambda: case(headers(1, GET + [("connection", "keep-alive")])),
    "te that is not trailers": lambda: case(headers(1, GET + [("te", "gzip")])),
    "no path": lambda: case(headers(1, [field for field in GET if field[0] != ":path"])),
    "an empty path": lambda: case(headers(1, GET[:3] + [(":path", "")])),
    "no method": lambda: case(headers(1, GET[1:])),
    "two methods": lambda: case(headers(1, [GET[0]] + GET)),
    "an unknown pseudo header": lambda: case(headers(1, GET + [(":colour", "red")])),
    "the pseudo header of an answer": lambda: case(headers(1, GET + [(":status", "200")])),
    "a pseudo header behind others": lambda: case(headers(1, [("accept", "*/*")] + GET)),
    "more body than its length": lambda: case(
        headers(1, POST + [("content-length", "1")], END_HEADERS), frame(DATA, END_STREAM, 1, b"four")
    ),
    "less body than its length": lambda: case(
        headers(1, POST + [("content-length", "9")], END_HEADERS), frame(DATA, END_STREAM, 1, b"four")
    ),
    "trailers that do not end the stream": lambda: case(
        headers(1, POST, END_HEADERS), headers(1, [("x-sum", "1")], END_HEADERS)
    ),
    "trailers with a pseudo header": lambda: case(headers(1, POST, END_HEADERS), headers(1, [(":path", "/admin")])),
    "more streams than allowed": too_many_streams,
    "a request": lambda: exchange(GET),
    "a request with a body": lambda: exchange(POST, b"x" * 100_000),
    "an answer through a small window": lambda: exchange(GET, window=16),
    "a request with trailers": lambda: exchange(POST, b"x", trailers=[("x-sum", "1")]),
}


def run(name):
    try:
        return CASES[name]()
    except socket.timeout:
        return "NO ANSWER"


print(json.dumps({name: run(name) for name in CASES}))
