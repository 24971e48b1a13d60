"""A Postfix that does not ask the milter: nothing reaches anybody, all waits."""

import json
import re
import subprocess

import pytest
from harness import Sandbox, wait_for
from harness.admin import operator
from harness.sandbox import METHOD, new_email, unique
from harness.submit import ticket_address, ticket_of
from test_restarts import look_at_once

pytestmark = pytest.mark.submission

# How many emails that are not recorded shut the door.
FEW = 5
SHORT = ("--set", "submission.record_wait=200ms")


def in_main(*settings):
    def take_out(box):
        for setting in settings:
            box.postconf(setting)

    return take_out


def in_master(service, option):
    """Returns one more -o of a service in master.cf."""
    def take_out(box):
        subprocess.run(
            ["postconf", "-c", box.env["POSTFIX_CONFIG"], "-P", f"{service}/{option}"],
            check=True, timeout=60,
        )

    return take_out


def another_cleanup(box):
    """Mail takes a path through another cleanup(8)."""
    with (box.dir / "postfix/master.cf").open("a") as file:
        file.write(
            "bare unix n - y - 0 cleanup\n"
            "  -o non_smtpd_milters=\n  -o receive_override_options=no_milters\n"
        )
    for service in ("pickup/unix", "postern/unix"):
        subprocess.run(
            ["postconf", "-c", box.env["POSTFIX_CONFIG"],
             "-P", f"{service}/cleanup_service_name=bare"],
            timeout=60, check=service == "pickup/unix",
        )
    in_main("smtpd_milters=", "non_smtpd_milters=")(box)


NOWHERE = ("smtpd_milters=", "non_smtpd_milters=")
OUT = {
    "sendmail": {
        "main.cf": in_main(*NOWHERE),
        "no_milters": in_main("receive_override_options=no_milters"),
        "another cleanup": another_cleanup,
    },
    "smtp": {
        "the service": in_master("postern/unix", "smtpd_milters="),
        "milter maps": in_master("postern/unix", "smtpd_milter_maps=static:DISABLE"),
        "another cleanup": another_cleanup,
    },
}


WAYS_OUT = {
    "as it is": [],
    "relayhost": ["default_transport=smtp", "relayhost={sink}"],
    "sender dependent": [
        "default_transport=smtp",
        "sender_dependent_relayhost_maps=static:{sink}",
        "sender_dependent_default_transport_maps=static:smtp:{sink}",
    ],
    "transport for all": ["default_transport=smtp", "transport_maps={map}, static:smtp:{sink}"],
    "relayhost that rejects": ["default_transport=smtp", "relayhost=[127.0.0.1]:1"],
}


