"""The form dialect: h:, v: and o:, done or refused, never swallowed."""

import email.utils
import json
import re
import time

import pytest
from harness.form import ENCODINGS, check_refused, in_turn, queued_id
from harness.sandbox import unique

both = pytest.mark.parametrize("encode", ENCODINGS, ids=lambda e: e.__name__)

HEADERS = {
    "X-My-Header": "some value",
    "x-lower": "a=b&c; d",
    "X-Unicode": "Grüße 👋",
    "X-Long": "word " * 400 + "end",
    "Sender": "hello@example.com",
    "List-Unsubscribe": "<https://example.com/u?a=%20>, <mailto:u@example.com>",
    "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    "List-Id": "News <news.example.com>",
    "Auto-Submitted": "auto-generated",
    "Precedence": "bulk",
    "In-Reply-To": "<a@example.net>",
    "References": "<a@example.net> <b@example.net>",
    "X-Priority": "1",
    "Feedback-ID": "a:b:c:d",
    "Date": "Fri, 20 Nov 2026 10:00:00 +0100",
}


@in_turn("name", HEADERS, encode=ENCODINGS)
def test_header(form, fields, name, encode):
    mail = form.deliver({**fields, f"h:{name}": HEADERS[name]}, encode)
    assert mail.header(name) == HEADERS[name]


def test_many_headers(form, fields):
    given = {f"X-{n}": f"value {n}" for n in range(50)}
    mail = form.deliver({**fields, **{f"h:{n}": v for n, v in given.items()}})
    assert {name: mail.header(name) for name in given} == given


@both
@pytest.mark.parametrize("name", ["h:Reply-To", "h:reply-to", "h:REPLY-TO"])
def test_reply_to(form, fields, name, encode):
    value = 'Help <help@example.net>, "B, C" <sales@example.net>'
    message_id = form.send({**fields, name: value}, encode)
    mail = form.box.sink.find(message_id=message_id)
    assert mail.addresses("Reply-To") == [
        ("Help", "help@example.net"),
        ("B, C", "sales@example.net"),
    ]
    assert form.read(message_id)["reply_to"] == [
        "Help <help@example.net>",
        "B, C <sales@example.net>",
    ]


def test_reply_to_that_is_no_address(form, fields):
    answer = form.post({**fields, "h:Reply-To": "nobody"})
    check_refused(answer, 400, re.compile("h:Reply-To .*not a valid address.*"))


STRUCTURAL = {
    "Content-Type": "text/evil",
    "content-type": "text/evil",
    "Content-Transfer-Encoding": "base64",
    "Content-Disposition": "attachment; filename=evil",
    "Content-ID": "<evil@example.com>",
    "Content-Language": "evil",
    "MIME-Version": "2.0",
    "Bcc": "evil@dst.test",
    "BCC": "evil@dst.test",
    "Resent-Bcc": "evil@dst.test",
    "Received": "from evil.test by evil.test; Fri, 20 Nov 2026 10:00:00 +0100",
    "Return-Path": "<evil@dst.test>",
    "DKIM-Signature": "v=1; d=evil.test",
    "From": "evil@dst.test",
    "from": "evil@dst.test",
    "To": "evil@dst.test",
    "Cc": "evil@dst.test",
    "Subject": "evil",
    "X-Postern-Ticket": "evil",
    "x-postern-other": "evil",
}


@in_turn("name", STRUCTURAL, encode=ENCODINGS)
def test_structural_header_is_dropped(form, fields, to, name, encode):
    mail = form.deliver({**fields, f"h:{name}": STRUCTURAL[name]}, encode)
    assert mail.recipients == [to]
    assert mail.sender == "hello@example.com"
    assert b"evil" not in mail.raw
    assert mail.addresses("From") == [("", "hello@example.com")]
    assert mail.addresses("To") == [("", to)]
    assert mail.body("plain") == "Hello\n"
    assert mail.header("MIME-Version") == "1.0"
    assert len(mail.message.get_all("Content-Type")) == 1


