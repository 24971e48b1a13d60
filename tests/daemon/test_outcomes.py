"""What becomes of refused mail: nothing is lost, nobody gets a stranger's bounce."""

import signal
import subprocess

import pytest
from harness import Sandbox, wait_for
from harness.sandbox import METHOD, unique
from harness.submit import plain


@pytest.fixture(scope="module")
def box():
    with Sandbox("--set", "submission.record_wait=500ms") as sandbox:
        yield sandbox


@pytest.fixture
def change(box):
    """Changes a setting of the milter for the test."""
    def change(name, value):
        n = box.log("milter").count("event=reloaded")
        box.set("milter", name, value)
        box.kill("milter", signal.SIGHUP)
        wait_for("the reload", lambda: box.log("milter").count("event=reloaded") > n)

    yield change
    change("refuse_local", "hold")
    change("trace_header", "off")


def is_held(box, queue_id):
    return any(path.name == queue_id for path in (box.dir / "queue/hold").rglob("*"))


def wait_until_held(box, sent):
    """The milter logs it before Postfix puts the message on hold."""
    wait_for("Postfix to hold it", lambda: is_held(box, sent.queue_id()))


def postsuper(box, option, queue_id):
    subprocess.run(["postsuper", "-c", box.env["POSTFIX_CONFIG"], option, queue_id],
                   check=True, capture_output=True, timeout=60)


HERE, FAR = "mail.sandbox.test", "far.test"

# setting, sender, outcome: only root is a user of this host
OUTCOMES = [
    ("reject", f"root@{HERE}", "rejected"),
    ("reject", f"noreply@{HERE}", "held"),
    ("reject", f"root@{FAR}", "held"),
    ("reject", "root@example.com", "held"),
    ("hold", f"root@{HERE}", "held"),
    ("hold", f"noreply@{FAR}", "held"),
    ("discard", f"root@{HERE}", "discarded"),
    ("discard", f"noreply@{FAR}", "discarded"),
]


@pytest.mark.parametrize("setting, sender, outcome", OUTCOMES)
def test_sendmail(box, change, to, setting, sender, outcome):
    change("refuse_local", setting)
    earlier = box.sink.now(to=sender)
    sent = plain(box, "sendmail", sender, to, "boss@example.com")
    assert sent.verdict()["outcome"] == outcome
    if outcome == "held":
        wait_until_held(box, sent)
    row = box.cli("email", "list", "--refused", "--limit", "1")[0]
    assert (row["outcome"], row["sender"]) == (outcome, sender)
    if outcome == "rejected":
        bounce, = wait_for("the bounce", lambda: [
            mail for mail in box.sink.now(to=sender) if mail not in earlier])
        assert "must be sent with an API key" in " ".join(bounce.raw.decode().split())
        assert to in bounce.raw.decode()
    else:
        box.flush()
        assert box.sink.now(to=sender) == earlier
    assert not box.sink.now(to=to)
    assert is_held(box, sent.queue_id()) == (outcome == "held")


# Of the domain here by what is behind the last @; Postfix resolves the rest.
ROUTED = [f"v%{FAR}@{HERE}", f"{FAR}!w@{HERE}", f'"y@{FAR}"@{HERE}', f"q@{FAR}@{HERE}"]


@pytest.mark.parametrize("sender", ROUTED)
def test_bounce_does_not_leave(box, change, to, sender):
    change("refuse_local", "reject")
    sent = plain(box, "sendmail", sender, to, "boss@example.com")
    assert sent.verdict()["outcome"] == "held"
    wait_until_held(box, sent)
    box.flush()
    assert is_held(box, sent.queue_id())
    assert not [mail for mail in box.sink.all()
                if any(r.endswith(FAR) for r in mail.recipients)]


def test_null_sender_is_held(box, change, to):
    change("refuse_local", "reject")
    sent = plain(box, "sendmail", "", to, "boss@example.com")
    assert sent.verdict()["outcome"] == "held"
    wait_until_held(box, sent)


@pytest.mark.parametrize("setting", ["reject", "hold", "discard"])
def test_smtp_is_answered_whatever_the_setting(box, change, to, setting):
    change("refuse_local", setting)
    code, text = plain(box, "smtp", "a@far.test", to, "boss@example.com").reply
    assert code == 550
    assert text.startswith(b"5.7.1 example.com: ")
    assert not box.sink.now(to=to)


