"""Mail that claims a sending domain without a key, and mail that only looks so.

Each row of the tables goes in by sendmail(1), where Postfix rewrites the header
before the milter sees it, and by SMTP, where this sandbox leaves it as it came.
"""

from base64 import b64encode

import pytest
from harness import Sandbox
from harness.sandbox import unique
from harness.submit import WAYS
from test_smtp_auth import login

# Headers come to the milter as they are, and mail from elsewhere is relayed.
POSTFIX = (
    "--postconf", "local_header_rewrite_clients=",
    "--postconf", "smtpd_relay_restrictions=permit_mynetworks, reject_unauth_destination",
    "--postconf", "relay_domains=dst.test",
    "--postconf", "relay_transport=$default_transport",
    # cleanup(8) waits for a second once more messages have come than qmgr(8) has taken up, which
    # never takes up what is refused.
    "--postconf", "in_flow_delay=0",
)



def named(name):
    """A From field of somebody else with this display name, encoded."""
    return b"From: =?utf-8?b?" + b64encode(name.encode()) + b"?= <a@other.test>\n"


# name: (envelope sender, header fields)
FORGERIES = {
    "plain": ("a@other.test", b"From: boss@example.com\n"),
    "display name": ("a@other.test", b"From: Boss <boss@example.com>\n"),
    "letter case": ("a@other.test", b"FROM: Boss <boss@EXAMPLE.Com>\n"),
    "envelope": ("boss@example.com", b"From: a@other.test\n"),
    "envelope with percent": ("boss%example.com", b"From: a@other.test\n"),
    "envelope with bang": ("example.com!boss", b"From: a@other.test\n"),
    "envelope in quotes": ('"boss@example.com"', b"From: a@other.test\n"),
    "envelope with a dot": ("boss@example.com.", b"From: a@other.test\n"),
    "null sender": ("", b"From: boss@example.com\n"),
    "null sender as daemon": ("", b"From: MAILER-DAEMON@example.com (Mail System)\n"),
    "two fields": ("a@other.test", b"From: a@other.test\nFrom: boss@example.com\n"),
    "two fields, ours first": ("a@other.test", b"From: boss@example.com\nFrom: a@other.test\n"),
    "blank before the colon": ("a@other.test", b"X: y\nFrom : boss@example.com\n"),
    "tab before the colon": ("a@other.test", b"From: a@other.test\nFrom\t: boss@example.com\n"),
    "two mailboxes": ("a@other.test", b"From: a@other.test, boss@example.com\n"),
    "group": ("a@other.test", b"From: us: boss@example.com, a@other.test;\n"),
    "semicolon": ("a@other.test", b"From: a@other.test; boss@example.com\n"),
    "two in angles": ("a@other.test", b"From: <a@other.test> <boss@example.com>\n"),
    "source route": ("a@other.test", b"From: <@other.test:boss@example.com>\n"),
    "percent": ("a@other.test", b"From: boss%example.com\n"),
    "bang": ("a@other.test", b"From: example.com!boss\n"),
    "quoted": ("a@other.test", b'From: "boss@example.com"\n'),
    "quoted local part": ("a@other.test", b'From: "boss@example.com"@other.test\n'),
    "trailing dot": ("a@other.test", b"From: boss@example.com.\n"),
    "comment before": ("a@other.test", b"From: boss@(x)example.com\n"),
    "comment inside": ("a@other.test", b"From: boss@example(x(y)).com\n"),
    "comment as name": ("a@other.test", b"From: a@other.test (boss@example.com)\n"),
    "open comment": ("a@other.test", b"From: (boss@example.com\n"),
    "only a comment": ("a@other.test", b"From: (boss@example.com)\n"),
    "open quote": ("a@other.test", b'From: "boss@example.com\n'),
    "open angle": ("a@other.test", b"From: <boss@example.com\n"),
    "fold before": ("a@other.test", b"From:\n boss@example.com\n"),
    "fold at the @": ("a@other.test", b"From: boss\n @example.com\n"),
    "fold at the dot": ("a@other.test", b"From: boss@example\n\t.com\n"),
    "blanks": ("a@other.test", b"From: boss @ example . com\n"),
    "control character": ("a@other.test", b"From: boss@\x01example.com\n"),
    "DEL inside": ("a@other.test", b"From: boss@exam\x7fple.com\n"),
    "backslash": ("a@other.test", b"From: boss@\\example.com\n"),
    "backslash inside": ("a@other.test", b"From: boss@example\\.com\n"),
    "no-break space": ("a@other.test", b"From: boss@\xc2\xa0example.com\n"),
    "zero width": ("a@other.test", b"From: boss@exam\xe2\x80\x8bple.com\n"),
    "full-width letters": ("a@other.test", "From: boss@ｅｘａｍｐｌｅ.com\n".encode()),
    "full-width at sign": ("a@other.test", "From: boss＠example.com Chief <a@other.test>\n".encode()),
    "full-width at sign in quotes": ("a@other.test", 'From: "boss＠example.com" a@other.test\n'.encode()),
    "full-width at sign in the local part": (
        "a@other.test", 'From: "boss＠example.com"@other.test\n'.encode()
    ),
    "small at sign": ("a@other.test", named("boss\ufe6bexample.com, Chief")),
    "filler and a title": ("a@other.test", named("boss@\u3164example.com Chief")),
    "ideographic dot": ("a@other.test", "From: boss@example。com\n".encode()),
    "8 bits": ("a@other.test", b"From: B\xf6ss <boss@example.com>\n"),
    "bare CR": ("a@other.test", b"From: a@other.test\rFrom: boss@example.com\n"),
    "encoded word": ("a@other.test", b"From: =?utf-8?q?boss=40example.com?=\n"),
    "encoded name": ("a@other.test", b"From: =?utf-8?b?Ym9zc0BleGFtcGxlLmNvbQ==?= <a@other.test>\n"),
    "encoded twice": (
        "a@other.test",
        b"From: =?utf-8?q?=3D=3Futf-8=3Fb=3FYm9zc0BleGFtcGxlLmNvbQ=3D=3D=3F=3D?= <a@other.test>\n",
    ),
    "quoted name": ("a@other.test", b'From: "boss@example.com" <a@other.test>\n'),
    "bare name": ("a@other.test", b"From: boss@example.com <a@other.test>\n"),
    "unknown charset": ("a@other.test", b"From: =?x-sjis?q?boss=40example.com?= <a@other.test>\n"),
    "unknown charset alone": ("a@other.test", b"From: =?ks_c_5601-1987?q?boss=40example.com?=\n"),
    "unknown charset in angles": ("a@other.test", b"From: <=?x-gbk?q?boss=40example.com?=>\n"),
    "unknown charset of a group": ("a@other.test", b"From: =?dos-874?q?boss=40example.com?=:;\n"),
    "unknown charset in part": ("a@other.test", b"From: boss=?x-sjis?q?=40?=example.com <a@other.test>\n"),
    "unknown charset in a comment": (
        "a@other.test", b"From: a@other.test (=?x-unknown?b?Ym9zc0BleGFtcGxlLmNvbQ==?=)\n"
    ),
    "unknown charset in Sender": (
        "a@other.test",
        b"From: a@other.test\nSender: =?iso-8859-8-i?q?boss=40example.com?= <a@other.test>\n",
    ),
    "cut base64": (
        "a@other.test",
        b"From: =?utf-8?b?Ym9zc0BleG?= =?utf-8?b?FtcGxlLmNvbQ==?= <a@other.test>\n",
    ),
    "padding in base64": (
        "a@other.test", b"From: =?utf-8?b?Ym9zc0B=leGFtcGxlLmNvbQ==?= <a@other.test>\n"
    ),
    "question mark in base64": (
        "a@other.test", b"From: =?utf-8?b?Ym9zc0B?leGFtcGxlLmNvbQ==?= <a@other.test>\n"
    ),
    "question mark in a word": (
        "a@other.test", b"From: =?utf-8?q?boss=40example.com??= <a@other.test>\n"
    ),
    "word beside text": ("a@other.test", b"From: =?utf-8?q?boss=40example.com?=Chief <a@other.test>\n"),
    "escaped word": ("a@other.test", b'From: "=\\?x-gbk?q?boss=40example.com?=" <a@other.test>\n'),
    "UTF-16 the other way round": (
        "a@other.test",
        b"From: =?utf-16?b?" + b64encode("boss@example.com".encode("utf-16-be")) + b"?= <a@other.test>\n",
    ),
    "UTF-7 by another name": (
        "a@other.test", b"From: =?unicode-1-1-utf-7?q?boss+AEA-example.com?= <a@other.test>\n"
    ),
    "EBCDIC by another name": (
        "a@other.test",
        b"From: =?ibm01140?b?" + b64encode("boss@example.com".encode("cp1140")) + b"?= <a@other.test>\n",
    ),
    "charset that few know": ("a@other.test", b"From: =?iso646-fr?q?boss=40example.com?= <a@other.test>\n"),
    "Japanese escapes": ("a@other.test", b'From: "boss\x1b$B!w\x1b(Bexample.com" <a@other.test>\n'),
    "wrong byte in a word": ("a@other.test", b"From: =?utf-8?q?boss=40=FFexample.com?= <a@other.test>\n"),
    "control character of Latin-1": (
        "a@other.test", b"From: =?iso-8859-1?q?boss=40exam=85ple.com?= <a@other.test>\n"
    ),
    "override": ("a@other.test", named("\u202emoc.elpmaxe@ssob")),
    "override in part": ("a@other.test", named("boss@\u202emoc.elpmaxe\u202c")),
    "isolate": ("a@other.test", named("\u2067moc.elpmaxe@ssob\u2069")),
    "Hangul filler": ("a@other.test", named("boss@\u3164example.com")),
    "Khmer vowel": ("a@other.test", named("boss@exam\u17b4ple.com")),
    "Braille blank": ("a@other.test", named("boss@\u2800example.com")),
    "dot leader": ("a@other.test", named("boss@example\u2024com")),
    "via nothing": ("a@other.test", named("boss@example.com via \u3164")),
    "via behind blanks": ("a@other.test", named("boss@example.com" + "\u00a0" * 40 + " via x")),
    "via behind a title": ("a@other.test", named("boss@example.com\u2014Chief via x")),
    "via behind angles": ("a@other.test", b'From: "<boss@example.com> via x" <a@other.test>\n'),
    "behind a long list": (
        "a@other.test", b"From: " + b"a@other.test,\n " * 1000 + b"boss@example.com\n"
    ),
    "behind a long field": (
        "a@other.test", b"X: " + b"y" * 110000 + b"\nFrom: boss@example.com\n"
    ),
    "Sender": ("a@other.test", b"From: a@other.test\nSender: boss@example.com\n"),
    "Resent-From": ("a@other.test", b"Resent-From: boss@example.com\nFrom: a@other.test\n"),
    "header of former versions": (
        "boss@example.com", b"X-Postern-Ticket: " + b"ab" * 16 + b"\nFrom: boss@example.com\n"
    ),
}

