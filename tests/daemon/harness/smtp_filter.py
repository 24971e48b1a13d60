"""A content filter by SMTP, which gives back as a test says."""

import smtplib
import socket
import threading


class SmtpFilter:
    """Listens on a free port of loopback. on_message(recipients, send) gets each
    message, gives it back with send(*recipients), which returns what Postfix said,
    and returns what the filter answers, with a code if it is not 250. The message itself
    is send.message."""

    def __init__(self, back, on_message):
        self.back = back  # host:port
        self.on_message = on_message
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def close(self):
        # A thread that waits in accept() would take the next listener's clients once it has
        # the same descriptor.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listener.close()

    def _accept(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer):
        try:
            with peer, peer.makefile("rb") as lines:
                self._talk(peer, lines)
        except OSError:
            pass  # Postfix was stopped

    def _talk(self, peer, lines):
        sender, recipients = "", []

        def send(*to):
            host, port = self.back.split(":")
            with smtplib.SMTP(host, int(port)) as out:
                out.ehlo()
                out.mail(sender)
                for address in to:
                    out.rcpt(address)
                return out.data(message)[1].decode()

        peer.sendall(b"220 filter.test ESMTP\r\n")
        for line in lines:
            word = line[:4].upper()
            address = line.partition(b"<")[2].partition(b">")[0].decode()
            if word == b"MAIL":
                sender, recipients = address, []
            elif word == b"RCPT":
                recipients.append(address)
            elif word == b"DATA":
                peer.sendall(b"354 Go on\r\n")
                message = b""
                while (text := lines.readline()) not in (b".\r\n", b""):
                    message += text.removeprefix(b".")
                send.message = message
                answer = self.on_message(recipients, send)
                code = "" if answer[:3].isdigit() else "250 "
                peer.sendall(f"{code}{answer}\r\n".encode())
                continue
            peer.sendall(b"250 2.0.0 Ok\r\n")
