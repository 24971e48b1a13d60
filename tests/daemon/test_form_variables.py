"""The form dialect: recipient variables, and macros with nothing behind them."""

import json
import re

import pytest
from harness import File
from harness.form import ENCODINGS, check_refused, in_turn, uuid_of
from harness.sandbox import unique

both = pytest.mark.parametrize("encode", ENCODINGS, ids=lambda e: e.__name__)


@pytest.fixture
def people():
    return [unique(name) + "@dst.test" for name in ("ann", "bob", "cid")]


def with_variables(fields, people, variables, **more):
    return {
        **fields,
        "to": people,
        "recipient-variables": json.dumps(variables),
        **more,
    }


def test_metadata(form, fields, people):
    """What v: and h:X-Mailgun-Variables say is each recipient's own, too."""
    ids = dict(zip(people, [7, 'a"b\\', None]))
    more = {
        "v:id": "%recipient.v:id%", "v:both": "%recipient% %recipient.v:id%", "v:same": "100%",
        "h:X-Mailgun-Variables": json.dumps({"deep": [{"id": "%recipient.v:id%"}], "n": 1}),
    }
    form.send(with_variables(fields, people, {p: {"v:id": ids[p]} for p in people}, **more))
    for person, shown in zip(people, ("7", 'a"b\\', "%recipient.v:id%")):
        message_id = form.box.sink.find(to=person).header("Message-ID")
        (row,) = form.stored(message_id)
        assert json.loads(row["variables"]) == {
            "id": shown, "both": f"{person} {shown}", "same": "100%", "deep": [{"id": shown}], "n": 1,
        }


def test_metadata_is_limited(form, fields, to):
    """However long the values are that a short text asks for."""
    fields = with_variables(fields, [to], {to: {"a": "x" * 1000}}, **{"v:a": "%recipient.a%" * 17})
    answer = form.post(fields)
    check_refused(answer, 400, re.compile("Send options .* 16 kB total"))


@both
@pytest.mark.parametrize("joined", [True, False], ids=["list", "repeated"])
def test_individual_messages(form, fields, people, joined, encode):
    """Each is addressed to one, shows only that one, and is on record."""
    variables = {
        person: {"name": f"Nämé {n}", "id": n, "key.dot": f"d{n}"}
        for n, person in enumerate(people)
    }
    answer_id = form.send(
        with_variables(
            fields,
            ",".join(people) if joined else people,
            variables,
            subject="Hi %recipient.name%!",
            text="%recipient.name% is %recipient.id%, %recipient.id%; %recipient%",
            html="<p>%recipient.name%</p><p>%recipient.key.dot%</p>",
            **{"h:X-Who": "%recipient.id% <%recipient%>"},
        ),
        encode,
    )
    ids = []
    for n, person in enumerate(people):
        mail = form.box.sink.find(to=person)
        assert mail.recipients == [person]
        assert mail.addresses("To") == [("", person)]
        assert mail.header("Cc") is None
        for other in people:
            assert other == person or other.encode() not in mail.raw
        assert mail.header("Subject") == f"Hi Nämé {n}!"
        assert mail.body("plain") == f"Nämé {n} is {n}, {n}; {person}\n"
        assert mail.body("html") == f"<p>Nämé {n}</p><p>d{n}</p>\n"
        assert mail.header("X-Who") == f"{n} <{person}>"
        ids.append(mail.header("Message-ID"))
        seen = form.read(ids[-1])
        assert seen["to"] == [person]
        assert seen["subject"] == f"Hi Nämé {n}!"
        assert seen["text"] == f"Nämé {n} is {n}, {n}; {person}"
        assert seen["last_event"] in ("sent", "delivered")
    assert len(set(ids)) == len(people)
    assert answer_id in ids


@both
def test_text_derived_from_the_html_of_each(form, fields, people, encode):
    variables = {person: {"n": n} for n, person in enumerate(people)}
    del fields["text"]
    form.send(
        with_variables(fields, people, variables, html="<p>No %recipient.n%"), encode
    )
    for n, person in enumerate(people):
        assert form.box.sink.find(to=person).body("plain") == f"No {n}\n"