# Below a domain that covers its subdomains, though no domain names themselves.
BELOW = {
    "punycode of no letter": b"From: boss@xn--n3h.covers.test\n",
    "no letter": "From: boss@☃.covers.test\n".encode(),
    "hyphen": b"From: boss@x-.covers.test\n",
    "two dots": b"From: boss@x..covers.test\n",
    "long label": b"From: boss@" + b"x" * 64 + b".covers.test\n",
    "long name": b"From: boss@" + b"x." * 130 + b"covers.test\n",
    "dot leader below": "From: boss@x\u2024y.covers.test\n".encode(),
    "underscore": b'From: "boss@_x.covers.test" <a@other.test>\n',
    "plus": b'From: "boss@a+b.covers.test" <a@other.test>\n',
}

# What Postfix, or the end of the header, makes harmless.
HARMLESS = {
    "NUL": b"From: a@other.test\0, boss@example.com\n",
    "NUL in the name": b"Fr\0om: boss@example.com\n",
    "byte order mark": b"\xef\xbb\xbfFrom: boss@example.com\n",
    "no header": b"nothing\nFrom: boss@example.com\n",
    "line of a mailbox": b"From boss@example.com Sat Nov 21\nFrom: a@other.test\n",
}

# name: (envelope sender, header fields); passes byte for byte.
HONEST = {
    "plain": ("a@other.test", b"From: Ann <a@other.test>\n"),
    "cron": ("root@other.test", b"From: root@other.test (Cron Daemon)\n"),
    "a folded name": ("a@other.test", b"From: =?utf-8?q?Z=C3=B6?=\n <a@other.test>\n"),
    "two authors": ("a@other.test", b"From: a@other.test, b@third.test\nSender: a@other.test\n"),
    "group": ("a@other.test", b"From: us: a@other.test, b@third.test;\n"),
    "list": ("l@other.test", b'From: "ann@example.com via List" <l@other.test>\n'),
    "encoded list": ("l@other.test", b"From: =?utf-8?q?ann=40example.com_via_L?= <l@other.test>\n"),
    "list in an unknown charset": (
        "l@other.test", b"From: =?x-sjis?q?ann=40example.com_via_L?= <l@other.test>\n"
    ),
    "unknown charset": ("a@other.test", b"From: =?x-sjis?q?Ann=82=A0?= <a@other.test>\n"),
    "windows-1252 by the name of Latin-1": (
        "a@other.test", b"From: =?iso-8859-1?q?Ann=92s?= <a@other.test>\n"
    ),
    "words of base64": (
        "a@other.test", b"From: =?utf-8?b?Wm8=?= =?utf-8?b?w6s=?= <a@other.test>\n"
    ),
    "right to left": ("a@other.test", named("\u202b\u05d0\u05d1\u202c")),
    "brand": ("a@other.test", b'From: "Example.com fans" <a@other.test>\n'),
    "odd subdomain": ("a@other.test", b"From: a@other.test, x@_x.example.com.other.test\n"),
    "subdomain": ("a@sub.example.com", b"From: a@sub.example.com\n"),
    "longer name": ("a@notexample.com", b"From: a@notexample.com, b@example.com.other.test\n"),
    "Reply-To": ("a@other.test", b"From: a@other.test\nReply-To: ann@example.com\n"),
    "to the domain": ("a@other.test", b"From: a@other.test\nCc: ann@example.com\n"),
    "signed by the domain": (
        "a@other.test", b"From: a@other.test\nDKIM-Signature: v=1; d=example.com; b=x\n"
    ),
    "bounce": ("", b"From: MAILER-DAEMON@other.test (Mail System)\n"),
    "subject": ("a@other.test", b"From: a@other.test\nX-Say:   From: boss@example.com\n"),
}

