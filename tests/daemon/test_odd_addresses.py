"""Addresses that are rare: what can be sent is, as Postfix writes it; the rest
is the client's error, before anything is staged."""

import signal

import pytest
from harness import File, wait_for
from harness.admin import by_token
from harness.form import uuid_of
from harness.httpd import check_problem
from harness.sandbox import unique

# What is refused is not submitted.
by_each_method = pytest.mark.submission

# A local part as given, and as Postfix writes it; %s is a word of the test's.
WRITTEN = [
    (r'"%s\b"', "%sb"),
    (r'"%s b\ c"', '"%s b c"'),
    (r'"%s\@b"', '"%s@b"'),
    (r'"\"%s\\"', r'"\"%s\\"'),
    (r'"\ü%s"', "ü%s"),
    ('"%s.b"', "%s.b"),
    ('"%s..b"', '"%s..b"'),
    ("%s%%b!c.test", "%s%%b!c.test"),
]


def domain_for(local):
    return "dst.test" if local.isascii() else "utf8.test"


@pytest.fixture(params=["json", "form"])
def send(request, httpd, form):
    """Sends an email in a dialect; returns its id."""
    if request.param == "json":
        return httpd.send
    return lambda email: uuid_of(form.send(email))


@pytest.fixture(params=["json", "form"])
def refuse(request, httpd, form):
    """Sends an email that must be refused with this text and not be staged."""

    def check(email, text):
        if request.param == "json":
            check_problem(httpd.post(email), 422, "validation_error", text)
        else:
            answer = form.post(email)
            assert answer.status == 400, answer.body
            assert text in answer.json()["message"]

    return check


@by_each_method
@pytest.mark.parametrize("given, written", WRITTEN)
def test_recipient(box, httpd, send, email, given, written):
    word, domain = unique(), domain_for(given)
    to = f"{written % word}@{domain}"
    email_id = send({**email, "to": f"Ann <{given % word}@{domain}>"})
    assert httpd.read(email_id)["to"] == [to]
    assert box.sink.find(to=to).raw_header("To") == f"Ann <{to}>".encode()


@by_each_method
@pytest.mark.parametrize("given, written", WRITTEN)
def test_sender(box, httpd, send, email, given, written):
    word = unique()
    sender = f"{written % word}@example.com"
    to = f"{word}@{domain_for(given)}"
    email_id = send({**email, "from": f"Ann <{given % word}@example.com>", "to": to})
    assert httpd.read(email_id)["from"] == f"Ann <{sender}>"
    mail = box.sink.find(to=to)
    assert mail.sender == sender
    assert mail.raw_header("From") == f"Ann <{sender}>".encode()


@by_each_method
@pytest.mark.parametrize("given, written", WRITTEN)
def test_finished_message(box, httpd, form, given, written):
    word, domain = unique(), domain_for(given)
    to = f"{written % word}@{domain}"
    message = f"From: {given % word}@example.com\n\nx\n".encode()
    message_id = form.send(
        {"to": f"{given % word}@{domain}", "message": File("m", message)},
        path="messages.mime",
    )
    seen = form.read(message_id)
    assert (seen["from"], seen["bcc"]) == (f"{written % word}@example.com", [to])
    assert box.sink.find(to=to).sender == seen["from"]


@by_each_method
def test_recipient_variables(form, fields):
    """Variables are found by the address, however it is written."""
    word = unique()
    given, other = rf'"{word}\b"@dst.test', f"{word}@Bücher.test"
    form.send(
        {
            **fields,
            "to": [given, other],
            "text": "Hello %recipient.name%",
            "recipient-variables": f'{{"\\"{word}\\\\b\\"@dst.test": {{"name": "Ann"}},'
            f' "{other}": {{"name": "Ben"}}}}',
        }
    )
    ann = form.box.sink.find(to=f"{word}b@dst.test")
    ben = form.box.sink.find(to=f"{word}@xn--bcher-kva.test")
    assert [m.body("plain").strip() for m in (ann, ben)] == ["Hello Ann", "Hello Ben"]


HYPHENS = [("-%s", "-%s"), ('"-%s"', "-%s"), ('"-%s x"', '"-%s x"')]


