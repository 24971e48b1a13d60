"""Everything at once, from many clients: for the thread sanitizer, which finds
what one after the other cannot show (see .ci/run)."""

import smtplib
import threading

import pytest
from harness.sandbox import BUILD, unique

pytestmark = pytest.mark.submission("smtp")

CLIENTS = 64
TIMES = 8 if "thread" in BUILD else 2
WORKERS = "4"


def send_and_read(box, email):
    httpd = box.httpd()
    for _ in range(TIMES):
        httpd.read(httpd.send({**email, "to": unique("to") + "@dst.test"}))


def send_past_httpd(box, _):
    host, _, port = box.env["POSTFIX_SMTP"].rpartition(":")
    with smtplib.SMTP(host, int(port), timeout=120) as smtp:
        for n in range(TIMES):
            sender = "ann@plain.test" if n % 2 else "hello@example.com"
            try:
                smtp.sendmail(
                    sender, "to@dst.test", f"From: {sender}\r\n\r\ntext\r\n"
                )
            except smtplib.SMTPDataError as refusal:
                assert sender == "hello@example.com", refusal


def test_64_clients_of_each_kind(own_box, email):
    """As many send and read over HTTP as come by SMTP, while settings
    are read anew."""
    box = own_box(
        "--set", f"http.workers={WORKERS}", "--set", "submission.record_wait=2m"
    )
    failed = []

    def client(work):
        try:
            work(box, email)
        except BaseException as error:
            failed.append(error)
            raise

    clients = [
        threading.Thread(target=client, args=(work,))
        for _ in range(CLIENTS)
        for work in (send_and_read, send_past_httpd)
    ]
    for thread in clients:
        thread.start()
    for part in ("httpd", "milter"):
        box.kill(part, 1)
    for thread in clients:
        thread.join()
    assert failed == []
