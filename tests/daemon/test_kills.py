"""Whatever dies while emails are sent: each that was taken is delivered, once, without
anybody's help. tests/kills does the same a thousand times, with faults on top of faults."""

import pytest
from harness import Sandbox, wait_for
from harness.crash import PARTS, kill
from harness.sandbox import METHOD
from test_restarts import Senders, check_all_there, check_delivered_once

pytestmark = pytest.mark.submission

KILLS = 2  # of each part
# Of Postfix's daemons also the one that delivers. No email passes pickup(8) by SMTP.
MORE_PARTS = [p for p in [*PARTS, "qmgr"] if METHOD == "sendmail" or p != "pickup"]


@pytest.fixture(scope="module")
def box(request):
    # Postfix starts a daemon that died again after so long; a minute, by default.
    with Sandbox("--postconf", "service_throttle_time=1s") as box:
        yield box
        box.failed = request.session.testsfailed > 0


def all_is_well(box):
    """Postfix has each email: with sendmail(1) the record says so, over SMTP the outbox
    is empty."""
    waits = "WHERE state = 'staged'" if METHOD == "sendmail" else ""
    return box.query(f"SELECT count(*) FROM outbox JOIN email ON seq = email {waits}") == "0"


@pytest.mark.parametrize("part", MORE_PARTS)
def test_killed(box, part):
    """One fault at a time: everything has recovered before the next one."""
    sent = {}
    # Postfix's daemons that lost their master keep a client waiting for ten seconds.
    for _ in range(1 if part == "master" else KILLS):
        with Senders(box) as senders:
            senders.wait_for()
            kill(box, part)
            senders.wait_for()
        assert senders.refused == []
        assert part in ("httpd", "everything") or senders.broken == 0
        box.flush()  # pickup(8) tries again what the milter put off, after a minute
        wait_for("Postfix to have all", lambda: all_is_well(box))
        sent.update(senders.sent)
    check_all_there(box, sent)
    # If httpd, Postfix and its log die at once, it may come twice.
    if part != "everything":
        check_delivered_once(box, sent, postfix_stopped=part in ("master", "postfix", "qmgr"))
    assert not any("postern.invalid" in to for mail in box.sink.all() for to in mail.recipients)
