import subprocess, time, struct
import pytest
from harness import wait_for
from harness.sandbox import METHOD, unique
from harness import milter as M
pytestmark = pytest.mark.submission

class Milter(M.OtherMilter):
    def __init__(self, *changes, verdict=M.CONTINUE):
        self.changes = changes
        super().__init__(verdict)
    def _answer(self, peer, command):
        letter = command[:1]
        if letter == b"O":
            peer.sendall(M.packet(b"O" + struct.pack(">III", 6, 0x1ff, 0)))
        elif letter == b"E":
            self.messages += 1
            for c in self.changes:
                if b"TICKET" in c: c = c.replace(b"TICKET", self.rcpt)
                peer.sendall(M.packet(c))
            peer.sendall(M.packet(self.verdict))
        else:
            if letter == b"R": self.rcpt = command[1:].split(b"\0")[0]
            super()._answer(peer, command)

ADD = b"+<eve@dst.test>\0"
DEL = b"-TICKET\0"
CASES = {
 "adds": ((ADD,), M.CONTINUE),
 "replaces": ((ADD, DEL), M.CONTINUE),
 "from": ((b"m" + struct.pack(">I",1) + b"From\0x@example.com\0",), M.CONTINUE),
 "sender": ((b"e<x@example.com>\0",), M.CONTINUE),
 "reject": ((), M.REJECT),
 "tempfail": ((), M.TEMPFAIL),
 "discard": ((), M.DISCARD),
 "accept": ((), b"a"),
 "hold": ((b"qwhy\0",), M.CONTINUE),
 "trace": ((b"m" + struct.pack(">I",1) + b"X-Postern-Email-Id\0\0",), M.CONTINUE),
 "traceadd": ((b"i" + struct.pack(">I",0) + b"X-Postern-Email-Id\0aaaaaaaa-0000-4000-8000-000000000000\0",), M.CONTINUE),
}
@pytest.mark.parametrize("place", ["before", "behind"])
@pytest.mark.parametrize("m", CASES)
def test_milters(own_box, m, place, email, to):
    box = own_box("--set", "submission.record_wait=5s", "--set", "submission.probe_interval=0")
    httpd = box.httpd()
    changes, verdict = CASES[m]
    with Milter(*changes, verdict=verdict) as other:
        for name in ("smtpd_milters", "non_smtpd_milters"):
            ours = subprocess.run(["postconf", "-c", box.env["POSTFIX_CONFIG"], "-h", name], capture_output=True, text=True).stdout.strip()
            both = [other.name, ours] if place == "before" else [ours, other.name]
            box.postconf(f"{name}={', '.join(both)}")
        box.reload_postfix()
        answer = httpd.post(email)
        print("=====", METHOD, m, place)
        print(answer.status_code, answer.text)
        time.sleep(3)
        print("STATE", box.query(f"SELECT state, last_event, closed FROM email"), box.query("SELECT count(*) FROM outbox"))
        print(box.query("SELECT address, state, text FROM email_recipient"))
        print("\n".join(l[:300] for l in box.log("postfix").splitlines()[6:]))
        print("\n".join(l[:300] for l in box.log("milter").splitlines() if "verdict" in l))
        print("SINK", [ (m.recipients) for m in box.sink.all()])