# Those whose authors are not one mailbox of the domain: a key may not send them.
OTHER_AUTHORS = {"two authors", "group", "odd subdomain", "subdomain", "longer name"}

BODY = b"\nFrom: boss@example.com\n.\n\xff  body \n"


@pytest.fixture(scope="module")
def box(request):
    with Sandbox(*POSTFIX, parts=["auth"]) as sandbox:
        yield sandbox
        sandbox.failed = request.session.testsfailed > 0


@pytest.fixture(params=WAYS)
def way(request):
    return request.param


def complete(head, to):
    """The fields given, with those that Postfix else would add, and a body."""
    message_id = f"<{unique()}@other.test>"
    rest = f"To: {to}\nMessage-ID: {message_id}\nDate: Sat, 21 Nov 2026 12:00:00 +0000\n"
    return message_id, rest.encode() + head + BODY


@pytest.fixture(scope="module")
def covering(box):
    box.domain(box.company(), name="covers.test")
    box.cli("domain", "set", "covers.test", "--subdomains", "covered")


def submit(box, way, sender, head, to):
    message_id, data = complete(head, to)
    return WAYS[way](box, message_id, sender, [to], data), data


@pytest.mark.parametrize("name", FORGERIES)
def test_forgery(box, way, to, name):
    sender, head = FORGERIES[name]
    submitted, _ = submit(box, way, sender, head, to)
    verdict = submitted.verdict()
    assert verdict["action"] == "refuse", verdict
    if submitted.reply:
        assert submitted.reply[0] == 550
        assert submitted.reply[1].startswith(b"5.7.1 ")
    assert not box.sink.now(to=to)


