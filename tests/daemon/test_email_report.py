"""What `postern email show` and `postern email watch` tell of an email."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios

import pytest
from harness import wait_for
from harness.deliveries import Deliveries, address


@pytest.fixture
def deliveries(own_box):
    made = Deliveries(own_box())
    yield made
    made.remote.close()


def command(box, *words):
    return [box.env["POSTERN_CLI"], "-c", box.config, *words]


def show(box, *words):
    """Returns the whole report as text."""
    done = subprocess.run(
        command(box, "email", "show", *words), capture_output=True, timeout=60, check=True
    )
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", done.stdout)
    text = done.stdout.decode()
    assert max(map(len, text.splitlines())) <= 80, text
    return text


def flat(text):
    return " ".join(text.split())


def test_answers(deliveries):
    """The first line says whether the email was delivered, the others what happens
    next."""
    deliveries.box.postconf("minimal_backoff_time = 1h")
    deliveries.box.postconf("maximal_backoff_time = 2h")
    deliveries.reload()
    first_lines = {
        "fine": ("delivered", "Yes: delivered to fine@remote.test."),
        "unknown": ("bounced", "No: it bounced, delivery to unknown@remote.test was refused for good."),
        "later": ("deferred", "Not yet: delivery is delayed for later@remote.test."),
    }
    ids = {local: deliveries.send(address(local)) for local in first_lines}
    shown = {}
    for local, (state, line) in first_lines.items():
        deliveries.wait(ids[local], state)
        shown[local] = show(deliveries.box, ids[local])
        assert shown[local].splitlines()[0] == line
    assert "250 2.0.0 Ok: taken (2.0.0)" in flat(shown["fine"])
    assert "said: 550 5.1.1 User unknown" in flat(shown["unknown"])
    assert re.search(
        r"Postfix tries again at about [\d-]+ [\d:]{8}Z, and gives up at about [\d-]+ [\d:]{8}Z\.",
        flat(shown["later"]),
    )
    [recipient] = deliveries.box.cli("email", "show", ids["later"])["recipients"]
    assert recipient["queue"] == "deferred"
    assert recipient["updated_at"] < recipient["next_attempt_at"] < recipient["gives_up_at"]

    config = deliveries.box.env["POSTFIX_CONFIG"]
    queue_id = deliveries.queue_id(ids["later"])
    subprocess.run(["postsuper", "-c", config, "-h", queue_id], check=True, capture_output=True)
    assert f"Postfix holds it as {queue_id}" in flat(show(deliveries.box, ids["later"]))
    deliveries.box.stop("events")
    subprocess.run(["postsuper", "-c", config, "-d", queue_id], check=True, capture_output=True)
    assert "not in Postfix's queue any more" in flat(show(deliveries.box, queue_id))


def test_several_recipients(deliveries):
    email_id = deliveries.send(*map(address, ("fine", "unknown", "later")))
    deliveries.wait(email_id, "delivered", "bounced", "deferred")
    wait_for(
        "some attempts",
        lambda: [e[0] for e in deliveries.events(email_id)].count("deferred") > 4
        or deliveries.box.flush(),
    )
    text = show(deliveries.box, email_id)
    assert text.startswith("In part, of 3 recipients: 1 delivered, 1 bounced, 1 deferred.\n")
    # Of many attempts with the same words the first and the last.
    assert text.count("450 4.2.1") == 2
    events = deliveries.box.cli("email", "show", email_id)["events"]
    assert [e["type"] for e in events].count("deferred") > 4


def test_no_word_of_the_remote_acts(deliveries):
    deliveries.remote.answers["evil"] = (
        b"550 5.1.1 \x1b[31mred\x1b]0;owned\x07 \xc2\x9b31m \xe2\x80\xaeabc "
        b"= removed: " + b"x" * 300 + b"\r\n"
    )
    email_id = deliveries.send(address("evil"))
    deliveries.wait(email_id, "bounced")
    text = show(deliveries.box, email_id)
    assert "\x9b" not in text and "\u202e" not in text
    assert "x" * 30 in text


def shown_on_terminal(box, email_id, columns):
    """Returns the output for a terminal of that width; 0 if it does not report one."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen(command(box, "email", "show", email_id), stdout=its) as process:
        os.close(its)
        text = b""
        while True:
            try:
                more = os.read(ours, 65536)
            except OSError:  # nobody has the other end
                break
            if not more:
                break
            text += more
    os.close(ours)
    assert process.returncode == 0
    return text.decode().replace("\r\n", "\n")


