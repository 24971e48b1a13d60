"""A DNS server on loopback that says what a test wants."""

import socket
import struct
import threading

TYPES = {"A": 1, "CNAME": 5, "PTR": 12, "MX": 15, "TXT": 16, "AAAA": 28}


def wire_name(name):
    labels = [label.encode() for label in name.split(".") if label]
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def wire_data(kind, value):
    if kind == "A":
        return socket.inet_aton(value)
    if kind == "AAAA":
        return socket.inet_pton(socket.AF_INET6, value)
    if kind in ("PTR", "CNAME"):
        return wire_name(value)
    if isinstance(value, bytes):
        return value
    if kind == "MX":
        return struct.pack(">H", 10) + wire_name(value)
    data = value.encode()
    pieces = [data[i:i + 255] for i in range(0, len(data), 255)] or [b""]
    return b"".join(bytes([len(piece)]) + piece for piece in pieces)


class DnsServer:
    """Answers from `records`, {("example.com", "TXT"): ["v=spf1 -all"]}; what is not
    in there does not exist, unless `exists` says that all names do. A value of bytes goes out as it
    is. With `fails` it answers SERVFAIL to all; to the names in `silent` nothing at all, and to those
    in `cut` that the rest is to be had by TCP, where nobody listens. `asked` has the questions."""

    def __init__(self, records=None, where=("127.0.0.1", 0)):
        self.records = records or {}
        self.fails = False
        self.exists = False
        self.silent = set()
        self.cut = set()
        self.asked = []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(where)
        self.address = f"127.0.0.1:{self.socket.getsockname()[1]}"
        self.thread = threading.Thread(target=self._serve)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        # A datagram without a question ends it.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.sendto(b"", self.socket.getsockname())
        self.thread.join()
        self.socket.close()

    def _serve(self):
        while True:
            question, peer = self.socket.recvfrom(4096)
            if not question:
                return
            answer = self._answer(question)
            if answer:
                self.socket.sendto(answer, peer)

    def _answer(self, question):
        at, labels = 12, []
        while question[at]:
            labels.append(question[at + 1:at + 1 + question[at]].decode())
            at += 1 + question[at]
        name = ".".join(labels).lower()
        number = struct.unpack(">H", question[at + 1:at + 3])[0]
        kind = next((k for k, n in TYPES.items() if n == number), None)
        self.asked.append((name, kind))
        if name in self.silent:
            return None
        values = self.records.get((name, kind), [])
        if not values and (name, "CNAME") in self.records:
            kind, number_of_answer = "CNAME", TYPES["CNAME"]
            values = self.records[(name, kind)]
        else:
            number_of_answer = number
        exists = self.exists or any(known == name for known, _ in self.records)
        code = 2 if self.fails else 0 if exists else 3
        answers = b"".join(
            b"\xc0\x0c" + struct.pack(">HHIH", number_of_answer, 1, 1, len(data)) + data
            for data in (wire_data(kind, value) for value in values)) if code == 0 else b""
        flags = 0x8580 | code | (0x0200 if name in self.cut else 0)
        head = question[:2] + struct.pack(">HHHHH", flags, 1,
                                          len(values) if code == 0 else 0, 0, 0)
        return head + question[12:at + 5] + answers