def test_what_is_held_can_be_let_go(box, to):
    """The message is delivered unchanged."""
    sent = plain(box, "sendmail", "a@far.test", to, "boss@example.com")
    assert sent.verdict()["reason"] == "no_ticket"
    wait_until_held(box, sent)
    assert "milter-hold" in box.log("postfix")
    postsuper(box, "-H", sent.queue_id())
    box.flush()
    delivered = box.sink.find(to=to)
    assert delivered.header("From") == "boss@example.com"


def test_trace_header(box, change, httpd, email, to):
    assert box.sink.find(message_id=httpd.read(httpd.send(email))["message_id"]
                         ).header("X-Postern-Email-Id") is None
    change("trace_header", "on")
    email_id = httpd.send(email)
    message_id = httpd.read(email_id)["message_id"]
    assert box.sink.find(message_id=message_id).header("X-Postern-Email-Id") == email_id
    # That of mail that is not ours is left alone.
    other = "v" + to
    plain(box, "smtp", "a@far.test", other, "a@far.test\nX-Postern-Email-Id: theirs")
    assert box.sink.find(to=other).header("X-Postern-Email-Id") == "theirs"


class Tenant:
    """A company with domain and key, and what may happen to them."""

    def __init__(self, box):
        self.box = box
        self.company = box.company()
        self.domain = box.domain(self.company)
        self.key = box.new_key(self.company)

    def revoke_key(self):
        self.box.cli("key", "revoke", self.key["id"])

    def deactivate_domain(self):
        self.box.cli("domain", "deactivate", self.domain)

    def remove_domain(self):
        self.box.cli("domain", "remove", self.domain)

    def remove_company(self):
        self.box.cli("company", "remove", self.company)

    def lose_domain(self):
        self.remove_domain()
        self.box.domain(self.box.company(), name=self.domain)


EVENTS = ["revoke_key", "deactivate_domain", "remove_domain", "remove_company", "lose_domain"]


def outbox_is_empty(box):
    return box.query("SELECT count(*) FROM outbox") == "0"


@pytest.mark.submission
def test_rules_are_fresh_when_the_milter_looks(box):
    """A change while an email waits stops it, without a bounce, wherever it waits: in
    the outbox or, with sendmail(1), in the maildrop as well. Emails of others
    continue."""
    wait_for("the outbox to be empty", lambda: outbox_is_empty(box))
    box.stop("milter")
    tenants = {event: Tenant(box) for event in [*EVENTS, "nothing"]}
    emails = {}
    for event, tenant in tenants.items():
        to = unique("to") + "@dst.test"
        emails[event] = (to, box.httpd(tenant.key["token"]).send(
            {"from": f"ann@{tenant.domain}", "to": to, "text": "x"}))
    for event, (_, email_id) in emails.items():
        assert box.cli("email", "show", email_id)["state"] == "queued", event
    assert box.query("SELECT count(*) FROM outbox") == str(len(emails))
    # By sendmail(1) the first few are handed over before the milter is missed.
    if METHOD == "sendmail":
        wait_for("the first", lambda: box.waiting() > 0)
    assert box.waiting() in (range(1, len(emails) + 1) if METHOD == "sendmail" else [0])
    for event in EVENTS:
        getattr(tenants[event], event)()
    box.start("milter")

    ids = ", ".join(f"'{email_id}'" for _, email_id in emails.values())

    def all_are_decided():
        """pickup scans the maildrop once a minute; the outbox keeps submitted emails
        for longer than that."""
        box.flush()
        return box.waiting() == 0 and box.query(
            f"SELECT count(*) FROM email WHERE state = 'staged' AND id IN ({ids})") == "0"

    wait_for("each to be decided", all_are_decided)
    to, email_id = emails.pop("nothing")
    assert box.sink.find(to=to)
    assert box.cli("email", "show", email_id)["state"] == "sent"
    refused = {row["email_id"] for row in box.cli("email", "list", "--refused")}
    for event, (to, email_id) in emails.items():
        end = "canceled" if event == "remove_company" else "refused"
        assert box.cli("email", "show", email_id)["state"] == end, event
        assert (email_id in refused) == (end == "refused"), event
        assert not box.sink.now(to=to), event
        assert not box.sink.now(to=f"ann@{tenants[event].domain}"), event