VALUES = {
    "text": ("x", "x"),
    "empty": ("", ""),
    "number": (7, "7"),
    "percent": ("100% %recipient.a%", "100% %recipient.a%"),
    "unicode": ("日本 👋", "日本 👋"),
    "line breaks": ("a\nb", "a\nb"),
}


@pytest.mark.parametrize("case", VALUES)
def test_values(form, fields, to, case):
    """Put in once: what comes out is not looked at again."""
    value, shown = VALUES[case]
    variables = {to: {"a": value}}
    fields["text"] = "<%recipient.a%>"
    form.send(with_variables(fields, to, variables))
    assert form.box.sink.find(to=to).body("plain") == f"<{shown}>\n"


def test_values_in_html_go_in_as_they_are(form, fields, to):
    variables = {to: {"a": "<b>&amp;</b>"}}
    form.send(with_variables(fields, to, variables, html="<p>%recipient.a%</p>"))
    mail = form.box.sink.find(to=to)
    assert mail.body("html") == "<p><b>&amp;</b></p>\n"


def test_recipients_without_variables(form, fields, people):
    """Get the email too; what has no value stays."""
    fields["text"] = "%recipient.a% %recipient.b% %recipient% 100% %x% %%"
    form.send(with_variables(fields, people, {people[0]: {"a": "A"}}))
    for person, a in zip(people, ["A", "%recipient.a%", "%recipient.a%"]):
        mail = form.box.sink.find(to=person)
        assert mail.addresses("To") == [("", person)]
        assert (
            mail.body("plain") == f"{a} %recipient.b% {person} 100% %x% %%\n"
        )


def test_no_variables_at_all(form, fields, people):
    """Still individual messages: that is what clients send it for."""
    form.send(with_variables(fields, people, {}))
    for person in people:
        mail = form.box.sink.find(to=person)
        assert mail.recipients == [person]
        assert mail.addresses("To") == [("", person)]


def test_without_the_parameter_nothing_is_put_in(form, fields, people):
    fields.update(to=people, text="%recipient.a% %recipient%")
    mail = form.deliver(fields)
    assert sorted(mail.recipients) == sorted(people)
    assert mail.body("plain") == "%recipient.a% %recipient%\n"


def test_names_and_letter_case(form, fields, to):
    """Variables are found by the address, whatever stands around it."""
    address = to.replace("to-", "To-")
    variables = {to: {"a": "A"}}
    fields["text"] = "%recipient.a%"
    form.send(with_variables(fields, f"Ann <{address}>", variables))
    mail = form.box.sink.find(to=address)
    assert mail.addresses("To") == [("Ann", address)]
    assert mail.body("plain") == "A\n"


def test_files_in_each(form, fields, people):
    files = {
        "attachment": File("a.bin", bytes(range(256)) * 50),
        "inline": File("b.png", b"\x89PNG", "image/png"),
        "html": "<p>x",
    }
    form.send(with_variables(fields, people, {}, **files))
    for person in people:
        found = form.box.sink.find(to=person).attachments()
        assert {(a[0], a[3]) for a in found} == {
            ("a.bin", files["attachment"].data),
            ("b.png", files["inline"].data),
        }


@both
def test_message_id_of_each(form, fields, people, encode):
    """The answer has the value as it was given."""
    run = unique("run")
    given = f"<%recipient.id%.{run}@example.com>"
    variables = {person: {"id": f"n{n}"} for n, person in enumerate(people)}
    answer_id = form.post(
        with_variables(fields, people, variables, **{"h:Message-Id": given}), encode
    ).json()["id"]
    assert answer_id == given
    for n, person in enumerate(people):
        mail = form.box.sink.find(to=person)
        wanted = f"<n{n}.{run}@example.com>"
        assert mail.header("Message-ID") == wanted
        (row,) = form.stored(wanted)
        assert form.httpd.read(row["id"])["to"] == [person]


