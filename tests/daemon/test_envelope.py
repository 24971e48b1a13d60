"""The recipients that the milter puts in a ticket's place, through Postfix as it
may be configured: each exactly once, and the ticket nowhere."""

import os
import re
import subprocess

import pytest
from harness import wait_for
from harness.sandbox import TREE, unique

pytestmark = pytest.mark.submission


def people(n, domain="dst.test"):
    word = unique("p")
    return [f"{word}-{i}@{domain}" for i in range(n)]


def delivered(box):
    """Returns everybody who got mail, as often as they got it."""
    return sorted(r for mail in box.sink.all() for r in mail.recipients)


def check_delivered(box, expected):
    """Delivered to each of them once, and no ticket is anywhere."""
    wanted = sorted(expected)
    wait_for("all to be delivered", lambda: len(delivered(box)) >= len(wanted), 60)
    wait_for("the queue to be empty", lambda: not in_queue(box))
    assert delivered(box) == wanted
    for mail in box.sink.all():
        assert b"postern.invalid" not in mail.data
        assert b"postern-ticket" not in mail.data.lower()


def in_queue(box):
    return [
        path for name in ("incoming", "active", "deferred", "hold")
        for path in (box.dir / "queue" / name).rglob("*") if path.is_file()
    ]


def send(box, to, **fields):
    """Sends an email to all of them, in To, Cc and Bcc; returns its id."""
    third = max(1, len(to) // 3)
    email = {"from": "hello@example.com", "to": to[:third][:50], "text": "x", **fields}
    rest = to[len(email["to"]):]
    email["cc"], email["bcc"] = rest[:third], rest[third:]
    return box.httpd().send(email)


@pytest.fixture(scope="module")
def shared(request):
    """A sandbox with Postfix's own additions and rewriting, and with limits of qmgr
    that are lower than the number of recipients."""
    from harness import Sandbox

    with Sandbox(
        "--set", "http.max_recipients=1000",
        "--postconf", "recipient_delimiter=+",
        "--postconf", "qmgr_message_recipient_limit=20",
        "--postconf", "qmgr_message_recipient_minimum=20",
        "--postconf", "qmgr_message_active_limit=20",
        "--postconf", "default_recipient_limit=20",
        "--postconf", "virtual_alias_maps=inline:{{alias@dst.test = one@dst.test, two@dst.test}}",
        "--postconf", "recipient_canonical_maps=inline:{{old@dst.test = new@dst.test}}",
        "--postconf", "header_checks=regexp:{{/^X-/ IGNORE}}",
    ) as sandbox:
        yield sandbox
        sandbox.failed = request.session.testsfailed > 0


@pytest.fixture
def quiet(shared):
    """The sandbox, with all delivered mail removed."""
    for path in list(shared.sink.folder.iterdir()):
        path.unlink()
    shared.sink.known.clear()
    return shared


@pytest.mark.parametrize("n", [1, 3, 1000])
def test_number(quiet, n):
    to = people(n)
    email_id = send(quiet, to)
    check_delivered(quiet, to)
    seen = quiet.httpd().read(email_id)
    assert seen["to"] + seen["cc"] + seen["bcc"] == to
    rows = quiet.query(
        "SELECT count(*) FROM email_recipient r JOIN email e ON e.seq = r.email"
        f" WHERE e.id = '{email_id}' AND r.state IN ('queued', 'delivered')"
    )
    assert rows == str(n)


def test_names_that_postfix_changes(quiet):
    send(quiet, ["alias@dst.test", "old@dst.test", "a+tag@dst.test", '"q u"@dst.test'])
    check_delivered(
        quiet, ["one@dst.test", "two@dst.test", "new@dst.test", "a+tag@dst.test", '"q u"@dst.test']
    )


def test_the_same_twice(quiet):
    """An address that is named several times in To, Cc and Bcc gets one message."""
    a, b = people(2)
    email_id = quiet.httpd().send(
        {"from": "hello@example.com", "to": [a, f"Ann <{a}>", b], "cc": [a], "bcc": [b],
         "text": "x"}
    )
    check_delivered(quiet, [a, b])
    assert quiet.httpd().read(email_id)["to"] == [a, a, b]
    shown = quiet.cli("email", "show", email_id)
    assert shown["to"] == [a, a, b] and shown["bcc"] == [b]


def test_utf8_recipients(quiet):
    # Last, as a blind copy: smtp-sink takes no UTF-8 in headers.
    to = ["ann@utf8.test", *people(1), "jürgen@utf8.test"]
    send(quiet, to)
    check_delivered(quiet, to)


def test_bounce_of_one(quiet):
    """The others get their mail; the bounce names the recipient, not the ticket."""
    sender = unique("sender") + "@example.com"
    a, b = people(2)
    gone = unique("gone") + "@bounce.test"
    email_id = quiet.httpd().send(
        {"from": sender, "to": [a, gone], "bcc": [b], "text": "x"}
    )
    check_delivered(quiet, [a, b, sender])
    bounce = quiet.sink.find(to=sender)
    assert gone.encode() in bounce.raw
    wait_for(
        "the bounce to be told",
        lambda: quiet.httpd().read(email_id)["last_event"] == "bounced",
    )


# name: (settings with SINK for where mail goes, who gets it besides, or instead
# of, the recipients)
CONFIGURED = {
    "copies and fields": (
        ["always_bcc=archive@dst.test",
         "sender_bcc_maps=inline:{{hello@example.com = sent@dst.test}}",
         # Not asked about recipients that a milter adds.
         "recipient_bcc_maps=regexp:{{/@dst\\.test$$/ copy@dst.test}}",
         "header_checks=regexp:{{/^From:/ PREPEND X-Seen: yes}}",
         "enable_original_recipient=no",
         "smtp_destination_recipient_limit=1"],
        ["archive@dst.test", "sent@dst.test"], False,
    ),
    "relayhost": (["default_transport=smtp", "relayhost=SINK"], [], False),
    "content_filter": (["content_filter=smtp:SINK"], [], False),
    "FILTER": (["header_checks=regexp:{{/^Subject:/ FILTER smtp:SINK}}"], [], False),
    "virtual, catch-all but ours": (
        ["virtual_alias_maps=regexp:{{!/@postern\\.invalid$$/ all@dst.test}}"],
        ["all@dst.test"] * 3, True,
    ),
    "canonical, catch-all but ours": (
        ["recipient_canonical_maps=regexp:{{!/@postern\\.invalid$$/ all@dst.test}}"],
        ["all@dst.test"], True,
    ),
}


@pytest.fixture
def box(quiet):
    """A sandbox whose Postfix files may be changed."""
    paths = [quiet.dir / "postfix" / name for name in ("main.cf", "master.cf")]
    before = {path: path.read_text() for path in paths}
    yield quiet
    for path, text in before.items():
        path.write_text(text)
    quiet.restart("postfix")


@pytest.mark.parametrize("name", CONFIGURED)
def test_configured(box, name):
    settings, besides, instead = CONFIGURED[name]
    sink = box.main_cf("default_transport").removeprefix("smtp:")
    box.postconf("virtual_alias_domains=", *[s.replace("SINK", sink) for s in settings])
    box.restart("postfix")
    to = people(3)
    send(box, to, subject="Hello")
    check_delivered(box, besides if instead else to + besides)


def test_relayhost_that_rejects(box):
    """The email bounces, for each recipient."""
    box.postconf("smtp_skip_5xx_greeting=no")
    sink = box.main_cf("default_transport").removeprefix("smtp:")
    refuse = box.add_smtpd(
        "smtpd_recipient_restrictions=check_recipient_access"
        " regexp:{{!/@example\\.com$$/ 550 5.7.1 no}}"
    )
    host, port = refuse.split(":")
    box.postconf(f"relayhost=[{host}]:{port}")
    box.postconf("default_transport=smtp")
    box.postconf(
        "transport_maps=" + box.main_cf("transport_maps").replace("$", "$$")
        + f", inline:{{example.com=smtp:{sink}}}"
    )
    box.restart("postfix")
    to = people(3)
    sender = unique("sender") + "@example.com"
    send(box, to, **{"from": sender})
    check_delivered(box, [sender])
    bounce = box.sink.find(to=sender).raw
    for address in to:
        assert address.encode() in bounce


@pytest.mark.parametrize("place", ["before", "behind"])
def test_another_milter(box, place):
    """Another milter does no harm at any place in the list."""
    socket = box.dir / "queue/postern/noop.sock"
    program = TREE / os.environ.get("BUILD", "build") / "bench/noop_milter"
    if not program.exists():
        pytest.skip("make bench-tools makes the other milter")
    socket.unlink(missing_ok=True)
    with subprocess.Popen([program, socket]) as noop:
        try:
            wait_for("the other milter", socket.exists)
            socket.chmod(0o666)
            for name in ("smtpd_milters", "non_smtpd_milters"):
                ours = box.main_cf(name)
                other = "unix:postern/noop.sock"
                box.postconf(f"{name}=" + ", ".join(
                    [other, ours] if place == "before" else [ours, other]))
            box.restart("postfix")
            to = people(3)
            send(box, to)
            check_delivered(box, to)
        finally:
            noop.terminate()


def test_redirect_passes_the_milter_by(own_box):
    """Postfix drops all other recipients, and the ticket is nobody's address."""
    box = own_box("--set", "submission.record_wait=300ms")
    box.postconf("header_checks=regexp:{{/^Subject: secret/ REDIRECT all@dst.test}}")
    box.restart("postfix")
    to = people(1)
    box.httpd().post({"from": "hello@example.com", "to": to, "subject": "secret", "text": "x"})
    wait_for("the queue to be empty", lambda: not in_queue(box))
    assert not box.sink.now(to=to[0])
    assert set(delivered(box)) <= {"all@dst.test"}


def test_milter_dies_between(own_box):
    """The milter dies with recipients added and the ticket still there: Postfix defers
    the message, and the next attempt succeeds."""
    box = own_box(
        "--set", "submission.record_wait=300ms", "--set", "http.max_recipients=1000"
    )
    to = people(1000)
    pid, calls = box.pid("milter"), "write,writev,sendto,sendmsg"
    trace = subprocess.Popen(
        ["strace", "-f", "-qq", "-o", "/dev/null", "-p", str(pid), "-e", f"trace={calls}",
         "-e", f"inject={calls}:signal=SIGKILL:when=200"],
    )
    wait_for("strace", lambda: re.search(
        r"TracerPid:\t[1-9]", open(f"/proc/{pid}/status").read()))
    httpd = box.httpd()
    answer = httpd.post({"from": "hello@example.com", "to": to[:1], "bcc": to[1:], "text": "x"})
    box.wait_for_new("milter", pid)
    trace.wait()
    if answer.status_code != 200:  # by SMTP nothing was taken
        assert delivered(box) == []
        answer = httpd.post({"from": "hello@example.com", "to": to[:1], "bcc": to[1:], "text": "x"})
    # What waits in the maildrop is tried once a minute.
    wait_for("pickup to take it again", lambda: box.flush() or box.waiting() == 0)
    check_delivered(box, to)
    assert httpd.read(answer.json()["id"])["last_event"] in ("sent", "delivered")