def test_forgeries_with_a_key(box, covering, to):
    """Nor does a key of another company, which logs in over SMTP, make them pass."""
    company = box.company()
    key = box.new_key(company, "sending")["token"]
    box.domain(company, name="evil.test")
    rows = {**FORGERIES, **{name: ("a@other.test", head) for name, head in BELOW.items()}}
    passed = []
    for name, (sender, head) in rows.items():
        _, data = complete(head.replace(b"other.test", b"evil.test"), to)
        with login(box, key) as session:
            session.docmd(f"MAIL FROM:<{sender.replace('other.test', 'evil.test')}>")
            session.docmd(f"RCPT TO:<{to}>")
            code, text = session.data(data.replace(b"\n", b"\r\n"))
        if code != 550:
            passed.append((name, code, text))
    assert passed == []
    assert box.query(f"SELECT count(*) FROM email WHERE company_id = '{company}'") == "0"
    assert not box.sink.now(to=to)
    _, data = complete(b"From: Ann <a@evil.test>\n", to)
    assert login(box, key).sendmail("a@evil.test", [to], data) == {}


def shown(message):
    """The header that recipients see."""
    lines = message.raw.split(b"\n\n")[0].split(b"\n")
    return b"\n".join(line for line in lines if not line.startswith(b"X-Mailbox-Line"))