@pytest.mark.parametrize(
    "given, value",
    [
        ("<%recipient.message_id%>", "{}"),
        ("%recipient.message_id%", "{}"),
        ("%recipient.message_id%", "<{}>"),
    ],
)
def test_message_id_is_a_variable(form, fields, people, given, value):
    """As newsletters come that have an id for each recipient."""
    run = unique("run")
    ids = [f"{run}-{n}@example.com" for n in range(len(people))]
    variables = {p: {"message_id": value.format(n)} for p, n in zip(people, ids)}
    answer = form.post(
        with_variables(fields, people, variables, **{"h:Message-Id": given})
    )
    assert (answer.status, answer.json()["id"]) == (200, given)
    for person, name in zip(people, ids):
        mail = form.box.sink.find(to=person)
        assert mail.raw_header("Message-ID") == f"<{name}>".encode()
        (row,) = form.stored(f"<{name}>")
        assert form.httpd.read(row["id"])["to"] == [person]


@pytest.mark.parametrize(
    "value", ["", "ü", "a b", "a><b", "a.", "a@b", "a\tb><" * 600, "a" * 990]
)
def test_message_id_of_one_that_is_none(form, fields, people, value):
    """Nobody gets the email then."""
    variables = {p: {"id": unique()} for p in people}
    variables[people[-1]] = {"id": value}
    more = {"h:Message-Id": "<%recipient.id%@x.test>"}
    answer = form.post(with_variables(fields, people, variables, **more))
    check_refused(answer, 400, "h:Message-Id parameter is not a valid message id")
    for person in people:
        assert person not in form.box.log("postfix")


@pytest.mark.parametrize("given", ["<constant@x.test>", "constant@x.test", "<%recipient.id%@x.test>"])
def test_message_id_of_several(form, fields, people, given):
    """Each message needs an id of its own (RFC 5322 3.6.4). One recipient may have a constant."""
    variables = {people[0]: {"id": unique()}}
    more = {"h:Message-Id": given.replace("constant", unique())}
    answer = form.post(with_variables(fields, people, variables, **more))
    check_refused(answer, 400, re.compile("h:Message-Id must have a variable .*"))
    for person in people:
        assert person not in form.box.log("postfix")
    form.send(with_variables(fields, people[:1], variables, **more))
    assert form.box.sink.find(to=people[0]).header("Message-ID")


REPLY_TO = {
    "part of an address": ("r+%recipient.id%@example.com", [("", "r+{}@example.com")]),
    "name": ("%recipient.name% <r@example.com>", [("Ann {}, Ltd", "r@example.com")]),
    "address": ("%recipient.reply%", [("", "r{}@example.net")]),
    "one of several": (
        ["first@example.com", "%recipient.reply%, last@example.com"],
        [("", "first@example.com"), ("", "r{}@example.net"), ("", "last@example.com")],
    ),
    "nothing is left": ("%recipient.none%", []),
}


@pytest.mark.parametrize("case", REPLY_TO)
def test_reply_to_of_each(form, fields, people, case):
    given, wanted = REPLY_TO[case]
    variables = {
        person: {"id": n, "name": f'"Ann {n}, Ltd"', "reply": f"r{n}@example.net", "none": ""}
        for n, person in enumerate(people)
    }
    form.send(with_variables(fields, people, variables, **{"h:Reply-To": given}))
    for n, person in enumerate(people):
        mail = form.box.sink.find(to=person)
        each = [(name.format(n), address.format(n)) for name, address in wanted]
        assert mail.addresses("Reply-To") == each
        seen = form.read(mail.header("Message-ID"))["reply_to"] or []
        assert len(seen) == len(each)
        for text, (_, address) in zip(seen, each):
            assert address in text


@pytest.mark.parametrize("value", ["none", "a@b@example.com", "r@example.com\nX-A: b"])
def test_reply_to_of_one_that_is_none(form, fields, people, value):
    """Nobody gets anything then."""
    variables = {p: {"reply": "r@example.com"} for p in people}
    variables[people[-1]]["reply"] = value
    options = {"h:Reply-To": "%recipient.reply%"}
    answer = form.post(with_variables(fields, people, variables, **options))
    check_refused(answer, 400, re.compile("h:Reply-To .*"))
    assert not any(form.box.sink.now(to=person) for person in people)


