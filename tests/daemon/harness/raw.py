"""HTTP by hand, for what no client library would send."""

import json
import socket


class Answer:
    """One HTTP answer."""

    def __init__(self, status, reason, headers, body):
        self.status = status
        self.reason = reason
        self.headers = headers
        self.body = body

    def json(self):
        return json.loads(self.body)


class RawConnection:
    """A connection that sends exactly the bytes it is given."""

    def __init__(self, address, timeout_s=180):
        self.socket = socket.create_connection(address, timeout=timeout_s)
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def end_sending(self):
        self.socket.shutdown(socket.SHUT_WR)

    def _more(self):
        data = self.socket.recv(65536)
        self.buffer += data
        return data != b""

    def _until(self, end):
        while end not in self.buffer:
            if not self._more():
                raise EOFError(f"closed after {self.buffer!r}")
        part, self.buffer = self.buffer.split(end, 1)
        return part

    def answer(self, head_only=False):
        """The next answer, also a provisional one."""
        lines = self._until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        version, status, reason = lines[0].split(" ", 2)
        assert version in ("HTTP/1.1", "HTTP/1.0"), version
        headers = {}
        for line in lines[1:]:
            name, value = line.split(":", 1)
            assert name.lower() not in headers, f"two fields {name}"
            headers[name.lower()] = value.strip()
        length = 0 if head_only else int(headers.get("content-length", 0))
        while len(self.buffer) < length:
            if not self._more():
                raise EOFError("closed inside a body")
        body, self.buffer = self.buffer[:length], self.buffer[length:]
        return Answer(int(status), reason, headers, body)

    def is_closed(self):
        """Waits for the end of the connection; False when more bytes come."""
        assert not self.buffer, self.buffer
        return not self._more()
