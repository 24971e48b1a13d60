"""What comes back to a return path: bounces, complaints, and what pretends to be one."""

import os
import pwd
import re
import signal
import subprocess
from email.utils import formatdate
from pathlib import Path

import pytest
from harness import Sandbox, wait_for
from harness.sandbox import TREE, unique
from harness.submit import by_smtp
from test_doctor import doctor, fault, faults
from test_postfix_conf_learn import add_database, make  # noqa: F401
from test_smtp_auth import email_of, login, new_message

DOMAIN = "bounces.example.com"
URL = "https://mail.example.com"
OPTIONS = (
    "--returns", DOMAIN,
    "--postconf", "smtpd_relay_restrictions=permit_mynetworks, reject_unauth_destination",
    # Bounces of this Postfix that are put off come again soon.
    "--postconf", "minimal_backoff_time=1s",
    "--postconf", "maximal_backoff_time=1s",
    "--postconf", "queue_run_delay=1s",
)  # fmt: skip

# It is at hand for those who hand on what is for a person, as a program of the sandbox that is
# not root may not: sendmail(1) -bs, by the port of Postfix.
BRIDGE = """#!/usr/bin/env python3
import os, select, socket, sys
to = socket.create_connection(("127.0.0.1", int(open(sys.argv[0] + ".port").read())))
open_ = [0, to.fileno()]
while len(open_) == 2:
    for fd in select.select(open_, [], [])[0]:
        data = os.read(fd, 65536)
        if not data:
            open_.remove(fd)
        elif fd == 0:
            to.sendall(data)
        else:
            os.write(1, data)
"""


