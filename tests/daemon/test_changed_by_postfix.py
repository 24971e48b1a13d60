"""Settings of Postfix that change an email before the milter sees it: the client
is told so at once, nobody gets the email, and others are served."""

import subprocess

import pytest
from harness import wait_for
from harness.httpd import check_problem
from harness.milter import OtherMilter
from harness.sandbox import METHOD, unique

pytestmark = pytest.mark.submission

EVE = "eve@dst.test"

# What the message is told not to be, by the setting that has changed it.
CHANGES = {
    "envelope sender": "canonical_maps=regexp:{{/^hello@/ x@example.com}}",
    "field From": "header_checks=regexp:{{/^From:/ REPLACE From: x@example.com}}",
    "field Message-ID": "header_checks=regexp:{{/^Message-ID:/ REPLACE Message-ID: <x@example.com>}}",
}


def in_queue(box):
    done = subprocess.run(["postqueue", "-c", box.dir / "postfix", "-j"], check=True,
                          capture_output=True, text=True, timeout=60)
    return done.stdout.splitlines()


@pytest.mark.parametrize("what", CHANGES)
def test_changed(own_box, what, email, to):
    box = own_box("--set", "submission.record_wait=60s")
    httpd = box.httpd()
    key = {"Idempotency-Key": unique()}
    box.postconf(CHANGES[what])
    box.reload_postfix()
    if METHOD == "smtp" and what == "envelope sender":
        what = "field From"  # the milter sees the one that was given to smtpd
    others = box.company()
    domain = box.domain(others)
    other = box.httpd(box.new_key(others)["token"])
    for n in range(6):  # more than would open the circuit breaker
        if n == 3:  # one of a company that Postfix treats no better
            check_problem(other.post({**email, "from": f"hello@{domain}"}), 422,
                          "validation_error", what)
        check_problem(httpd.post(email, headers=key), 422, "validation_error", what)
        key = {}
    rows = box.cli("email", "list", "--state", "refused")
    assert len(rows) == 7 and all(what in row["refusal"] for row in rows)
    assert in_queue(box) == [] and not box.sink.now(to=to)
    assert "record_late" not in box.log("httpd")
    assert "milter_not_in_charge" not in box.log("httpd")


def filter_commands(box, rule):
    """Makes smtpd change its commands, on both ways into Postfix."""
    table = box.dir / "postfix/commands"
    table.write_text(rule + "\n")
    if METHOD == "smtp":
        master = box.dir / "postfix/master.cf"
        old = master.read_text()
        new = old.replace("-o smtpd_command_filter=\n", f"-o smtpd_command_filter=regexp:{table}\n")
        assert new != old
        master.write_text(new)
    else:
        box.postconf(f"smtpd_command_filter=regexp:{table}")
    box.reload_postfix()


@pytest.mark.parametrize("by", ["recipient_canonical_maps", "canonical_maps", "smtpd_command_filter"])
def test_ticket_taken_off(own_box, by, email):
    """The new recipient of the message does not get it, whatever the policy of the domain is."""
    box = own_box("--set", "submission.record_wait=60s")
    httpd = box.httpd()
    if by == "smtpd_command_filter":
        filter_commands(box, f"/^RCPT TO:.*@postern.invalid/ RCPT TO:<{EVE}>")
    else:
        box.postconf(f"{by}=regexp:{{{{/@postern.invalid$$/ {EVE}}}}}")
        box.reload_postfix()
    refused = 0
    for policy in ("shared", "learn", "exclusive"):
        box.cli("domain", "set", "example.com", "--policy", policy)
        to = email["to"] = unique("to") + "@dst.test"
        if METHOD == "smtp" and by != "smtpd_command_filter":
            httpd.send(email)  # the milter sees what was given to smtpd
            assert box.sink.find(to=to)
            wait_for("the queue", lambda: in_queue(box) == [])
            assert not box.sink.now(to=EVE)
            continue
        refused += 1
        check_problem(httpd.post(email), 422, "validation_error", "in the place of its ticket")
        lines = wait_for("the verdict", lambda: (
            (found := [v for v in box.log("milter").splitlines() if "reason=ticket_lost" in v])
            and len(found) >= refused and found))
        assert all("action=refuse" in line for line in lines)
        assert in_queue(box) == [] and not box.sink.all()
        rows = box.cli("email", "list", "--state", "refused")
        assert len(rows) == refused
        assert all("in the place of its ticket" in row["refusal"] for row in rows)


@pytest.mark.submission("smtp")
def test_filter_of_other_clients(own_box, email, to):
    """A filter in main.cf changes what other clients say: the service of postern-httpd has none."""
    box = own_box("--set", "submission.record_wait=60s")
    table = box.dir / "postfix/commands"
    table.write_text(f"/^RCPT TO:.*@postern.invalid/ RCPT TO:<{EVE}>\n")
    box.postconf(f"smtpd_command_filter=regexp:{table}")
    box.reload_postfix()
    box.httpd().send(email)
    assert box.sink.find(to=to)
    wait_for("the queue", lambda: in_queue(box) == [])
    assert not box.sink.now(to=EVE)


@pytest.mark.parametrize("place", ["in front", "behind"])
def test_another_milter(own_box, place, email, to):
    """The changes of a milter in front of ours are detected; those of one behind it are
    the admin's business."""
    box = own_box("--set", "submission.record_wait=60s", "--set", "submission.probe_interval=0")
    with OtherMilter(message_id="<x@example.com>") as other:
        for name in ("smtpd_milters", "non_smtpd_milters"):
            ours = box.main_cf(name)
            both = [other.name, ours] if place == "in front" else [ours, other.name]
            box.postconf(f"{name}={', '.join(both)}")
        box.reload_postfix()
        if place == "in front":
            check_problem(box.httpd().post(email), 422, "validation_error", "field Message-ID")
            assert in_queue(box) == [] and not box.sink.now(to=to)
        else:
            box.httpd().send(email)
            assert box.sink.find(to=to).header("Message-ID") == "<x@example.com>"