def test_width_of_the_terminal(deliveries):
    deliveries.remote.answers["wordy"] = b"550 5.1.1 " + b"word " * 60 + b"\r\n"
    email_id = deliveries.send(address("wordy"))
    deliveries.wait(email_id, "bounced")
    widths = {}
    for columns in (0, 10, 50, 100, 500):
        text = shown_on_terminal(deliveries.box, email_id, columns)
        assert "\x1b" not in text
        widths[columns] = max(map(len, text.splitlines()))
    assert 36 < widths[10] <= 40 and 40 < widths[50] <= 50
    assert widths[0] <= 80 < widths[100] <= 100 < widths[500] <= 120


def test_by_queue_id(deliveries):
    """Also by the queue id of a requeued message; a queue id that was reused is
    ambiguous."""
    email_id = deliveries.send(address("later"))
    deliveries.wait(email_id, "deferred")
    first = deliveries.queue_id(email_id)
    subprocess.run(
        ["postsuper", "-c", deliveries.box.env["POSTFIX_CONFIG"], "-r", first],
        check=True,
        capture_output=True,
    )
    [(second,)] = wait_for(
        "the requeued message",
        lambda: deliveries.box.flush()
        or deliveries.rows("SELECT queue_id FROM queue_message WHERE how = 'orig_id'"),
    )
    for queue_id in (first, second):
        assert deliveries.box.cli("email", "show", queue_id)["id"] == email_id
    assert f"requeued, as {second} in Postfix's queue" in flat(show(deliveries.box, second))

    other = deliveries.send(address("fine"))
    deliveries.wait(other, "delivered")
    deliveries.box.stop("events")
    deliveries.write("UPDATE email SET queue_id = ? WHERE id = ?", first, other)
    done = subprocess.run(
        command(deliveries.box, "email", "show", first), capture_output=True, text=True
    )
    assert done.returncode == os.EX_DATAERR
    assert f"by its id: {other}, {email_id}\n" in done.stderr


def test_without_events(deliveries):
    """The queue supplies what the log does not say."""
    deliveries.box.stop("events")
    email_id = deliveries.send(address("later"))

    # While an attempt is under way, the queue says nothing of the last one.
    said = "The queue says: host 127.0.0.1[127.0.0.1] said: 450 4.2.1"
    wait_for(
        "an attempt",
        lambda: said in flat(show(deliveries.box, email_id)) or deliveries.box.flush(),
    )
    # After a minute it is odd that the log tells nothing.
    deliveries.write("UPDATE email SET decided_us = decided_us - 58000000")
    wait_for(
        "a question",
        lambda: "check that postern-events runs and reads the right log."
        in flat(show(deliveries.box, email_id)),
    )


def test_stopped_by_a_rule(own_box):
    """A rule of Postfix stops the email before the milter is asked: the report does not
    say that it waits."""
    box = own_box("--set", "submission.record_wait=100ms")
    box.postconf("header_checks = regexp:{ {/^Subject: drop/ DISCARD gone} {/^Subject: no/ REJECT no such words} }")
    box.restart("postfix")
    sent = {}
    for subject in ("drop", "no"):
        answer = box.httpd().post(
            {"from": "hello@example.com", "to": "ann@dst.test", "subject": subject, "text": "x"}
        )
        if answer.status_code == 200:
            sent[subject] = answer.json()["id"]
        else:  # by SMTP the client is told
            assert subject == "no" and "no such words" in answer.json()["message"]
    assert "drop" in sent
    for subject, email_id in sent.items():
        line = "No: a rule of Postfix, or another milter, stopped it before postern-milter checked it"
        wait_for("the log", lambda: flat(show(box, email_id)).startswith(line))
        shown = show(box, email_id)
        told = {"drop": "stopped by a rule of Postfix", "no": "bounced"}[subject]
        assert f"ann@dst.test: {told}, " in shown
        assert {"drop": "header Subject: drop", "no": "no such words (5.7.1)"}[subject] in shown
        assert "postern.invalid" not in shown
        watched = Watch(box, email_id)
        assert watched.end()[0] == 0


@pytest.mark.submission
def test_redirected_by_a_rule(own_box):
    """The report says that somebody else got the email, not that nobody did."""
    box = own_box("--set", "submission.record_wait=100ms")
    box.postconf("header_checks = regexp:{ {/^Subject: other/ REDIRECT eve@dst.test} }")
    box.restart("postfix")
    answer = box.httpd().post(
        {"from": "hello@example.com", "to": "ann@dst.test", "subject": "other", "text": "x"}
    )
    assert answer.status_code == 200 and box.sink.find(to="eve@dst.test")
    email_id = answer.json()["id"]
    line = ("No: none of its recipients has it. Postfix redirected it to eve@dst.test by"
            " header_checks: header Subject: other")
    wait_for("the log", lambda: flat(show(box, email_id)).startswith(line))
    shown = show(box, email_id)
    assert "postern.invalid" not in shown and "nobody received it" not in flat(shown)
    assert "ann@dst.test: stopped by a rule of Postfix, " in shown and "discarded" not in shown
    assert not box.sink.now(to="ann@dst.test")