def test_honest_with_a_key(box):
    """A key sends these as its own domain, byte for byte, but for those with another author; of
    what is harmless nothing of the other domain is left."""
    company = box.company()
    own, key = box.domain(company), box.new_key(company, "sending")["token"]
    rows = {**HONEST, **{name: ("a@other.test", head) for name, head in HARMLESS.items()}}
    taken, odd = {}, []
    with login(box, key) as session:
        for name, (sender, head) in rows.items():
            to = f"{unique()}@dst.test"
            _, data = complete(head.replace(b"other.test", own.encode()), to)
            session.docmd(f"MAIL FROM:<{sender.replace('other.test', own)}>")
            session.docmd(f"RCPT TO:<{to}>")
            code, text = session.data(data.replace(b"\n", b"\r\n"))
            if code == 250:
                taken[name] = to, data
            if name in HONEST and (code == 250) == (name in OTHER_AUTHORS):
                odd.append((name, code, text))
    assert odd == []
    for name, (to, data) in taken.items():
        delivered = box.sink.find(to=to)
        assert name in HARMLESS or data in delivered.raw + b"\n", name
        assert name in HONEST or b"example.com" not in shown(delivered), name


@pytest.mark.parametrize("name", BELOW)
def test_below(box, covering, way, to, name):
    submitted, _ = submit(box, way, "a@other.test", BELOW[name], to)
    assert submitted.verdict()["action"] == "refuse"
    assert not box.sink.now(to=to)


# Over SMTP, Postfix refuses the second itself.
@pytest.mark.parametrize("way, sender", [
    ("smtp", "x@_x.covers.test"),
    ("sendmail", "x@_x.covers.test"),
    ("sendmail", "x@a.x-.covers.test"),
])
def test_envelope_below(box, covering, way, to, sender):
    submitted, _ = submit(box, way, sender, b"From: a@other.test\n", to)
    assert submitted.verdict()["action"] == "refuse"


@pytest.mark.parametrize("name", HARMLESS)
def test_harmless(box, way, to, name):
    submit(box, way, "a@other.test", HARMLESS[name], to)
    assert b"example.com" not in shown(box.sink.find(to=to))


@pytest.mark.parametrize("name", HONEST)
def test_honest(box, way, to, name):
    sender, head = HONEST[name]
    submitted, data = submit(box, way, sender, head, to)
    delivered = box.sink.find(to=to)
    assert data in delivered.raw + b"\n"
    assert delivered.sender == sender
    assert submitted.verdict()["action"] == "pass"
