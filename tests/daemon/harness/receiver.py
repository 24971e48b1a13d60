"""An endpoint of webhooks that behaves as a test wants it to."""

import base64
import hashlib
import hmac
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from harness.wait import wait_for


class Delivery:
    def __init__(self, path, headers, body):
        self.path = path
        self.headers = headers
        self.body = body
        self.id = headers.get("webhook-id")

    @property
    def event(self):
        return json.loads(self.body)

    def is_signed_by(self, *secrets):
        """By Standard Webhooks 1.0, each under both sets of names; one entry for each secret."""
        signed = f"{self.id}.{self.headers['webhook-timestamp']}.".encode() + self.body
        entries = [
            "v1," + base64.b64encode(
                hmac.digest(base64.b64decode(secret.removeprefix("whsec_")), signed, hashlib.sha256)
            ).decode()
            for secret in secrets
        ]
        return all(
            self.headers[f"svix-{name}"] == self.headers[f"webhook-{name}"]
            for name in ("id", "timestamp", "signature")
        ) and self.headers["webhook-signature"] == " ".join(entries)


class Receiver:
    """answer(delivery, request) writes an answer, or returns a status. tls: a context."""

    def __init__(self, answer=lambda delivery, request: 200, where=("127.0.0.1", 0), tls=None):
        self.answer = answer
        self.deliveries = []
        self.connections = 0
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 60

            def setup(self):
                receiver.connections += 1
                super().setup()

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                delivery = Delivery(self.path, self.headers, body)
                receiver.deliveries.append(delivery)
                status = receiver.answer(delivery, self)
                if status is not None:
                    self.send_response(status)
                    self.send_header("Content-Length", "2")
                    self.end_headers()
                    self.wfile.write(b"ok")

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                pass  # clients that go away are what is tried

        self.server = Server(where, Handler)
        scheme = "http"
        if tls:
            scheme = "https"
            self.server.socket = tls.wrap_socket(
                self.server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.port = self.server.server_port
        self.url = f"{scheme}://{where[0]}:{self.port}/hook"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def wait_for(self, n, of=lambda delivery: True):
        """So many deliveries, at least."""

        def look():
            found = [one for one in list(self.deliveries) if of(one)]
            return found if len(found) >= n else None

        return wait_for(f"{n} deliveries", look)


class Silent:
    """Accepts connections, says what it is to say, and nothing more."""

    def __init__(self, says=b"", then_reset=False):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/"
        self.says = says
        self.then_reset = then_reset
        self.held = []
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            if self.says:
                peer.sendall(self.says)
            if self.then_reset:
                peer.setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0"
                )
                peer.close()
            else:
                self.held.append(peer)

    def close(self):
        # A thread that waits in accept() would take the next listener's clients once it has
        # the same descriptor.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listener.close()
        for peer in self.held:
            peer.close()