@pytest.mark.parametrize("brackets", [True, False], ids=["brackets", "bare"])
@in_turn("name", ["h:Message-Id", "h:Message-ID", "h:message-id"], encode=ENCODINGS)
def test_message_id(form, fields, name, brackets, encode):
    """It is the id of the answer, of the message and of the record."""
    wanted = f"<{unique('own')}@mail.example.net>"
    value = wanted if brackets else wanted[1:-1]
    assert form.send({**fields, name: value}, encode) == wanted
    mail = form.box.sink.find(message_id=wanted)
    assert mail.recipients == [fields["to"]]
    (row,) = form.stored(wanted)
    seen = form.httpd.read(row["id"])
    assert seen["message_id"] == wanted
    assert seen["to"] == [fields["to"]]
    assert form.box.cli("email", "show", wanted)["id"] == row["id"]


NO_MESSAGE_IDS = [
    "nonsense",
    "",
    "<>",
    "<a b@x.test>",
    "<a@x.test> <b@x.test>",
    "<a@x.test><b@x.test>",
    "<a@x.test",
    "<ü-id@x.test>",
    "<id@ü.test>",
    "<a\t@x.test>",
    f"<{'a' * 3000}@x.test>",
    f"<{'a ' * 1500}\t><@x.test>",
    "<a..b@x.test>",
    "<%recipient.message_id%>",
    "<%unsubscribe_url%@x.test>",
]


@pytest.mark.parametrize("value", NO_MESSAGE_IDS)
def test_message_id_that_is_none(form, fields, value):
    answer = form.post({**fields, "h:Message-Id": value})
    check_refused(answer, 400, "h:Message-Id parameter is not a valid message id")


def metadata(form, message_id):
    (row,) = form.stored(message_id)
    return json.loads(row["variables"])


@both
def test_variables_are_stored(form, fields, encode):
    message_id = form.send(
        {
            **fields,
            "v:id": "123",
            "v:name": "Grüße 👋",
            "v:json": '{"a": [1, 2]}',
            "v:empty": "",
            "v:With-Case": "x\ny",
        },
        encode,
    )
    found = metadata(form, message_id)
    assert found["id"] in ("123", 123)
    assert found["name"] == "Grüße 👋"
    assert found["json"] in ('{"a": [1, 2]}', {"a": [1, 2]})
    assert found["empty"] == ""
    assert found["With-Case"] == "x\ny"
    assert len(found) == 5


@both
@pytest.mark.parametrize("name", ["h:X-Mailgun-Variables", "h:x-mailgun-variables"])
def test_variables_as_a_header_are_stored(form, fields, name, encode):
    given = {"a": "ü", "b": 2, "c": {"d": [True, None]}}
    fields.update({name: json.dumps(given), "v:e": "f"})
    message_id = form.send(fields, encode)
    assert metadata(form, message_id) == {**given, "e": "f"}


@pytest.mark.parametrize("value", ["nonsense", "[1]", "1", "{"])
def test_variables_that_are_none(form, fields, value):
    answer = form.post({**fields, "h:X-Mailgun-Variables": value})
    check_refused(answer, 400, re.compile("h:X-Mailgun-Variables .*JSON"))


@both
def test_tags_are_stored(form, fields, encode):
    fields.update({"o:tag": ["news", "Grüße 👋", "a b"]})
    seen = form.read(form.send(fields, encode))
    assert [tag["value"] for tag in seen["tags"]] == fields["o:tag"]


ACCEPTED = {
    "o:dkim": "yes",
    "o:tracking": "no",
    "o:tracking-clicks": "htmlonly",
    "o:tracking-opens": "yes",
    "o:tracking-pixel-location-top": "yes",
    "o:skip-verification": "yes",
    "o:sending-ip": "192.0.2.1",
    "o:sending-ip-pool": "pool",
    "o:secondary-dkim": "example.com/s1",
    "o:suppress-headers": "all",
    "o:require-tls": ["no", "false", "False"],
    "o:testmode": ["no", "false"],
    "o:campaign": "x",
    "o:unheard-of": "x",
}


