"""A content filter that gets mail from Postfix and gives it back over SMTP."""

import subprocess

import pytest
from harness import Sandbox, wait_for
from harness.sandbox import METHOD, unique
from harness.smtp_filter import SmtpFilter
from harness.submit import by_nobody, by_smtp


@pytest.fixture(scope="module")
def box(request):
    """A sandbox with a second smtpd, to which a filter returns mail."""
    with Sandbox() as sandbox:
        back = sandbox.add_smtpd("receive_override_options=no_milters")
        sandbox.back = int(back.rpartition(":")[2])
        yield sandbox
        sandbox.failed = request.session.testsfailed > 0


def message(to):
    message_id = f"<{unique()}@example.com>"
    fields = f"From: hello@example.com\nTo: {to}\nMessage-ID: {message_id}\n"
    return message_id, fields.encode() + b"Date: Sat, 21 Nov 2026 12:00:00 +0000\n\nbody\n"


def test_what_was_judged_comes_back(box, to):
    """Its ticket is gone; the service for the filter asks no milter."""
    message_id, data = message(to)
    by_smtp(box, message_id, "hello@example.com", [to], data, port=box.back)
    assert data in box.sink.find(to=to).raw + b"\n"


def test_without_that_it_is_judged_again(box, to):
    message_id, data = message(to)
    submitted = by_smtp(box, message_id, "hello@example.com", [to], data)
    assert submitted.reply[0] == 550
    assert submitted.verdict()["client"] == "127.0.0.1"


FIRST = {"smtp": "postern/unix", "sendmail": "pickup/unix"}


@pytest.mark.submission
def test_a_filter_that_gets_the_ticket(own_box, email, to):
    """Where the milter is not asked in front of the filter, but behind it: a ticket counts
    on the way by which its email was submitted, and no other one delivers it."""
    box = own_box("--set", "submission.record_wait=1s", "--set", "submission.probe_interval=0")
    back = box.add_smtpd(
        "content_filter=", "smtpd_reject_unlisted_recipient=no",
        "smtpd_relay_restrictions=check_recipient_access static:OK, reject",
    )  # fmt: skip
    said, taken = [], []

    def give_back(recipients, send):
        assert all(r.endswith("@postern.invalid") for r in recipients)
        taken.append((recipients[0], send.message.replace(b"\r\n", b"\n")))
        said.append(send(*recipients))
        return "2.0.0 Ok, and thrown away"

    def with_first(**options):
        subprocess.run(
            ["postconf", "-c", box.env["POSTFIX_CONFIG"], "-P",
             *(f"{FIRST[METHOD]}/{name}={value}" for name, value in options.items())],
            check=True, timeout=60,
        )  # fmt: skip
        box.restart("postfix")

    filter_ = SmtpFilter(back, give_back)
    with_first(receive_override_options="no_milters",
               content_filter=f"smtp:[127.0.0.1]:{filter_.port}")
    email_id = box.httpd().send(email)
    wait_for("the filter", lambda: said)
    assert "may use tickets" in said[0]
    wait_for("its end", lambda: box.httpd().read(email_id)["last_event"] == "failed")
    assert "without asking postern-milter" in str(box.cli("email", "show", email_id))
    # By sendmail(1), as a filter behind pipe(8) does: with the ticket, or, by sendmail -t, to the
    # addresses of the header.
    ticket, data = next(t for t in taken if email_id.encode() in t[1])
    if METHOD == "smtp":
        for address, reason in ((ticket, "ticket_other_way"), (to, "ticket_lost")):
            by_nobody(box, email_id, "hello@example.com", [address], data)
            wait_for("the verdict", lambda: f"reason={reason}" in box.log("milter"))  # noqa: B023
        assert box.httpd().read(email_id)["last_event"] == "failed"
        assert not box.sink.all()
    else:
        # To another Postfix, or, as here, to this one once the filter is out of the way: now the
        # milter is asked. What was said of the message that the filter got holds no longer.
        assert not box.sink.all()
        with_first(receive_override_options="", content_filter="")
        by_nobody(box, email_id, "hello@example.com", [ticket], data)
        assert box.sink.find(to=to).recipients == [to]
        wait_for("the log", lambda: box.httpd().read(email_id)["last_event"] == "delivered")
    filter_.close()
