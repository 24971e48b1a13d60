"""Whatever dies while emails are sent: each that was taken is delivered, once, without
anybody's help. tests/kills does the same a thousand times, with faults on top of faults."""

import pytest
from harness import wait_for
from harness.crash import PARTS, kill
from test_restarts import Senders, check_all_there, check_delivered_once

pytestmark = pytest.mark.submission

KILLS = 4  # of each part


def outbox_is_empty(box):
    return box.query("SELECT count(*) FROM outbox") == "0"


@pytest.mark.parametrize("part", PARTS)
def test_killed(own_box, part):
    """One fault at a time: all is well before the next one."""
    # Postfix starts a daemon that died again after so long; a minute, by default.
    box = own_box("--postconf", "service_throttle_time=1s")
    sent = {}
    for _ in range(KILLS):
        with Senders(box) as senders:
            senders.wait_for(10)
            kill(box, part)
            senders.wait_for(10)
        assert senders.refused == []
        assert part in ("httpd", "everything") or senders.broken == 0
        box.flush()  # pickup(8) tries again what the milter put off, after a minute
        wait_for("the outbox to be empty", lambda: outbox_is_empty(box))
        sent.update(senders.sent)
    check_all_there(box, sent)
    check_delivered_once(box, sent)