@pytest.fixture(scope="module")
def box(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bridge")
    for parent in [folder, *folder.parents][:4]:
        parent.chmod(0o755)
    bridge = folder / "sendmail"
    bridge.write_text(BRIDGE)
    bridge.chmod(0o755)
    with Sandbox(
        *OPTIONS, "--submission", "smtp",
        "--set", f"submission.sendmail={bridge}",
        "--set", "returns.forward_to=admin@dst.test",
        "--set", "suppression.bounces=on",
        "--set", f"http.url={URL}", parts=["auth"],
    ) as sandbox:  # fmt: skip
        Path(f"{bridge}.port").write_text(sandbox.env["POSTFIX_SMTP"].split(":")[1])
        yield sandbox
        sandbox.failed = request.session.testsfailed > 0


def send(box, *to, sender="hello@example.com", key=None):
    """Sends an email; returns it as delivered, and its envelope sender."""
    email_id = box.httpd(key).send({"from": sender, "to": list(to), "text": "Hello"})
    delivered = box.sink.find(to=to[0])
    wait_for("the deliveries", lambda: "queued" not in states(box, email_id).values())
    return email_id, delivered.sender


def states(box, email_id):
    rows = box.query(
        "SELECT address || ' ' || state FROM email_recipient WHERE email ="
        f" (SELECT seq FROM email WHERE id = '{email_id}')"
    )
    return dict(row.rsplit(" ", 1) for row in rows.splitlines())


def events(box, email_id, kind=None):
    """Returns (recipient's number, kind, source, dsn, text) of each."""
    found = box.sql(
        "SELECT n, kind, source, dsn, text FROM event WHERE email ="
        " (SELECT seq FROM email WHERE id = ?) ORDER BY seq", email_id
    )
    return [list(one) for one in found if kind in (None, one[1])]


def dsn(path, *recipients, status="5.1.1", extra="", action="failed"):
    blocks = "".join(
        f"\nFinal-Recipient: rfc822; {to}\nAction: {action}\nStatus: {status}\n"
        f"Diagnostic-Code: smtp; 550 {status} no such user\n"
        for to in recipients
    )
    return (
        f"From: MAILER-DAEMON@mx.example.net\nTo: {path}\nSubject: Undelivered\n"
        f"Date: {formatdate()}\nMessage-ID: <{unique()}@mx.example.net>\n"
        'MIME-Version: 1.0\nContent-Type: multipart/report; report-type=delivery-status; boundary="b"\n'
        "\n--b\nContent-Type: text/plain\n\nIt could not be delivered.\n"
        f"\n--b\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; mx.example.net\n{extra}"
        f"{blocks}\n--b--\n"
    )


def arf(path, to=None):
    original = f"Original-Rcpt-To: <{to}>\n" if to else ""
    return (
        "From: fbl@example.net\nTo: fbl@bounces.example.com\nSubject: complaint\n"
        f"Message-ID: <{unique()}@example.net>\nDate: {formatdate()}\n"
        'Content-Type: multipart/report; report-type=feedback-report; boundary="b"\n'
        "\n--b\nContent-Type: text/plain\n\nA complaint.\n"
        "\n--b\nContent-Type: message/feedback-report\n\nFeedback-Type: abuse\nVersion: 1\n"
        f"User-Agent: x/1\n{original}"
        f"\n--b\nContent-Type: message/rfc822\n\nReturn-Path: <{path}>\nSubject: Hello\n\nHello\n--b--\n"
    )


class Returned:
    """A message from a server elsewhere."""

    def __init__(self, box, to, text, sender=""):
        self.box = box
        submitted = by_smtp(
            box, None, sender, [to], text.encode(), elsewhere=True
        )
        code, said = submitted.reply
        assert code == 250, said
        self.queue_id = re.search(r"queued as (\w+)", said.decode()).group(1)

    def lines(self):
        return re.findall(rf".* {self.queue_id}: .*", self.box.log("postfix"))

    def wait(self, status="sent"):
        """Waits until postern-intake has accepted or deferred it."""
        wait_for(
            f"{self.queue_id} to be {status}",
            lambda: any(f"status={status}" in line for line in self.lines()),
        )
        return self


def test_envelope_sender(box, to):
    """Each email has a token of its own, at the return path."""
    _, first = send(box, to)
    _, second = send(box, "two-" + to)
    assert first != second
    for path in first, second:
        assert re.fullmatch(r"b\+[a-z2-7]{52}@bounces\.example\.com", path)


def test_late_bounce(box, to):
    """A delivered email becomes bounced when the next server reports it later."""
    email_id, path = send(box, to)
    assert states(box, email_id)[to] == "delivered"
    for _ in range(2):
        Returned(box, path, dsn(path, to)).wait()
    assert states(box, email_id)[to] == "bounced"
    (bounced,) = events(box, email_id, "bounced")
    assert bounced[1:] == ["bounced", "dsn", "5.1.1", "550 5.1.1 no such user"]
    assert box.httpd().read(email_id)["last_event"] == "bounced"


def test_chooses_among_its_recipients(box, to):
    others = [f"a-{to}", f"b-{to}"]
    email_id, path = send(box, to, *others)
    Returned(box, path, dsn(path, others[1], "stranger@dst.test")).wait()
    assert states(box, email_id) == {
        to: "delivered", others[0]: "delivered", others[1]: "bounced",
    }  # fmt: skip


def test_forwarded_elsewhere(box, to):
    """The only recipient bounced, also under another address."""
    email_id, path = send(box, to)
    Returned(box, path, dsn(path, "new@else.test", status="5.2.2")).wait()
    assert states(box, email_id)[to] == "bounced"


def test_delay_tells_nothing(box, to):
    email_id, path = send(box, to)
    Returned(box, path, dsn(path, to, action="delayed", status="4.4.1")).wait()
    assert states(box, email_id)[to] == "delivered"
    assert not events(box, email_id, "bounced")


def test_own_bounce_counts_once(box):
    """Postfix's log and its bounce report the same: one event, from the log."""
    to = unique("to") + "@bounce.test"
    email_id = box.httpd().send({"from": "hello@example.com", "to": to, "text": "x"})
    wait_for("the bounce", lambda: states(box, email_id)[to] == "bounced")
    queue_id = wait_for(
        "the notification",
        lambda: re.search(
            rf"{box.query(f'''SELECT queue_id FROM email WHERE id = '{email_id}' ''').strip()}:"
            r" sender non-delivery notification: (\w+)",
            box.log("postfix"),
        ),
    ).group(1)
    wait_for(
        "postern-intake",
        lambda: re.search(rf" {queue_id}: .*relay=postern-returns.*status=sent", box.log("postfix")),
    )
    assert [one[2] for one in events(box, email_id, "bounced")] == ["log"]


@pytest.mark.parametrize("named", [True, False], ids=["named", "redacted"])
def test_complaint(box, to, named):
    email_id, path = send(box, to)
    Returned(box, f"fbl@{DOMAIN}", arf(path, to if named else None)).wait()
    assert states(box, email_id)[to] == "complained"
    ((_, _, source, _, text),) = events(box, email_id, "complained")
    assert (source, text) == ("report", "abuse")
    assert box.httpd().read(email_id)["last_event"] == "complained"


def suppressed(box, address):
    return box.query(f"SELECT reason FROM suppression WHERE address = '{address}'").split()


def test_puts_into_the_list(box, to):
    """Missing mailboxes and complaints are suppressed; full mailboxes are not."""
    full, gone, angry = (f"{word}-{to}" for word in ("full", "gone", "angry"))
    email_id, path = send(box, full, gone, angry)
    Returned(box, path, dsn(path, full, status="5.2.2")).wait()
    Returned(box, path, dsn(path, gone)).wait()
    Returned(box, path, arf(path, angry)).wait()
    assert [suppressed(box, one) for one in (full, gone, angry)] == [[], ["bounce"], ["complaint"]]
    again = box.httpd().send({"from": "hello@example.com", "to": [full, gone, angry], "text": "x"})
    wait_for("the second one", lambda: states(box, again)[full] == "delivered")
    assert states(box, again) == {full: "delivered", gone: "suppressed", angry: "suppressed"}
    # Nor does a report tell of somebody who got nothing.
    path = f"b+{path_token(box, again)}"
    Returned(box, path, dsn(path, gone)).wait()
    assert states(box, again)[gone] == "suppressed"


def path_token(box, email_id):
    """Returns the local part of the envelope sender after its prefix, from Postfix's
    log."""
    queue_id = box.query(f"SELECT queue_id FROM email WHERE id = '{email_id}'")
    return wait_for(
        "its sender",
        lambda: re.search(rf" {queue_id}: from=<b\+([^>]*)>", box.log("postfix")),
    ).group(1)


def test_forged(box, to):
    """Without the token of an email nothing changes its status."""
    email_id, path = send(box, to)
    before = events(box, email_id)
    local = path.partition("@")[0]
    flipped = local[:-1] + ("a" if local[-1] != "a" else "b")
    other_use = "u" + local[1:]
    made_up = "b+" + "a" * 52
    # The id of the email and another proof; another use; none at all; a part of it.
    for forged in flipped, other_use, made_up, local[:-3], "postmaster":
        address = f"{forged}@{DOMAIN}"
        Returned(box, address, dsn(address, to)).wait()
    for forged in flipped, made_up:
        Returned(box, f"fbl@{DOMAIN}", arf(f"{forged}@{DOMAIN}", to)).wait()
    assert events(box, email_id) == before
    assert states(box, email_id)[to] == "delivered"
    # In any letter case it is the same.
    Returned(box, path.upper(), dsn(path, to)).wait()
    assert states(box, email_id)[to] == "bounced"


def test_another_company(box, to):
    """A token is valid only for its own email."""
    company = box.company()
    name = box.domain(company)
    box.cli("domain", "set", name, "--return-path", DOMAIN)
    key = box.new_key(company)["token"]
    theirs, path = send(box, "theirs-" + to, sender=f"x@{name}", key=key)
    assert path.endswith("@" + DOMAIN)
    ours, _ = send(box, to)
    Returned(box, path, dsn(path, to)).wait()
    assert states(box, ours)[to] == "delivered"
    assert not events(box, ours, "bounced")


def test_without_return_path(box, to):
    """Emails keep their envelope senders; what Postfix returned is in their report."""
    company = box.company()
    name = box.domain(company)
    key = box.new_key(company)["token"]
    email_id, sender = send(box, to, sender=f"nobody@{name}", key=key)
    assert sender == f"nobody@{name}"
    lost = unique("to") + "@bounce.test"
    email_id = box.httpd(key).send({"from": f"nobody@{name}", "to": lost, "text": "x"})
    wait_for("the bounce", lambda: states(box, email_id)[lost] == "bounced")
    ((_, _, source, status, text),) = events(box, email_id, "bounced")
    assert (source, status) == ("log", "5.1.1") and "nobody is here" in text
    said = subprocess.run(
        [box.env["POSTERN_CLI"], "-c", box.config, "email", "show", email_id],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert "nobody is here" in " ".join(said.split())


def answer(path, to, fields, text="I am away, ask bob@dst.test.\n"):
    return (
        f"From: {to}\nTo: {path}\nMessage-ID: <{unique()}@dst.test>\nDate: {formatdate()}\n"
        f"{fields}\n{text}"
    )


def test_automatic_answers_go_nowhere(box, to):
    email_id, path = send(box, to)
    before = events(box, email_id), len(box.sink.now(to="admin@dst.test"))
    Returned(box, path, answer(path, to, "Auto-Submitted: auto-replied\nSubject: Away\n")).wait()
    assert (events(box, email_id), len(box.sink.now(to="admin@dst.test"))) == before


def handed_on(box, word):
    return wait_for(
        f"{word} to come to the admin",
        lambda: [m for m in box.sink.now(to="admin@dst.test") if word in (m.header("Subject") or "")],
    )


def test_for_a_person(box, to):
    """Unreadable messages are forwarded to the admin's address, unchanged, with the
    null sender, and only once."""
    email_id, path = send(box, to)
    word = unique("question")
    text = answer(path, to, f"Subject: {word}\n", "What is this?\n" + "x" * 70 + "\n")
    Returned(box, path, text, sender=to).wait()
    (found,) = handed_on(box, word)
    assert found.sender == ""
    assert found.header("X-Postern-Returned") == path
    assert found.raw.rstrip().endswith(b"x" * 70)
    assert states(box, email_id)[to] == "delivered"
    Returned(box, path, "X-Postern-Returned: x\n" + text).wait()
    other = unique("other")
    Returned(box, f"postmaster@{DOMAIN}", answer(path, to, f"Subject: {other}\n"), sender=to).wait()
    handed_on(box, other)
    assert len(handed_on(box, word)) == 1


def test_large_and_hostile(box, to):
    email_id, path = send(box, to)
    for text in (
        dsn(path, to).replace("It could", "x" * 900 + "\n" * 2 + "It could") + "y" * 8_000_000,
        "Content-Type: multipart/report; boundary=b\n\n" + "--b\n" * 200_000,
        "\n" * 100_000,
    ):
        Returned(box, path, text).wait()
    assert states(box, email_id)[to] == "bounced"


def intake_pids():
    found = subprocess.run(["pgrep", "-x", "postern-intake"], capture_output=True, text=True)
    return [int(pid) for pid in found.stdout.split()]


def belongs_to(box, pid):
    try:
        return str(box.config).encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


@pytest.mark.parametrize("killed", [False, True], ids=["locked", "killed"])
def test_waits_for_the_store(box, to, killed):
    """Postfix keeps the report while the store is locked, or when the command is
    killed."""
    email_id, path = send(box, to)
    with box.locked():
        returned = Returned(box, path, dsn(path, to))
        if killed:
            pid = wait_for(
                "postern-intake",
                lambda: [pid for pid in intake_pids() if belongs_to(box, pid)],
            )[0]
            os.kill(pid, signal.SIGKILL)
        returned.wait("deferred")
    box.flush()
    returned.wait()
    assert states(box, email_id)[to] == "bounced"
    assert len(events(box, email_id, "bounced")) == 1


def test_waits_while_the_store_is_away(box, to):
    email_id, path = send(box, to)
    with box.store_away():
        returned = Returned(box, path, dsn(path, to)).wait("deferred")
    box.flush()
    returned.wait()
    assert states(box, email_id)[to] == "bounced"


@pytest.fixture
def news(box):
    """A domain with unsubscribe links, and a key that sends as it and as another
    domain."""
    company = box.company()
    name, other = box.domain(company), box.domain(company)
    set_ = box.cli("domain", "set", name, "--unsubscribe", "on", "--return-path", DOMAIN)
    assert set_["unsubscribe"] == "on"
    return name, other, box.new_key(company)["token"]


LINK = re.compile(
    rf"<{URL}(/unsubscribe/[a-z2-7]{{52}})>,\s+<mailto:(u\+[a-z2-7]{{52}}@{DOMAIN})\?subject=unsubscribe>"
)


def deliver(box, news, to, **fields):
    """Sends an email of the domain; returns it as delivered, and its id."""
    name, _, key = news
    email = {"from": f"hello@{name}", "to": to, "text": "Hello", **fields}
    email_id = box.httpd(key).send(email)
    delivered = box.sink.find(to=to if isinstance(to, str) else to[0])
    wait_for("the deliveries", lambda: "queued" not in states(box, email_id).values())
    return delivered, email_id


def entries(box, address):
    sql = "SELECT domain, reason, email_id FROM suppression WHERE address = ?"
    return [list(row) for row in box.sql(sql, address)]


def test_one_click(box, news, to):
    """After an unsubscription the recipient gets no more from this domain, and still
    from others."""
    name, other, key = news
    delivered, email_id = deliver(box, news, to)
    assert delivered.header("List-Unsubscribe-Post") == "List-Unsubscribe=One-Click"
    path = LINK.fullmatch(delivered.header("List-Unsubscribe")).group(1)
    stranger = box.httpd()
    # Programs that look at links ask so, and change nothing.
    asked = stranger.request("GET", path)
    assert asked.status_code == 200 and f"<b>{name}</b>" in asked.text
    assert "form-action 'self'" in asked.headers["Content-Security-Policy"]
    looked = stranger.session.request("HEAD", stranger.url + path, timeout=60)
    assert looked.status_code == 200 and looked.content == b""
    assert looked.headers["Content-Length"] == str(len(asked.content))
    assert entries(box, to) == []
    for _ in range(2):
        done = stranger.request("POST", path, data={"List-Unsubscribe": "One-Click"})
        assert done.status_code == 200 and "Unsubscribed" in done.text
    assert entries(box, to) == [[name, "unsubscribe", email_id]]
    assert [one[1:3] for one in events(box, email_id, "unsubscribed")] == [["unsubscribed", "link"]]
    assert states(box, email_id)[to] == "delivered"
    again = box.httpd(key).send({"from": f"hello@{name}", "to": to, "text": "x"})
    wait_for("the second one", lambda: states(box, again)[to] == "suppressed")
    third = box.httpd(key).send({"from": f"hello@{other}", "to": to, "text": "x"})
    wait_for("the third one", lambda: states(box, third)[to] == "delivered")
    answer = box.httpd(key).request(
        "GET", f"/v3/{name}/events?event=unsubscribed",
        headers={"Authorization": None}, auth=("api", key),
    )  # fmt: skip
    (item,) = answer.json()["items"]
    assert (item["event"], item["recipient"]) == ("unsubscribed", to)
    # An admin takes the address off, and it is asked for once more.
    box.cli("suppression", "remove", to, "--company", box.cli("domain", "show", name)["company_id"])
    assert stranger.request("POST", path).status_code == 200
    assert entries(box, to) == [[name, "unsubscribe", email_id]]


def test_unsubscribe_by_mail(box, news, to):
    delivered, email_id = deliver(box, news, to)
    address = LINK.fullmatch(delivered.header("List-Unsubscribe")).group(2)
    # A report that comes there is none, and nothing is returned to its sender.
    Returned(box, address, dsn(address, to)).wait()
    assert entries(box, to) == []
    Returned(box, address, "Subject: unsubscribe\n\n", sender=to).wait()
    assert entries(box, to) == [[name_of(news), "unsubscribe", email_id]]
    assert [one[2] for one in events(box, email_id, "unsubscribed")] == ["mail"]


def name_of(news):
    return news[0]


def test_forged_unsubscribe(box, news, to):
    delivered, _ = deliver(box, news, to)
    path, address = LINK.fullmatch(delivered.header("List-Unsubscribe")).groups()
    flipped = path[:-1] + ("a" if path[-1] != "a" else "b")
    bounce = "/unsubscribe/" + delivered.sender[2:54]
    for forged in flipped, bounce, path[:-2], "/unsubscribe/x":
        for method in "GET", "POST":
            assert box.httpd().request(method, forged).status_code == 404
            page = box.httpd().request(method, forged, headers={"Accept": "text/html,*/*;q=0.8"})
            assert page.status_code == 404
            assert page.headers["Content-Type"].startswith("text/html")
            assert "<p>The link is not valid" in page.text
    Returned(box, "u+" + flipped[-52:] + "@" + DOMAIN, "Subject: x\n\n", sender=to).wait()
    assert entries(box, to) == []


def test_without_a_way_to_unsubscribe(box, news, to):
    """Of several recipients a link cannot tell who asks; what an email says itself stays."""
    delivered, _ = deliver(box, news, [to, "b-" + to])
    assert delivered.header("List-Unsubscribe") is None
    own = {"List-Unsubscribe": "<https://example.com/u>"}
    delivered, _ = deliver(box, news, "own-" + to, headers=own)
    assert delivered.header("List-Unsubscribe") == "<https://example.com/u>"
    assert delivered.header("List-Unsubscribe-Post") is None
    assert "is on or off" in box.cli("domain", "set", news[0], "--unsubscribe", "yes", ok=False)
    box.cli("domain", "set", news[0], "--unsubscribe", "off")
    delivered, _ = deliver(box, news, "off-" + to)
    assert delivered.header("List-Unsubscribe") is None


def test_over_smtp(box, news, to):
    """What a program sends with its key comes back as what is sent over HTTP. A message that asks
    for reports itself, and one without a sender, keep their envelope sender."""
    name, _, key = news
    sender = f"hello@{name}"
    session = login(box, key)
    message_id, data = new_message(to, sender)
    assert session.sendmail(sender, [to], data) == {}
    delivered = box.sink.find(message_id=message_id)
    assert re.fullmatch(rf"b\+[a-z2-7]{{52}}@{DOMAIN}", delivered.sender)
    assert LINK.fullmatch(delivered.header("List-Unsubscribe"))
    email_id = email_of(box, message_id, key)["id"]
    wait_for("the delivery", lambda: states(box, email_id)[to] == "delivered")
    Returned(box, delivered.sender, dsn(delivered.sender, to)).wait()
    assert states(box, email_id)[to] == "bounced"
    for envelope, mail_options, rcpt_options in (
        ("", [], []),
        (sender, ["ENVID=x"], []),
        (sender, ["RET=FULL"], []),
        (sender, [], ["NOTIFY=SUCCESS,FAILURE"]),
    ):
        message_id, data = new_message("other-" + to, sender)
        assert session.sendmail(envelope, ["other-" + to], data, mail_options, rcpt_options) == {}
        delivered = box.sink.find(message_id=message_id)
        assert delivered.sender == envelope
        assert LINK.fullmatch(delivered.header("List-Unsubscribe"))


@pytest.mark.submission
def test_by_each_way(own_box, to):
    box = own_box(*OPTIONS)
    email_id, path = send(box, to)
    Returned(box, path, dsn(path, to)).wait()
    assert states(box, email_id)[to] == "bounced"


def test_setting(box):
    for given, why in (("x y", "is a domain, or off"), ("example.com", "a name of its own")):
        assert why in box.cli("domain", "set", "example.com", "--return-path", given, ok=False)
    name = box.domain(box.company())
    assert box.cli("domain", "set", name, "--return-path", "B.x.TEST")["return_path"] == "b.x.test"
    assert box.cli("domain", "set", name, "--policy", "learn")["return_path"] == "b.x.test"
    assert box.cli("domain", "set", name, "--return-path", "off")["return_path"] is None


def script(box, name, *words):
    done = subprocess.run(
        [TREE / "postfix-conf" / name, "-c", box.env["POSTFIX_CONFIG"], "-p", box.config, *words],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    return done.returncode, " ".join((done.stdout + done.stderr).split())


@pytest.mark.scripts
@pytest.mark.parametrize(
    "lines",
    [
        "",
        "relay_domains = a.test, b.test\n",
        "relay_domains =\n\n# a remark\n  a.test\nrelay_recipient_maps = inline:{x@a.test=x}\n",
        "relay_domains =",
    ],
    ids=["none", "some", "continued", "empty"],
)
def test_taken_out_to_the_byte(make, lines):  # noqa: F811
    """disable removes what enable adds, and a second run of enable adds nothing."""
    postfix = make(main_cf=lines)
    add_database(postfix)
    os.chown(postfix.folder / "postern.db", pwd.getpwnam("nobody").pw_uid, -1)
    files = [postfix.main_cf, postfix.folder / "master.cf"]
    before = [file.read_bytes() for file in files]
    postfix.do("enable", "-p", postfix.conf, "--returns", DOMAIN, "--returns", "b.two.test")
    enabled = [file.read_bytes() for file in files]
    assert all(b"postern-returns" in text for text in enabled)
    postfix.do("enable", "-p", postfix.conf, "--returns", DOMAIN)
    assert [file.read_bytes() for file in files] == enabled
    postfix.do("disable", "-p", postfix.conf)
    assert [file.read_bytes() for file in files] == before


@pytest.mark.scripts
def test_enable_and_disable(own_box):
    """check and doctor know what enable adds and disable removes."""
    box = own_box()
    subprocess.run(["chown", "-R", "nobody", box.dir / "store"], check=True)
    status, said = script(box, "enable", "--returns", DOMAIN, "--returns", "b.two.test", "--reload")
    assert status == 0, said
    assert f"{DOMAIN}. IN MX 10 mail.sandbox.test." in said
    assert "v=spf1 a:mail.sandbox.test -all" in said
    assert f"what comes to b.two.test {DOMAIN} is taken by postern-intake" in script(box, "check")[1]
    box.cli("domain", "set", "example.com", "--return-path", "c.two.test")
    row = fault(doctor(box), "returns", "emails have the return path c.two.test, but")
    assert row["text"].endswith(": enable --returns c.two.test")
    assert script(box, "enable", "--returns", "c.two.test")[0] == 0
    with box.store_away():
        assert "postern-intake takes no bounces, which wait: 4.3" in script(box, "check")[1]
    assert not faults(doctor(box), "returns")
    status, said = script(box, "disable")
    assert status == 0, said
    assert "domains still have a return path" in said
