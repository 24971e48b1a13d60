"""A mail server elsewhere, which answers as the recipient's local part says."""

import re
import socket
import struct
import threading

ADDRESS = re.compile(rb'<((?:"(?:\\.|[^"\\])*")?[^>]*)>')

# What is answered to RCPT.
RCPT = {
    "unknown": b"550 5.1.1 User unknown\r\n",
    "later": b"450 4.2.1 Mailbox disabled, try later\r\n",
    "lines": b"550-5.7.1 Blocked\r\n550-5.7.1 because of this\r\n550 5.7.1 and that\r\n",
    "bytes": b"550 5.1.1 caf\xe9 \xc3\xbc \x07bell status=sent (250 ok)\r\n",
    "closing": b"421 4.3.2 Shutting down\r\n",
}
# To DATA, when it has a recipient.
DATA = {
    "nodata": b"554 5.7.0 No data for you\r\n",
    "notyet": b"451 4.3.0 No data yet\r\n",
}
# And at the end of the message.
END = {
    "full": b"452 4.3.1 Insufficient storage\r\n",
    "spam": b"554 5.7.1 Rejected as spam\r\n",
}


class Remote:
    """Listens on a free port of loopback. Other local parts than those above:
    `reset` and `resetend` have the connection reset at RCPT and at the end of
    the message, `silent` and `silentend` wait there for nothing; all others are
    taken. With greeting it is all that anybody hears; mail is answered to MAIL, and
    replies, by verb, to others; CONN is the connection, and END the message."""

    def __init__(self, greeting=None, mail=b"250 2.1.0 Ok\r\n", replies=None):
        self.greeting = greeting
        self.mail = mail
        self.replies = replies or {}
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.taken = []  # recipients
        self.answers = {}  # local part: bytes for RCPT, while a test changes them
        self.ends = {}  # the same at the end of the message
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

    @staticmethod
    def _reset(peer):
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.close()

    def _serve(self, peer):
        try:
            with peer, peer.makefile("rb") as lines:
                self._talk(peer, lines)
        except OSError:
            pass

    def _talk(self, peer, lines):
        if self.greeting is not None:
            peer.sendall(self.greeting)
            lines.read()
            return
        peer.sendall(self.replies.get(b"CONN", b"220 remote.test ESMTP\r\n"))
        recipients = []
        for line in lines:
            word = line[:4].upper()
            if word == b"QUIT":
                peer.sendall(self.replies.get(word, b"221 2.0.0 Bye\r\n"))
                return
            if word in self.replies:
                peer.sendall(self.replies[word])
                continue
            if word in (b"RSET", b"MAIL"):
                recipients = []
            if word == b"MAIL":
                peer.sendall(self.mail)
            elif word == b"RCPT":
                address = ADDRESS.search(line)[1].decode()
                local = address.split("@")[0]
                if local == "reset":
                    return self._reset(peer)
                if local == "silent":
                    lines.read()
                    return
                answer = self.answers.get(local) or RCPT.get(local, b"250 2.1.5 Ok\r\n")
                if answer.startswith(b"250"):
                    recipients.append(address)
                peer.sendall(answer)
                if answer.startswith(b"421"):
                    return
            elif word == b"DATA":
                if not recipients:
                    peer.sendall(b"554 5.5.1 No recipients\r\n")
                    continue
                locals_ = [a.split("@")[0] for a in recipients]
                answers = [DATA[local] for local in locals_ if local in DATA]
                peer.sendall(answers[0] if answers else b"354 Go on\r\n")
                if answers:
                    continue
                while lines.readline() not in (b".\r\n", b""):
                    pass
                if "silentend" in locals_:
                    lines.read()
                    return
                if "resetend" in locals_:
                    return self._reset(peer)
                ends = END | self.ends
                answers = [ends[local] for local in locals_ if local in ends]
                answers += [self.replies[b"END"]] if b"END" in self.replies else []
                if not answers or answers[0].startswith(b"250"):
                    self.taken += recipients
                peer.sendall(answers[0] if answers else b"250 2.0.0 Ok: taken\r\n")
            else:
                peer.sendall(b"250 2.0.0 Ok\r\n")