def test_reply_to_too_long_in_all(form, fields, people):
    """Of fields that are short until their variables are put in."""
    reply = ",".join(f"r{n}@example.net" for n in range(1000))
    variables = {p: {"reply": reply} for p in people}
    options = {"h:Reply-To": ["%recipient.reply%"] * 4}
    answer = form.post(with_variables(fields, people, variables, **options))
    check_refused(answer, 400, re.compile(".*h:Reply-To.* too long"))


def test_reply_to_with_a_percent_sign(form, fields):
    fields["h:Reply-To"] = "100%25@example.com, %recipient.a%@example.com"
    mail = form.deliver(fields)
    wanted = ["100%25@example.com", "%recipient.a%@example.com"]
    assert [address for _, address in mail.addresses("Reply-To")] == wanted


def test_testmode(form, fields, people):
    ids = {person: {"id": unique()} for person in people}
    options = {"o:testmode": "yes", "h:Message-Id": "<%recipient.id%@example.com>"}
    form.post(with_variables(fields, people, ids, **options))
    rows = [row for p in people for row in form.stored(f"<{ids[p]['id']}@example.com>")]
    assert [form.httpd.read(row["id"])["to"] for row in rows] == [[p] for p in people]
    later = unique("later") + "@dst.test"
    form.deliver({**fields, "to": later})
    for person in people:
        assert not form.box.sink.now(to=person)
        assert person not in form.box.log("postfix")


def test_metadata_of_each(form, fields, people):
    ids = {person: {"id": unique()} for person in people}
    fields.update({"o:tag": "t", "v:a": "b", "h:Message-Id": "<%recipient.id%@x.test>"})
    form.post(with_variables(fields, people, ids))
    rows = [row for p in people for row in form.stored(f"<{ids[p]['id']}@x.test>")]
    assert len(rows) == 3
    for row in rows:
        assert json.loads(row["variables"]) == {"a": "b"}
        assert [tag["value"] for tag in json.loads(row["tags"])] == ["t"]


def test_60_individual_messages(form, fields):
    run = unique("run")
    people = [f"{run}-{n}@dst.test" for n in range(60)]
    variables = {person: {"n": n} for n, person in enumerate(people)}
    fields["text"] = "%recipient.n%"
    message_id = form.send(with_variables(fields, people, variables))
    uuid_of(message_id)
    for n, person in enumerate(people):
        mail = form.box.sink.find(to=person)
        assert mail.body("plain") == f"{n}\n"
        assert mail.recipients == [person]
        assert form.read(mail.header("Message-ID"))["to"] == [person]


NOT_JSON = "'recipient-variables' parameter is not a valid JSON"


@in_turn(
    "value",
    ["nonsense", "{", "[]", '"x"', "1", "null", '{"a": 1,}', "{} x"],
    encode=ENCODINGS,
)
def test_not_a_valid_json(form, fields, to, value, encode):
    answer = form.post({**fields, "recipient-variables": value}, encode)
    check_refused(answer, 400, NOT_JSON)
    assert not form.box.sink.now(to=to)


@pytest.mark.parametrize("where", ["subject", "h:X-A", "h:Message-Id"])
@pytest.mark.parametrize("line_end", ["\r\n", "\n", "\r"], ids=["CRLF", "LF", "CR"])
def test_no_header_injection(form, fields, people, where, line_end):
    """One value that is wrong sends nothing to nobody."""
    variables = {people[1]: {"a": f"x{line_end}Bcc: {people[2]}"}}
    more = {where: "<%recipient.a%@x.test>"}
    answer = form.post(with_variables(fields, people[:2], variables, **more))
    check_refused(answer, 400, re.compile(f"{where} .+"))
    later = unique("later") + "@dst.test"
    form.deliver({**fields, "to": later})
    for person in people:
        assert not form.box.sink.now(to=person)
        assert person not in form.box.log("postfix")


