"""What strangers and clients say stands in the log as one quoted value: it ends no line, begins no
field, and moves no terminal."""

import re
import smtplib

import pytest
from harness import wait_for
from harness.sandbox import unique
from harness.submit import by_sendmail

QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
# What a terminal obeys: C0 but for the end of a line, DEL, and C1 as UTF-8 has it; and what ends
# lines for some.
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]")


@pytest.fixture
def mark():
    return unique("forged")


@pytest.fixture
def words(mark):
    return f'x" event={mark} \\" event={mark} queue_id={mark} \x9b31m\x85event={mark}\u2028event={mark}'


def lines(box, part, mark):
    return [line for line in box.log(part).split("\n") if mark in line]


def check(box, part, mark):
    """Some lines contain the text, and none has it outside of a quoted value."""
    found = wait_for(f"the words in the log of {part}", lambda: lines(box, part, mark))
    for line in found:
        assert mark not in QUOTED.sub('""', line), line
        assert not CONTROL.search(line), line.encode()


def test_of_httpd(box, httpd, words, mark, to):
    assert "control characters" in httpd.post({"from": "hello@example.com", "to": to, "text": "x",
                                               "subject": words}).text
    httpd.send({"from": "hello@example.com", "to": f"{mark} <{to}>", "subject": mark, "text": words, "tags": [{"name": "a", "value": mark}]})
    latin = words.encode("ascii", "ignore").decode()
    for options in (
        {"headers": {"User-Agent": latin, "X-Request-Id": latin, "X-Forwarded-For": latin}},
        {"params": {"after": words}}, {"headers": {"Idempotency-Key": latin}},
    ):
        httpd.session.get(f"{httpd.url}/emails", timeout=60, **options)
    for line in lines(box, "httpd", mark):
        assert mark not in QUOTED.sub('""', line), line
        assert not CONTROL.search(line), line.encode()


def test_of_the_milter(box, words, mark, to):
    """The log names the senders of what is refused."""
    message_id = f"<{unique()}@made.test>"
    author = f'"\x9b31m {mark}\\" event={mark}\u2028 queue_id={mark}" <hello@example.com>'
    data = f"From: {author}\nTo: {to}\nSubject: {words}\nMessage-ID: {message_id}\n\nx\n"
    sender = f'"a event={mark} queue_id={mark}"@example.com'
    assert by_sendmail(box, message_id, sender, [to], data.encode()).verdict()["action"] == "refuse"
    check(box, "milter", mark)


def test_of_a_client(box, mark, to):
    host, port = box.env["POSTFIX_SMTP"].split(":")
    with smtplib.SMTP(host, int(port), timeout=60) as session:
        session.docmd("EHLO", f"event={mark}")
        session.docmd("MAIL", f'FROM:<"event={mark} queue_id={mark}"@example.com>')
        session.docmd("RCPT", f"TO:<{to}>")
        code, _ = session.data(f"From: hello@example.com\r\nMessage-ID: <{unique()}@x.test>\r\n\r\nx")
    assert code == 550
    check(box, "milter", mark)
