"""How many recipients an email may have."""

import re

import pytest
from harness import File, FormClient, wait_for
from harness.form import check_refused
from harness.httpd import check_problem
from harness.sandbox import unique


def people(n, word="p"):
    return [f"{unique(word)}@dst.test" for _ in range(n)]


@pytest.mark.parametrize(
    "to, cc, bcc",
    [(1, 0, 0), (50, 0, 0), (1, 49, 0), (1, 0, 49), (20, 20, 10)],
)
def test_up_to_the_limit(box, httpd, email, to, cc, bcc):
    email.update(to=people(to), cc=people(cc), bcc=people(bcc))
    email_id = httpd.send(email)
    everybody = email["to"] + email["cc"] + email["bcc"]
    seen = httpd.read(email_id)
    assert [seen[f] for f in ("to", "cc", "bcc")] == [
        email[f] for f in ("to", "cc", "bcc")
    ]
    mail = box.sink.find(message_id=seen["message_id"])
    assert sorted(mail.recipients) == sorted(everybody)
    assert [a for _, a in mail.addresses("To")] == email["to"]
    assert [a for _, a in mail.addresses("Cc")] == email["cc"]


@pytest.mark.parametrize("to, cc, bcc", [(51, 0, 0), (1, 50, 0), (1, 0, 50), (17,) * 3])
def test_over_the_limit(box, httpd, email, to, cc, bcc):
    email.update(to=people(to), cc=people(cc), bcc=people(bcc))
    answer = httpd.post(email)
    check_problem(answer, 422, "validation_error", "50")
    assert not box.sink.now(to=email["to"][0])


# A name for each: of 60 characters, which are too many bytes, or of words that are
# too many for Postfix with those of the addresses.
NAMES = {
    "short": "{:04} Lee",
    "atoms": "{:04} " + "Ann Lee " * 6 + "Johnson",
    "quoted": "{:04}, " + "Doe, John " * 5 + "Jr.",
    "encoded": "{:04} " + "Müller, Zoë " * 4 + "Grüße  ",
}


def check_to_all(box, wanted):
    """Each delivered message names all recipients, and each gets one."""
    mails = wait_for(
        "all of them",
        lambda: (found := [m for w in wanted for m in box.sink.now(to=w)])
        and len(found) == len(wanted)
        and found,
    )
    for mail in set(mails):
        seen = mail.raw_header("To") + b"," + (mail.raw_header("Cc") or b"")
        assert sorted(re.findall(rb"[^ <,]+@dst\.test", seen)) == sorted(
            w.encode() for w in wanted
        )


@pytest.mark.submission
@pytest.mark.parametrize("names", NAMES)
def test_1000_with_names(form, fields, names):
    """Names that make the field too long for Postfix are left out."""
    run = unique("run")
    wanted = [f"{run}.{n}@dst.test" for n in range(1000)]
    fields["to"] = [
        f'"{NAMES[names].format(n)}" <{to}>' for n, to in enumerate(wanted)
    ]
    message_id = form.send(fields)
    assert form.read(message_id)["to"] == wanted
    check_to_all(form.box, wanted)


@pytest.mark.submission
def test_longest_field_is_not_cut(form, fields):
    """The message that Postfix passes on has all names, too."""
    run, n = unique("r"), 640
    wanted = [f"{run}.{i:03}@dst.test" for i in range(n)]
    # In lines of a name or an address: `To: "NAME"`, ` <ADDRESS>,`, ` "NAME"`.
    size = 60000 - len("To:\n") - n * len(' ""\n <>') - (n - 1) * len(",\n")
    size -= sum(map(len, wanted))
    lengths = [size // n + (i < size % n) for i in range(n)]
    names = ["x, ".ljust(length, "y") for length in lengths]
    fields["to"] = [f'"{name}" <{to}>' for name, to in zip(names, wanted)]
    form.send(fields)
    check_to_all(form.box, wanted)
    mail = form.box.sink.now(to=wanted[0])[0]
    (field,) = re.findall(rb"^To: (?:.*\n[ \t])*.*\n", mail.raw, re.M)
    assert len(field) == 60000
    assert re.findall(rb'"(.*)"', field) == [name.encode() for name in names]


def test_addresses_too_long_for_a_field(form, fields):
    fields["to"] = [f"{n:04}{'x' * 56}@dst.test" for n in range(1000)]
    message = "the header field To is longer than 60000 bytes"
    check_refused(form.post(fields), 400, message)
    fields.update(bcc=fields["to"][1:], to=fields["to"][0])
    fields["o:testmode"] = "yes"
    form.send(fields)


def test_addresses_of_too_many_words(form, fields):
    """Postfix would drop the last addresses of the field, and damage one."""
    run = unique("run")
    wanted = [f"a.b.{run}.{n}@dst.test" for n in range(1000)]
    fields["to"] = wanted
    message = (
        "the header field To: it has more than 10240 words and separators, "
        "which are all that Postfix reads"
    )
    check_refused(form.post(fields), 400, message)
    fields["to"] = wanted[:850]
    form.send(fields)
    check_to_all(form.box, wanted[:850])


@pytest.mark.submission
def test_as_many_as_the_setting_has(own_box, email):
    box = own_box("--set", "http.max_recipients=1000")
    run = unique("run")
    wanted = [f"{run}.{n}@dst.test" for n in range(1000)]
    named = [f'"{NAMES["quoted"].format(n)}" <{to}>' for n, to in enumerate(wanted)]
    email.update(to=named[:50], cc=named[50:])
    box.httpd().send(email)
    check_to_all(box, wanted)


def test_copies_of_individual_messages(form, fields):
    """Each has all of cc and bcc: as many rows would hold up everybody."""
    people = [f"{n}@dst.test" for n in range(500)]
    copies = [f"copy{n}@dst.test" for n in range(20)]
    fields.update({"to": people, "recipient-variables": "{}", "o:testmode": "yes"})
    answer = form.post({**fields, "bcc": copies[:10], "cc": copies[10:]})
    check_refused(
        answer,
        413,
        "Too many recipients in one request, max is 10000: 500 emails have "
        "10500, with cc and bcc of each",
    )
    assert form.post({**fields, "bcc": copies[:10], "cc": copies[11:]}).status == 200


def test_batch_of_many(own_box, email):
    box = own_box("--set", "http.max_recipients=1000")
    bcc = [f"{n}@dst.test" for n in range(990)]
    answer = box.httpd().batch([{**email, "bcc": bcc}] * 100)
    check_problem(
        answer,
        413,
        "validation_error",
        "Too many recipients in one request, max is 10000: 100 emails have "
        "99100, with cc and bcc of each",
    )


def test_limit_is_a_setting(own_box, email):
    box = own_box("--set", "http.max_recipients=2")
    httpd = box.httpd()
    httpd.send({**email, "cc": people(1)})
    answer = httpd.post({**email, "cc": people(2)})
    check_problem(answer, 422, "validation_error", "2")
    form = FormClient(box)
    form.send({**email, "cc": people(1)})
    message = "Too many recipients, max is 2"
    check_refused(form.post({**email, "cc": people(2)}), 400, message)
    mime = {"to": people(3), "message": File("m", b"From: hello@example.com\n\nx\n")}
    check_refused(form.post(mime, path="messages.mime"), 400, message)