@in_turn("name", ACCEPTED, encode=ENCODINGS)
def test_accepted_option(form, fields, name, encode):
    """The email goes out, and nothing of the option stands in it."""
    values = ACCEPTED[name]
    for value in values if isinstance(values, list) else [values]:
        mail = form.deliver({**fields, name: value}, encode)
        assert mail.recipients == [fields["to"]]
        assert name.removeprefix("o:").encode() not in mail.raw.lower()


@in_turn("value", ["yes", "Yes", "YES", "true", "True", "TRUE"], encode=ENCODINGS)
def test_testmode(form, fields, to, value, encode):
    """Recorded and found by GET, and given to Postfix for nobody."""
    cc, bcc = unique("cc") + "@dst.test", unique("bcc") + "@dst.test"
    fields.update({"cc": cc, "bcc": bcc, "o:testmode": value})
    message_id = form.send(fields, encode)
    seen = form.read(message_id)
    assert (seen["to"], seen["cc"], seen["bcc"]) == ([to], [cc], [bcc])
    assert seen["last_event"] == "sent"
    assert seen["message_id"] == message_id
    (row,) = form.stored(message_id)
    assert not row["queue_id"]

    later = unique("later") + "@dst.test"
    form.deliver({"from": "hello@example.com", "to": later, "text": "x"})
    for address in (to, cc, bcc):
        assert not form.box.sink.now(to=address)
        assert address not in form.box.log("postfix")
    assert message_id not in form.box.log("postfix")


def test_testmode_follows_the_rules(form, fields):
    fields.update({"o:testmode": "yes", "from": "a@other.test"})
    assert form.post(fields).status == 400
    fields.update({"from": "hello@example.com", "text": ""})
    assert form.post(fields).status == 400


SOON = time.time() + 3600

REFUSED = {
    "time too late": {"o:deliverytime": email.utils.formatdate(SOON + 31 * 86400)},
    "Unix time too late": {"o:deliverytime": str(int(SOON + 31 * 86400))},
    "time optimized": {"o:deliverytime-optimize-period": "24h"},
    "time of zones": {"o:time-zone-localize": "02:00pm"},
    "template": {"template": "welcome"},
    "template of no text": {"template": "welcome", "text": []},
    "template version": {"t:version": "2"},
    "template text": {"t:text": "yes"},
    "template variables": {"t:variables": "{}"},
    "template alone": {"template": "welcome", "text": [], "html": ""},
    "template variables alone": {"t:variables": "{}", "text": []},
    "TLS yes": {"o:require-tls": "yes"},
    "TLS true": {"o:require-tls": "True"},
}


@in_turn("case", REFUSED, encode=ENCODINGS)
def test_refused_option(form, fields, to, case, encode):
    """By its name, so that nobody waits for what never comes."""
    answer = form.post({**fields, **REFUSED[case]}, encode)
    assert answer.status == 400, answer.body
    (message,) = answer.json().values()
    name = next(iter(REFUSED[case]))
    assert name in message
    if name not in ("o:require-tls", "o:deliverytime"):
        assert "not supported yet" in message
    assert not form.box.sink.now(to=to)


def test_delivery_time_that_is_none(form, fields):
    answer = form.post({**fields, "o:deliverytime": "soon"})
    check_refused(answer, 400, re.compile("o:deliverytime .*"))


@both
@pytest.mark.parametrize(
    "value",
    [email.utils.formatdate(SOON - 7200), "Fri, 25 Oct 2011 23:10:10 -0000", "1"],
    ids=["an hour ago", "2011", "1970"],
)
def test_delivery_time_that_is_over(form, fields, value, encode):
    """Means now."""
    form.deliver({**fields, "o:deliverytime": value}, encode)


@both
def test_repeated_option(form, fields, to, encode):
    """The one that changes something is not overlooked."""
    fields["o:require-tls"] = ["no", "yes"]
    assert form.post(fields, encode).status == 400
    fields["o:require-tls"] = ["yes", "no"]
    assert form.post(fields, encode).status == 400
    del fields["o:require-tls"]
    queued_id(form.post(fields, encode))
