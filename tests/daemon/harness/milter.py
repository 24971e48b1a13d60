"""A milter beside ours, which does one thing with every message."""

import socket
import struct
import threading

CONTINUE, REJECT, TEMPFAIL, DISCARD = b"c", b"r", b"t", b"d"

CHANGE_HEADER = 0x10  # what it may do (SMFIF_CHGHDRS)


def receive(peer, length):
    data = b""
    while len(data) < length:
        more = peer.recv(length - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def packet(data):
    return struct.pack(">I", len(data)) + data


class OtherMilter:
    """Answers the end of each message with `verdict`; its address is `inet:...`.
    With `message_id` it puts that into the field before."""

    def __init__(self, verdict=CONTINUE, message_id=None):
        self.verdict = verdict
        self.message_id = message_id
        self.messages = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.name = f"inet:127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def _accept(self):
        try:
            while True:
                peer = self.listener.accept()[0]
                threading.Thread(target=self._serve, args=[peer], daemon=True).start()
        except OSError:
            pass

    def _serve(self, peer):
        try:
            with peer:
                while True:
                    (length,) = struct.unpack(">I", receive(peer, 4))
                    self._answer(peer, receive(peer, length))
        except (EOFError, OSError):
            pass

    def _answer(self, peer, command):
        letter = command[:1]
        if letter == b"O":
            peer.sendall(packet(b"O" + struct.pack(">III", 6, CHANGE_HEADER, 0)))
        elif letter == b"E":
            self.messages += 1
            if self.message_id:
                field = f"Message-ID\0{self.message_id}\0".encode()
                peer.sendall(packet(b"m" + struct.pack(">I", 1) + field))
            peer.sendall(packet(self.verdict))
        elif letter == b"Q":
            raise EOFError
        elif letter not in (b"D", b"A", b"K"):
            peer.sendall(packet(CONTINUE))