@pytest.mark.parametrize("name", ["X-Postern-Ticket", "X-A"])
def test_variables_do_not_name_fields(form, fields, to, name):
    """Names of headers are not looked into."""
    variables = {to: {"n": "Bcc"}}
    more = {f"h:{name}": "x", "h:%recipient.n%": "evil@dst.test"}
    form.send(with_variables(fields, to, variables, **more))
    mail = form.box.sink.find(to=to)
    assert mail.recipients == [to]
    assert mail.header("Bcc") is None


MACROS = [
    "%unsubscribe_url%",
    "%tag_unsubscribe_email%",
    "%mailing_list_unsubscribe_url%",
]


@both
@pytest.mark.parametrize("macro", MACROS, ids=["url", "email", "list"])
@pytest.mark.parametrize("variables", [True, False], ids=["individual", "one"])
def test_macros_are_removed(form, fields, to, macro, variables, encode):
    fields.update(
        subject=f"a {macro}b",
        text=f"x {macro} y{macro}",
        html=f'<a href="{macro}">stop</a>',
    )
    if variables:
        fields["recipient-variables"] = "{}"
    form.send(fields, encode)
    mail = form.box.sink.find(to=to)
    assert mail.header("Subject") == "a b"
    assert mail.body("plain") == "x  y\n"
    assert mail.body("html") == '<a href="">stop</a>\n'


@both
@pytest.mark.parametrize("name", ["text", "html"])
@pytest.mark.parametrize("value", ["%unsubscribe_url%", "%recipient.a%"])
def test_body_of_which_nothing_is_left(form, fields, to, name, value, encode):
    """An empty email, and the next one comes through as well."""
    fields.update({"text": [], name: value})
    if "recipient" in value:
        fields["recipient-variables"] = json.dumps({to: {"a": ""}})
    message_id = form.send(fields, encode)
    mail = form.box.sink.find(message_id=message_id)
    for kind in ("plain", "html"):
        assert not (mail.body(kind) or "").strip()
    assert form.read(message_id)["text"].strip() == ""
    form.deliver({**fields, "to": unique("next") + "@dst.test", "text": "x"})


URL, MAIL = "<https://example.com/u?a=1>", "<mailto:u@example.com>"

UNSUBSCRIBE = {
    "first": (f"<%unsubscribe_url%>, {URL}", URL),
    "last": (f"{URL}, <%unsubscribe_url%>", URL),
    "middle": (f"{URL}, <%unsubscribe_url%>,{MAIL}", f"{URL}, {MAIL}"),
    "mailto": (f"<mailto:%tag_unsubscribe_email%>, {MAIL}", MAIL),
    "two": (f"<mailto:%tag_unsubscribe_email%>,<%unsubscribe_url%>, {URL}", URL),
    "list": (f"<%mailing_list_unsubscribe_url%>,{URL}", URL),
    "all": ("<%unsubscribe_url%>", None),
    "all of two": ("<mailto:%tag_unsubscribe_email%>, <%unsubscribe_url%>", None),
    "none": (f"{URL}, {MAIL}", f"{URL}, {MAIL}"),
}


@in_turn(
    "case",
    UNSUBSCRIBE,
    encode=ENCODINGS,
    name=["List-Unsubscribe", "list-unsubscribe"],
)
def test_macros_in_list_unsubscribe(form, fields, name, case, encode):
    """Go with their brackets and comma; the field goes when nothing is left."""
    given, left = UNSUBSCRIBE[case]
    mail = form.deliver({**fields, f"h:{name}": given}, encode)
    assert mail.header("List-Unsubscribe") == left


def test_text_of_macros_alone(form, fields):
    """Nothing is left of it, and there is no HTML to make another of."""
    mail = form.deliver({**fields, "text": "%unsubscribe_url%"})
    assert mail.body("plain").strip() == ""


def test_macros_that_look_alike_stay(form, fields):
    text = "%unsubscribe_urls% unsubscribe_url% %Unsubscribe_url %unsubscribe_url"
    assert form.deliver({**fields, "text": text}).body("plain") == text + "\n"
