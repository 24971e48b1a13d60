"""Unicode, wherever an email can have it."""

import pytest
from harness import wait_for
from harness.sandbox import unique

WORDS = [
    "Grüße aus Zürich",
    "你好，世界",
    "Привет, мир",
    "مرحبا بالعالم",
    "שלום",
    "👋🏽 👨‍👩‍👧‍👦",
    "e\u0301 ohne Komposition",
    "ａｂｃ",
    "\U0001f600" * 60,
    "ß" * 300,
]


@pytest.mark.parametrize("word", WORDS)
def test_subject_and_bodies(box, httpd, email, to, word):
    html = f"<p>{word}</p>"
    email_id = httpd.send({**email, "subject": word, "html": html, "text": word})
    mail = box.sink.find(to=to)
    assert mail.header("Subject") == word
    assert mail.body("plain").rstrip("\n") == word
    assert mail.body("html").rstrip("\n") == html
    assert mail.raw.split(b"\n\n", 1)[0].isascii()
    seen = httpd.read(email_id)
    assert (seen["subject"], seen["html"], seen["text"]) == (word, html, word)


@pytest.mark.parametrize("word", WORDS[:8])
def test_display_names(box, httpd, email, to, word):
    email_id = httpd.send(
        {
            **email,
            "from": f"{word} <hello@example.com>",
            "to": f"{word} <{to}>",
            "cc": f"{word} <c{to}>",
            "reply_to": f"{word} <help@example.net>",
        }
    )
    mail = box.sink.find(to=to)
    assert mail.addresses("From") == [(word, "hello@example.com")]
    assert mail.addresses("To") == [(word, to)]
    assert mail.addresses("Cc") == [(word, f"c{to}")]
    assert mail.addresses("Reply-To") == [(word, "help@example.net")]
    assert mail.raw.split(b"\n\n", 1)[0].isascii()
    seen = httpd.read(email_id)
    assert seen["from"] == f"{word} <hello@example.com>"
    assert seen["reply_to"] == [f"{word} <help@example.net>"]
    assert (seen["to"], seen["cc"]) == ([to], [f"c{to}"])


def test_text_is_derived_in_unicode(box, httpd, email, to):
    del email["text"]
    email_id = httpd.send({**email, "html": "<p>Gr&uuml;&szlig;e &#128075; 你好</p>"})
    assert box.sink.find(to=to).body("plain").strip() == "Grüße 👋 你好"
    assert httpd.read(email_id)["text"].strip() == "Grüße 👋 你好"


@pytest.mark.submission
def test_recipient_domain_becomes_a_labels(box, httpd, email):
    local = unique("to")
    email_id = httpd.send({**email, "to": f"{local}@Bücher.test"})
    mail = box.sink.find(to=f"{local}@xn--bcher-kva.test")
    assert mail.addresses("To") == [("", f"{local}@xn--bcher-kva.test")]
    assert httpd.read(email_id)["to"] == [f"{local}@xn--bcher-kva.test"]


@pytest.mark.submission
def test_a_labels_that_idna_refuses(box, to):
    """Names with symbols are in DNS, below some top-level domains, and stay as they are."""
    company = box.company()
    name = unique("xn--n3h") + ".xn--n3h.example"
    box.domain(company, name=name)
    httpd = box.httpd(box.new_key(company)["token"])
    there = f"{unique('to')}@xn--n3h.test"
    email_id = httpd.send({"from": f"hello@{name}", "to": [to, there], "text": "x"})
    assert box.sink.find(to=there).sender == f"hello@{name}"
    assert httpd.read(email_id)["to"] == [to, there]
    assert httpd.read(email_id)["from"] == f"hello@{name}"


@pytest.mark.submission
def test_sending_domain_becomes_a_labels(box, email, to):
    company = box.company()
    name = unique("Bücher") + ".example"
    box.domain(company, name=name)
    httpd = box.httpd(box.new_key(company)["token"])
    email_id = httpd.send({**email, "from": f"Bücher <hello@{name}>"})
    mail = box.sink.find(to=to)
    a_label = name.lower().encode("idna").decode()
    assert mail.sender == f"hello@{a_label}"
    assert mail.addresses("From") == [("Bücher", f"hello@{a_label}")]
    assert httpd.read(email_id)["from"] == f"Bücher <hello@{a_label}>"


@pytest.mark.submission
def test_local_part_of_recipient(box, httpd, email):
    to = unique("jürgen") + "@utf8.test"
    email_id = httpd.send({**email, "to": f"Jürgen <{to}>", "subject": "Grüße"})
    mail = box.sink.find(to=to)
    assert to.encode() in mail.raw_header("To")
    assert mail.header("Subject") == "Grüße"
    assert httpd.read(email_id)["to"] == [to]


@pytest.mark.submission
def test_local_part_of_sender(box, httpd, email):
    to = unique("to") + "@utf8.test"
    email_id = httpd.send({**email, "from": "Jürgen <jürgen@example.com>", "to": to})
    mail = box.sink.find(to=to)
    assert mail.sender == "jürgen@example.com"
    assert "jürgen@example.com".encode() in mail.raw_header("From")
    assert httpd.read(email_id)["from"] == "Jürgen <jürgen@example.com>"


@pytest.mark.parametrize(
    "name", ["Rechnung März.pdf", "发票.pdf", "счёт " * 20 + ".txt", "👋.bin"]
)
def test_attachment_names(box, httpd, email, to, name):
    httpd.send({**email, "attachments": [{"filename": name, "content": "aGk="}]})
    found = box.sink.find(to=to).attachments()
    assert [(f[0], f[3]) for f in found] == [(name, b"hi")]


def test_escapes_in_json(box, httpd, to):
    body = (
        '{"from":"hello@example.com","to":"%s","subject":"\\u00fc \\ud83d\\udc4b",'
        '"text":"\\u4f60"}' % to
    )
    answer = httpd.request(
        "POST",
        "/emails",
        data=body,
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code == 200, answer.text
    assert box.sink.find(to=to).header("Subject") == "ü 👋"


@pytest.mark.submission
def test_recipients_in_another_letter_case(box, httpd, email):
    """Postfix delivers once to those, whatever their script, so they are one: none
    is left that seems to wait."""
    word = unique()
    to = [f"{local}-{word}@utf8.test" for local in ("Größe", "GRÖSSE", "grösse", "grosse")]
    email_id = httpd.send(dict(email, to=to[:1], cc=to[1:2], bcc=to[2:]))
    seen = wait_for(
        "all to be delivered",
        lambda: (found := httpd.read(email_id))["last_event"] == "delivered" and found,
    )
    assert [r["address"] for r in seen["recipients"]] == [to[0], to[3]]
    assert [seen[f] for f in ("to", "cc", "bcc")] == [to[:1], to[1:2], to[2:]]
    mail = box.sink.find(message_id=seen["message_id"])
    assert sorted(mail.recipients) == sorted([to[0], to[3]])