def queue(box):
    """Returns the messages in Postfix's queue, a dictionary for each."""
    done = subprocess.run(
        ["postqueue", "-c", box.env["POSTFIX_CONFIG"], "-j"],
        capture_output=True, text=True, check=True, timeout=60,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def waiting(box):
    return [m for m in queue(box) if m["queue_name"] == "deferred"]


def check_waits(box, email_id):
    """The message waits under its ticket, with the reason, and is in nobody's
    mailbox."""
    address = ticket_address(ticket_of(box, email_id))
    found = wait_for(
        "the mail to wait",
        lambda: [m for m in waiting(box) for r in m["recipients"] if r["address"] == address],
    )[0]
    assert "postern-milter is not in charge" in found["recipients"][0]["delay_reason"]
    assert {r["address"] for r in found["recipients"]} == {address}
    return found["queue_id"]


def postsuper(box, queue_id):
    """Removes the message from Postfix's queue."""
    subprocess.run(
        ["postsuper", "-c", box.env["POSTFIX_CONFIG"], "-d", queue_id],
        capture_output=True, check=True, timeout=60,
    )


def take_note(box):
    """Makes Postfix read its files. A reload does not reach sessions for a minute."""
    if METHOD == "smtp":
        box.restart("postfix")
    else:
        box.reload_postfix()


@pytest.fixture(scope="module")
def shared(request):
    with Sandbox(*SHORT) as sandbox:
        yield sandbox
        sandbox.failed = request.session.testsfailed > 0


@pytest.fixture
def box(shared):
    """With Postfix's files to be changed, and a httpd that has seen a record last."""
    paths = [shared.dir / "postfix" / name for name in ("main.cf", "master.cf")]
    before = {path: path.read_text() for path in paths}
    fine = new_email()
    shared.httpd().send(fine)
    shared.sink.find(to=fine["to"])

    def put_back():
        for path, text in before.items():
            path.write_text(text)
        shared.restart("postfix")

    shared.put_back = put_back
    yield shared
    put_back()
    for message in queue(shared):
        postsuper(shared, message["queue_id"])


@pytest.mark.parametrize("case", OUT[METHOD])
def test_milter_is_not_asked(box, case):
    """Whatever was changed under a running httpd, the mail waits, and is delivered once
    the milter is asked again."""
    httpd = box.httpd()
    OUT[METHOD][case](box)
    take_note(box)
    email = new_email(bcc=unique("bcc") + "@dst.test")
    email_id = httpd.send(email)
    assert httpd.read(email_id)["last_event"] == "queued"
    check_waits(box, email_id)
    box.flush()
    for recipient in (email["to"], email["bcc"]):
        assert not box.sink.now(to=recipient)
    assert not any("postern.invalid" in r for m in box.sink.all() for r in m.recipients)
    box.put_back()
    if METHOD == "sendmail":  # else that takes a minute and a half
        box.cli("held", "release", "--waiting")
    for recipient in (email["to"], email["bcc"]):
        box.sink.find(to=recipient)
    assert httpd.read(email_id)["last_event"] in ("sent", "delivered")
    box.cli("held", "release", "--waiting")
    assert not waiting(box)


@pytest.mark.submission("sendmail")
@pytest.mark.parametrize("way", WAYS_OUT)
def test_wherever_mail_goes(box, way):
    """With a relayhost, and other settings that send mail elsewhere."""
    sink = box.main_cf("default_transport").removeprefix("smtp:")
    ours = re.match(r"regexp:\{ \{.*?\} \}", box.main_cf("transport_maps")).group(0)
    settings = [s.format(sink=sink, map=ours.replace("$", "$$")) for s in WAYS_OUT[way]]
    in_main(*settings, *NOWHERE)(box)
    box.restart("postfix")
    email = new_email()
    email_id = box.httpd().send(email)
    check_waits(box, email_id)
    assert not box.sink.now(to=email["to"])
    assert not any("postern.invalid" in r for m in box.sink.all() for r in m.recipients)


@pytest.mark.submission("sendmail")
def test_a_table_that_takes_tickets(box):
    """The milter is not asked: the address in the table gets one message, and the
    report of the email has Postfix's words."""
    rest = box.main_cf("transport_maps").replace("$", "$$")
    in_main(*NOWHERE, "canonical_maps=regexp:{{/@postern.invalid$$/ eve@bad.test}}",
            f"transport_maps={rest}, inline:{{{{bad.test=error:5.1.1 nobody here}}}}")(box)
    box.restart("postfix")
    email = new_email()
    email_id = box.httpd().send(email)
    wait_for("its end", lambda: box.httpd().read(email_id)["last_event"] == "bounced")
    (recipient,) = box.cli("email", "show", email_id)["recipients"]
    assert "nobody here" in str(recipient)
    look_at_once(box, [email["to"]])
    left = f"SELECT count(*) FROM outbox o JOIN email e ON e.seq = o.email WHERE e.id = '{email_id}'"
    wait_for("the outbox", lambda: box.query(left) == "0")
    assert box.log("postfix").count(f"message-id=<{email_id}@") == 1


def send_until_breaker(box, sent):
    """Sends until the breaker has opened, and many more."""
    def send_one():
        email = new_email()
        sent[email["to"]] = box.httpd().send(email)
        return "event=milter_not_in_charge" in box.log("httpd")

    wait_for("the breaker", send_one)
    for _ in range(4 * FEW):
        send_one()


def test_no_client_notices(own_box):
    """All emails are accepted, a few of them into Postfix's queue; admins are told.
    Once the milter is asked again, all are delivered, once, automatically."""
    box = own_box(*SHORT, "--set", "http.workers=1")
    httpd = box.httpd()
    paths = [box.dir / "postfix" / name for name in ("main.cf", "master.cf")]
    before = {path: path.read_text() for path in paths}
    in_main(*NOWHERE)(box)
    if METHOD == "smtp":
        in_master("postern/unix", "smtpd_milters=")(box)
    box.restart("postfix")
    sent = {}
    send_until_breaker(box, sent)
    (line,) = re.findall(r"event=milter_not_in_charge .*", box.log("httpd"))
    assert "does not ask postern-milter" in line
    wait_for("the first", lambda: waiting(box))
    assert len(waiting(box)) < len(sent)
    needs = {i["code"]: i for i in operator(box).ok("GET", "/admin/attention")["data"]}
    assert needs["not_in_charge"]["level"] == "problem"
    assert "does not ask postern-milter" in needs["not_in_charge"]["text"]
    for path, text in before.items():
        path.write_text(text)
    box.restart("postfix")
    for to, email_id in sent.items():
        box.sink.find(to=to)
        assert httpd.read(email_id)["last_event"] in ("sent", "delivered")
    assert "event=milter_in_charge" in box.log("httpd")


# What Postfix does with emails of a company that have these words, and so never records.
FAULTS = {
    "no record": "header_checks=regexp:{{/^Subject: nowhere/ DISCARD}}",
    "4xx": "header_checks=regexp:{{/^Subject: nowhere/ REJECT 4.7.1 later}}",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_one_company_holds_up_no_other(own_box, fault):
    """Emails of two companies that Postfix refuses, or that never reach the milter, delay
    these two alone, and are not taken for a fault of the milter."""
    if METHOD == "sendmail" and fault == "4xx":
        pytest.skip("the maildrop takes it")
    # Long enough for an email of the others to be recorded on a busy machine.
    box = own_box("--set", "submission.record_wait=1s", "--set", "http.workers=1",
                  "--set", "submission.probe_interval=0", "--postconf", FAULTS[fault])

    def new_client():
        company = box.company()
        return box.domain(company), box.httpd(box.new_key(company)["token"])

    faulty = [("example.com", box.httpd()), new_client()]
    domain, theirs = new_client()

    def send_faulty():
        """In turns."""
        return [(client, client.send({**new_email(), "from": f"a@{name}", "subject": "nowhere"}))
                for _ in range(2 * FEW) for name, client in faulty]

    def send_theirs():
        email = {**new_email(), "from": f"a@{domain}", "subject": "here"}
        email_id = theirs.send(email)
        wait_for("theirs", lambda: theirs.read(email_id)["last_event"] in ("sent", "delivered"))

    def put_off():
        return set(re.findall(r"event=company_put_off company=(\S+) ", box.log("httpd")))

    sent = send_faulty()
    wait_for("the breaker", lambda: re.search(
        "event=(milter_not_in_charge|submission_paused)", box.log("httpd")))
    send_theirs()

    def both_are_put_off():
        sent.extend(send_faulty())
        send_theirs()
        return len(put_off()) == 2

    wait_for("both", both_are_put_off)
    sent.extend(send_faulty())
    send_theirs()
    assert len(put_off()) == 2
    needs = {i["code"] for i in operator(box).ok("GET", "/admin/attention")["data"]}
    assert not needs & {"not_in_charge", "submission_paused"}
    # What is in the outbox of others goes, too.
    batch = [{**new_email(), "from": f"a@{domain}"} for _ in range(60)]
    for one in theirs.request("POST", "/emails/batch", json=batch).json()["data"]:
        wait_for("it", lambda: theirs.read(one["id"])["last_event"] in ("sent", "delivered"))
    # And their own, once they are mended.
    box.postconf("header_checks=")
    box.reload_postfix()
    if fault == "4xx":
        for client, email_id in sent:
            wait_for("it", lambda: client.read(email_id)["last_event"] in ("sent", "delivered"))
        wait_for("the end", lambda: box.log("httpd").count("event=company_resumed") >= 2)


@pytest.mark.submission("sendmail")
def test_milter_away(own_box):
    """A few messages wait in the maildrop, the others in the outbox; all are sent
    automatically once the milter is back."""
    box = own_box(*SHORT, "--set", "http.workers=1")
    httpd = box.httpd()
    box.stop("milter")
    sent = {}
    send_until_breaker(box, sent)
    (line,) = re.findall(r"event=milter_not_in_charge .*", box.log("httpd"))
    assert "postern-milter is not running" in line
    assert box.waiting() < len(sent)
    box.start("milter")
    for to, email_id in sent.items():
        box.sink.find(to=to)
        assert httpd.read(email_id)["last_event"] in ("sent", "delivered")
    assert "event=milter_in_charge" in box.log("httpd")
