"""A content filter that gets mail from Postfix and gives it back over SMTP."""

import socket

import pytest
from harness import Sandbox, wait_for
from harness.submit import by_smtp
from harness.sandbox import unique


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def listens(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def box(request):
    """With a second smtpd, for what a filter gives back."""
    with Sandbox() as sandbox:
        sandbox.back = free_port()
        with (sandbox.dir / "postfix/master.cf").open("a") as file:
            file.write(
                f"127.0.0.1:{sandbox.back} inet n - y - - smtpd\n"
                "  -o receive_override_options=no_milters\n"
            )
        sandbox.reload_postfix()
        wait_for("the second smtpd", lambda: listens(sandbox.back))
        yield sandbox
        sandbox.failed = request.session.testsfailed > 0


def message(to):
    message_id = f"<{unique()}@example.com>"
    fields = f"From: hello@example.com\nTo: {to}\nMessage-ID: {message_id}\n"
    return message_id, fields.encode() + b"Date: Sat, 21 Nov 2026 12:00:00 +0000\n\nbody\n"


def test_what_was_judged_comes_back(box, to):
    """Its ticket is gone; the service of the filter asks no milter."""
    message_id, data = message(to)
    by_smtp(box, message_id, "hello@example.com", [to], data, port=box.back)
    assert data in box.sink.find(to=to).raw + b"\n"


def test_without_that_it_is_judged_again(box, to):
    message_id, data = message(to)
    submitted = by_smtp(box, message_id, "hello@example.com", [to], data)
    assert submitted.reply[0] == 550
    assert submitted.verdict()["client"] == "127.0.0.1"