@pytest.mark.parametrize("field", ["from", "to", "cc", "bcc"])
@pytest.mark.parametrize("given, written", HYPHENS)
def test_hyphen(box, refuse, email, field, given, written):
    """Postfix refuses it, or bounces it if it came by sendmail(1)."""
    word = unique()
    email[field] = f"{given % word}@example.com"
    refuse(email, f"{written % word}@example.com")
    assert not [e for e in box.cli("email", "list") if word in str(e)]


@pytest.mark.parametrize("given, written", HYPHENS)
def test_hyphen_in_finished_message(form, to, given, written):
    word = unique()
    for sender, recipient in [(given % word, to), (word, f"{given % word}@dst.test")]:
        message = f"From: {sender}@example.com\nTo: -x@dst.test\n\nx\n".encode()
        answer = form.post(
            {"to": recipient, "message": File("m", message)}, path="messages.mime"
        )
        assert answer.status == 400, answer.body
        assert written % word in answer.json()["message"]


@pytest.mark.parametrize("field", ["to", "cc", "bcc"])
@pytest.mark.parametrize("local", ["0123456789abcdef0123456789abcdef", "bob"])
def test_domain_of_tickets(box, refuse, email, field, local):
    """It would wait in Postfix's queue, as an email that waits for the milter does."""
    email[field] = f"{local}@Postern.Invalid"
    refuse(email, f"{local}@postern.invalid")
    assert not [e for e in box.cli("email", "list") if "postern.invalid" in str(e)]


@by_each_method
def test_hyphen_elsewhere(box, httpd, form, email, to):
    """Any address is accepted where no mail is sent to it."""
    httpd.send({**email, "reply_to": "-help@dst.test"})
    message = b"From: hello@example.com\nTo: -x@dst.test\n\nx\n"
    form.send({"to": "a" + to, "message": File("m", message)}, path="messages.mime")
    assert box.sink.find(to=to).raw_header("Reply-To") == b"-help@dst.test"
    assert box.sink.find(to="a" + to).raw_header("To") == b"-x@dst.test"


@by_each_method
def test_hyphen_where_postfix_takes_it(own_box):
    box = own_box("--postconf", "allow_min_user=yes")
    email = {"from": "-me@example.com", "to": "-you@dst.test", "text": "x"}
    box.httpd().send(email)
    assert box.sink.find(to=email["to"]).sender == email["from"]


def test_hyphen_after_a_reload(own_box):
    """A change of what Postfix accepts also applies to emails of the dashboard."""
    box = own_box("--postconf", "allow_min_user=yes")
    company = box.company()
    box.cli("domain", "add", "d.example", "--company", company)
    owner = by_token(box, "owner", company)
    key = owner.ok("POST", "/admin/keys", 201, json={"name": "k"})
    email = {"from": "-me@d.example", "to": "you@dst.test", "text": "x"}
    with (box.dir / "postfix/main.cf").open("a") as file:
        file.write("allow_min_user=no\n")
    box.kill("httpd", signal.SIGHUP)
    wait_for("the reload", lambda: "event=reloaded" in box.log("httpd"))
    check_problem(box.httpd(key["token"]).post(email), 422, "validation_error", "-me@")
    answer = owner.request(
        "POST", "/admin/emails/test", json={**email, "key_id": key["id"]}
    )
    assert answer.status_code == 422, answer.text


@pytest.mark.parametrize("field", ["from", "to", "cc", "bcc", "reply_to"])
def test_source_route(httpd, email, field):
    """Postfix would turn it into another address."""
    email[field] = '"@a:b"@example.com'
    check_problem(httpd.post(email), 422, "validation_error", "begins with another @")


LONG = '"' + "N, " * 7000 + '"'


def test_long_sender_fields(httpd, form, refuse, email, to):
    """The milter would not read all of them."""
    refuse({**email, "from": f"{LONG} <hello@example.com>"}, "From is longer")
    headers = {"Sender": f"{LONG} <hello@example.com>"}
    answer = httpd.post({**email, "headers": headers})
    check_problem(answer, 422, "validation_error", "Sender is longer")
    field = "From: " + "\n ".join(["x" * 70] * 200) + "\n <hello@example.com>\n\nx\n"
    message = {"to": to, "message": File("m", field.encode())}
    answer = form.post(message, path="messages.mime")
    assert answer.status == 400, answer.body
    assert "From of the message is longer" in answer.json()["message"]
