"""Many emails at once."""

import threading

import pytest
from harness.sandbox import SANITIZED, unique

pytestmark = pytest.mark.plain

EMAILS = 200 if SANITIZED else 400
CONNECTIONS = 16


def test_many_emails_over_16_connections(own_box):
    """Each is answered with 200, found by GET at once, delivered once."""
    box = own_box("--set", "submission.record_wait=2m")
    run = unique("run")
    numbers = iter(range(EMAILS))
    sent, wrong = {}, []

    def client():
        httpd = box.httpd()
        for n in numbers:
            to = f"{run}-{n}@dst.test"
            answer = httpd.post(
                {
                    "from": "Acme <hello@example.com>",
                    "to": to,
                    "subject": f"Number {n}",
                    "html": f"<p>Number <b>{n}</b></p>",
                }
            )
            if answer.status_code != 200:
                wrong.append(answer.text)
                continue
            email_id = answer.json()["id"]
            seen = httpd.get(email_id)
            if seen.status_code != 200 or seen.json()["to"] != [to]:
                wrong.append(seen.text)
            sent[to] = email_id

    clients = [threading.Thread(target=client) for _ in range(CONNECTIONS)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()

    assert wrong == []
    assert len(sent) == len(set(sent.values())) == EMAILS
    for to in sent:
        box.sink.find(to=to)
    assert len(box.sink.all()) == EMAILS