def test_without_postfix(deliveries):
    """The report leaves out what it cannot look up."""
    email_id = deliveries.send(address("later"))
    deliveries.wait(email_id, "deferred")
    deliveries.box.stop("events")
    config = deliveries.box.dir / "no-postfix.conf"
    text = deliveries.box.config.read_text()
    store = "\n".join(re.findall("(?m)^(?:database|url|host) = .*", text))
    config.write_text(
        f"[store]\n{store}\n"
        f"[submission]\npostfix_config = {deliveries.box.dir}/nowhere\n"
    )
    done = subprocess.run(
        [deliveries.box.env["POSTERN_CLI"], "-c", config, "email", "show", email_id],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("Not yet: delivery is delayed")
    assert "if it still has it" in flat(done.stdout)


class Watch:
    """A running `postern email watch`."""

    def __init__(self, box, *words):
        self.process = subprocess.Popen(
            command(box, "email", "watch", *words), stdout=subprocess.PIPE, text=True
        )

    def end(self):
        """Returns its status, and the rest of its output."""
        rest = self.process.stdout.read()
        return self.process.wait(timeout=180), rest


def test_watch_one(deliveries):
    """It ends with the answer once nothing more can happen."""
    email_id = deliveries.send(address("later"), address("fine"))
    deliveries.wait(email_id, "deferred", "delivered")
    watch = Watch(deliveries.box, email_id)
    seen = [watch.process.stdout.readline()]
    deliveries.remote.answers["later"] = b"250 2.1.5 Ok\r\n"
    wait_for(
        "the delivery",
        lambda: deliveries.states(email_id) == ["delivered"] * 2 or deliveries.box.flush(),
    )
    status, rest = watch.end()
    text = flat("".join(seen) + rest)
    assert status == 0
    assert "later@remote.test: deferred" in text
    assert text.endswith("Yes: delivered to all 2 recipients.")

    watch = Watch(deliveries.box, email_id, "--json")
    status, rest = watch.end()
    events = [json.loads(line) for line in rest.splitlines()]
    assert status == 0
    assert [e["id"] for e in events] == [
        e["id"] for e in deliveries.box.cli("email", "show", email_id)["events"]
    ]


@pytest.mark.store("sqlite")
def test_watch_a_database_that_goes(deliveries, tmp_path):
    """It ends when the file is replaced, because nothing more happens in the old
    one."""
    box = deliveries.box
    email_id = deliveries.send(address("later"))
    deliveries.wait(email_id, "deferred")
    copy = tmp_path / "copy.db"
    box.cli("db", "backup", str(copy))
    config = tmp_path / "postern.conf"
    config.write_text(f"[store]\ndatabase = {copy}\n")
    with subprocess.Popen(
        [box.env["POSTERN_CLI"], "-c", config, "email", "watch", email_id],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as watch:
        assert address("later") in watch.stdout.readline()
        copy.rename(tmp_path / "moved.db")
        said = watch.communicate(timeout=180)[1]
    assert watch.returncode == os.EX_TEMPFAIL
    assert str(copy) in said


def test_watch_all(deliveries):
    """Shows new events of all emails; ends on SIGINT, or when nobody reads."""
    old = deliveries.send(address("fine"))
    deliveries.wait(old, "delivered")
    watches = [Watch(deliveries.box, "--json") for _ in range(3)]
    # Which has begun when it tells of the first email that it sees.
    for watch in watches:
        while True:
            deliveries.wait(deliveries.send(address("fine")), "delivered")
            if select.select([watch.process.stdout], [], [], 0.5)[0]:
                break
    new = deliveries.send(address("unknown"))
    for watch in watches:
        for line in watch.process.stdout:
            event = json.loads(line)
            assert event["email_id"] != old
            if event["email_id"] == new and event["type"] == "bounced":
                break
    watches[0].process.send_signal(signal.SIGINT)
    watches[1].process.send_signal(signal.SIGTERM)
    assert [watch.end() for watch in watches[:2]] == [(0, "")] * 2
    watches[2].process.stdout.close()
    assert watches[2].process.wait(timeout=180) == 0
