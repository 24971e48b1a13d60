"""POST /emails/batch: many emails in one request."""

import base64
import json
import os
import signal

import pytest
from harness import FormClient, wait_for
from harness.httpd import check_problem
from harness.sandbox import METHOD, unique

pytestmark = pytest.mark.store

INVALID = "validation_error"
NAMED = "Invalid `[1].to` field."


def emails_to(*addresses, **more):
    return [
        {"from": "hello@example.com", "to": to, "text": "x", **more}
        for to in addresses
    ]


def new_addresses(n):
    return [unique("to") + "@dst.test" for _ in range(n)]


def ids_of(answer, n):
    """Returns the ids of an answer to a batch of which all emails were accepted."""
    assert answer.status_code == 200, answer.text
    assert set(answer.json()) == {"data"}
    ids = [one["id"] for one in answer.json()["data"]]
    assert all(set(one) == {"id"} for one in answer.json()["data"])
    assert len(set(ids)) == n
    return ids


def permissive(httpd, emails, **headers):
    headers["x-batch-validation"] = "permissive"
    return httpd.batch(emails, headers=headers)


def test_ids_are_in_order(box, httpd):
    addresses = new_addresses(100)
    ids = ids_of(httpd.batch(emails_to(*addresses)), 100)
    for to, email_id in zip(addresses, ids):
        assert httpd.read(email_id)["to"] == [to]
        assert box.sink.find(to=to)


def test_one_email(box, httpd, to):
    (email_id,) = ids_of(httpd.batch(emails_to(to)), 1)
    assert httpd.read(email_id)["to"] == [to]


def test_everything_in_it(box, httpd):
    first, second = new_addresses(2)
    data = os.urandom(100_000)
    batch = [
        {
            "from": "Acme <hello@example.com>",
            "to": [first],
            "subject": "Grüße",
            "html": "<p>Hi</p>",
            "headers": {"X-Mine": "1"},
            "attachments": [
                {"filename": "a.bin", "content": base64.b64encode(data).decode()}
            ],
        },
        {"from": "b@example.com", "to": second, "text": "other"},
    ]
    ids_of(httpd.batch(batch), 2)
    mail, other = box.sink.find(to=first), box.sink.find(to=second)
    assert mail.header("Subject") == "Grüße"
    assert mail.header("X-Mine") == "1"
    assert [a[3] for a in mail.attachments()] == [data]
    assert (other.sender, other.body("plain")) == ("b@example.com", "other\n")
    assert other.attachments() == []


REFUSED = {
    "object": ({}, 422, INVALID, "The `request.body` field must be an `array`."),
    "null": (None, 422, INVALID, "The `request.body` field must be an `array`."),
    "empty": ([], 422, INVALID, "at least one"),
    "too many": (emails_to(*["a@dst.test"] * 101), 422, INVALID, "100"),
    "no email": ([7], 422, INVALID, "[0]"),
}


@pytest.mark.store("sqlite")
@pytest.mark.parametrize("body, status, name, message", REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("mode", ["strict", "permissive"])
def test_no_batch(httpd, mode, body, status, name, message):
    """A body that is no batch is refused in both modes, except for a bad item."""
    headers = {"x-batch-validation": mode, "Content-Type": "application/json"}
    data = b"null" if body is None else None
    answer = httpd.batch(body, headers=headers, data=data)
    if mode == "permissive" and body == [7]:
        assert answer.status_code == 200
    else:
        check_problem(answer, status, name, message)


@pytest.mark.store("sqlite")
@pytest.mark.parametrize("mode", ["", "lax", "Strict", "strict permissive"])
def test_unknown_mode(httpd, mode):
    answer = httpd.batch(
        emails_to("a@dst.test"), headers={"x-batch-validation": mode}
    )
    check_problem(answer, 422, INVALID, "x-batch-validation")


def test_sending_key_is_needed(box, httpd):
    reader = box.httpd(box.new_key(box.company(), scope="reading")["token"])
    answer = reader.batch(emails_to("a@dst.test"))
    check_problem(answer, 403, "restricted_api_key")
    answer = box.httpd("ps_none").batch(emails_to("a@dst.test"))
    check_problem(answer, 401, "invalid_api_key")


BAD = {
    "address": ({"to": "nonsense"}, 422, INVALID, NAMED),
    "missing": ({"to": None}, 422, "missing_required_field", "`[1].to`"),
    "attachment": (
        {"attachments": [{"filename": "a"}]},
        422,
        "invalid_attachment",
        "`[1].attachments[0]`",
    ),
    "domain": (
        {"from": "a@nobody.example"},
        403,
        INVALID,
        "[1]: The nobody.example domain is not verified.",
    ),
    "recipients": (
        {"to": ["a@dst.test"] * 30, "cc": ["b@dst.test"] * 21},
        422,
        INVALID,
        "`[1].to`, `[1].cc` and `[1].bcc`",
    ),
    "later": ({"scheduled_at": "tomorrow"}, 422, INVALID, "`[1].scheduled_at`"),
}


def with_bad(addresses, change):
    batch = emails_to(*addresses)
    batch[1].update(change)
    return batch


@pytest.mark.store("sqlite")
@pytest.mark.parametrize("change, status, name, message", BAD.values(), ids=BAD)
@pytest.mark.parametrize("headers", [{}, {"x-batch-validation": "strict"}])
def test_one_bad_refuses_all(box, httpd, headers, change, status, name, message):
    addresses = new_addresses(3)
    answer = httpd.batch(with_bad(addresses, change), headers=headers)
    check_problem(answer, status, name, message)
    after = new_addresses(1)
    httpd.batch(emails_to(*after))
    assert box.sink.find(to=after[0])
    assert not any(box.sink.now(to=to) for to in addresses)


@pytest.mark.parametrize("change, status, name, message", BAD.values(), ids=BAD)
def test_permissive(box, httpd, change, status, name, message):
    addresses = new_addresses(3)
    answer = permissive(httpd, with_bad(addresses, change))
    assert answer.status_code == 200
    found = answer.json()
    assert set(found) == {"data", "errors"}
    assert [set(error) for error in found["errors"]] == [{"index", "message"}]
    assert found["errors"][0]["index"] == 1
    ids = [one["id"] for one in found["data"]]
    assert len(ids) == 2
    for to, email_id in zip(addresses[::2], ids):
        assert httpd.read(email_id)["to"] == [to]
        assert box.sink.find(to=to)
    assert not box.sink.now(to=addresses[1])


def test_permissive_all_well(httpd):
    ids_of(permissive(httpd, emails_to(*new_addresses(2))), 2)


def test_permissive_all_bad(httpd):
    answer = permissive(httpd, [{"from": "x"}, 7])
    assert answer.status_code == 200
    assert answer.json()["data"] == []
    assert [e["index"] for e in answer.json()["errors"]] == [0, 1]


@pytest.mark.store("sqlite")
def test_get_of_the_path(httpd):
    """GET takes the path for that of an email, and its id does not exist."""
    check_problem(httpd.get("batch"), 422, "invalid_parameter")


@pytest.mark.store("sqlite")
def test_memory_of_many_values(own_box):
    """The memory of a small body with very many emails is charged by what they need
    parsed."""
    box = own_box("--set", "http.max_inflight_bytes=16M")
    answer = box.httpd().request(
        "POST",
        "/emails/batch",
        data=b"[" + b",".join([b"{}"] * 1_000_000) + b"]",
        headers={"Content-Type": "application/json"},
    )
    check_problem(answer, 413, INVALID)


@pytest.mark.store("sqlite")
def test_recipients_limit_is_each_emails(own_box):
    box = own_box("--set", "http.max_recipients=2")
    a, b, c = new_addresses(3)
    ids_of(box.httpd().batch(emails_to([a, b], [b, c], [c, a])), 3)


# A `sendmail -bs` in front of Postfix's: what it does with some messages, until a
# file says that all is well again. It goes by the field To: the envelope has the
# ticket.
SENDMAIL = """#!/usr/bin/python3
import os, signal, subprocess, sys

def say(reply):
    sys.stdout.write(reply + "\\r\\n")
    sys.stdout.flush()

def content():
    while lines[-1] != b".\\r\\n":
        lines.append(sys.stdin.buffer.readline())
    to = next(line for line in lines if line.startswith(b"To:"))
    if not os.path.exists("{well}"):
        if b"temporary-" in to:
            return "451 4.3.0 not now"
        if b"rejected-" in to:
            return "554 5.7.1 never"
        if b"killed-" in to:
            os.kill(os.getpid(), signal.SIGKILL)
    real = subprocess.run(["/usr/sbin/sendmail", *sys.argv[1:]], capture_output=True,
                          input=b"".join([b"EHLO x\\r\\n", *lines, b"QUIT\\r\\n"]))
    return real.stdout.decode().splitlines()[-2]

say("220 moody")
lines = []
for line in sys.stdin.buffer:
    lines = [line] if line.startswith((b"EHLO", b"MAIL")) else [*lines, line]
    if line.startswith(b"DATA"):
        say("354 go on")
        say(content())
    else:
        say("250 2.0.0 well")
"""


# By SMTP Postfix itself does so, before it asks the milter.
RULES = "header_checks=regexp:{{/^To:.*rejected-/ REJECT never}, {/^To:.*temporary-/ REJECT 4.3.0 not now}}"


class Moody:
    """How Postfix treats a message."""

    def __init__(self, box, well):
        self.box, self.well = box, well

    def spoil(self):
        if METHOD == "smtp":
            self.apply(RULES)
        else:
            self.well.unlink(missing_ok=True)

    def mend(self):
        if METHOD == "smtp":
            self.apply("header_checks=")
        else:
            self.well.touch()

    def apply(self, rules):
        if self.box.main_cf("header_checks") != rules.partition("=")[2]:
            self.box.postconf(rules)
            self.box.restart("postfix")


@pytest.fixture(scope="module")
def moody_box(tmp_path_factory):
    """A sandbox whose sendmail(1) or Postfix fails as the recipient's name says."""
    from harness import Sandbox

    folder = tmp_path_factory.mktemp("sendmail")
    folder.chmod(0o755)
    for parent in folder.parents[:2]:
        parent.chmod(0o755)
    script = folder / "sendmail"
    script.write_text(SENDMAIL.format(well=folder / "well"))
    script.chmod(0o755)
    with Sandbox(
        "--set",
        f"submission.sendmail={script}",
        "--set",
        "submission.record_wait=5s",
    ) as box:
        box.moods = Moody(box, folder / "well")
        yield box


@pytest.fixture
def moody(moody_box):
    moody_box.moods.spoil()
    yield moody_box
    moody_box.moods.mend()
    wait_for("the outbox to be empty",
             lambda: moody_box.query("SELECT count(*) FROM outbox") == "0")


def mixed(how, n=3):
    """Three addresses, of which the second is treated this way."""
    addresses = new_addresses(n)
    addresses[1] = unique(how) + "@dst.test"
    return addresses


@pytest.mark.submission
def test_none_goes_out(moody):
    """The answer is an error and nothing is stored, in both modes."""
    httpd = moody.httpd()
    batch = emails_to(*[unique("rejected") + "@dst.test" for _ in range(3)])
    before = len(moody.cli("email", "list", "--limit", "1000"))
    strict = httpd.batch(batch)
    assert strict.status_code == 422 and "[0]" in strict.json()["message"]
    assert [e["index"] for e in permissive(httpd, batch).json()["errors"]] == [0, 1, 2]
    assert len(moody.cli("email", "list", "--limit", "1000")) == before


def check_delivered(box, addresses, ids):
    for to, email_id in zip(addresses, ids):
        box.sink.find(to=to)
        assert box.httpd().read(email_id)["to"] == [to]


@pytest.mark.submission
@pytest.mark.parametrize("how", ["temporary", "killed"])
@pytest.mark.parametrize("mode", ["strict", "permissive"])
def test_some_are_put_off(moody, how, mode):
    """All are accepted; the one that Postfix defers is delivered later, once. A
    repeated request gets the same answer."""
    if METHOD == "smtp" and how == "killed":
        pytest.skip("nothing is started for a message")
    httpd = moody.httpd()
    addresses = mixed(how)
    headers = {"x-batch-validation": mode, "Idempotency-Key": unique()}
    ids = ids_of(httpd.batch(emails_to(*addresses), headers=headers), 3)
    for to in addresses[::2]:
        moody.sink.find(to=to)
    assert httpd.read(ids[1])["last_event"] == "queued"
    assert ids == ids_of(httpd.batch(emails_to(*addresses), headers=headers), 3)
    assert not moody.sink.now(to=addresses[1])
    moody.moods.mend()
    check_delivered(moody, addresses, ids)


@pytest.mark.submission
@pytest.mark.parametrize("mode", ["strict", "permissive"])
def test_some_are_rejected(moody, mode):
    """The answer names the emails that were not sent."""
    httpd = moody.httpd()
    addresses = mixed("rejected")
    answer = httpd.batch(emails_to(*addresses), headers={"x-batch-validation": mode})
    assert answer.status_code == 200, answer.text
    (error,) = answer.json()["errors"]
    assert error["index"] == 1
    check_delivered(moody, addresses[::2], [one["id"] for one in answer.json()["data"]])


def form_to(box, addresses):
    return FormClient(box).post({
        "from": "hello@example.com", "to": addresses, "subject": "x", "text": "x",
        "recipient-variables": json.dumps({to: {"id": n} for n, to in enumerate(addresses)})})


@pytest.mark.submission("smtp")
def test_rejected_after_the_answer(moody):
    """A request with that many emails does not wait. The email that Postfix refuses
    becomes failed, with Postfix's reply."""
    httpd = moody.httpd()
    addresses = [unique("rejected") + "@dst.test", *new_addresses(50)]
    answer = httpd.batch(emails_to(*addresses))
    assert answer.status_code == 200 and len(answer.json()["data"]) == 51
    email_id = answer.json()["data"][0]["id"]
    wait_for("its end", lambda: httpd.read(email_id)["last_event"] == "failed")
    [event] = httpd.request("GET", f"/emails/{email_id}/events").json()["data"]
    assert event["type"] == "failed" and "never" in event["message"]
    for to in addresses[1:]:
        assert moody.sink.find(to=to)


@pytest.mark.submission
def test_part_of_a_form(moody):
    """Messages that were sent are reported as sent, also if they were not the first."""
    addresses = new_addresses(3)
    addresses[0] = unique("rejected") + "@dst.test"
    answer = form_to(moody, addresses)
    assert answer.status == 200, answer.body
    told = json.loads(answer.body)
    assert told["sent"] == 2 and told["message"].startswith("Queued 2 of 3 emails.")
    assert [one["to"] for one in told["not_sent"]] == addresses[:1]
    for to in addresses[1:]:
        moody.sink.find(to=to)
    assert told["id"] == moody.sink.find(to=addresses[1]).header("Message-ID")


@pytest.mark.submission
@pytest.mark.parametrize("how, status", [("temporary", 200), ("rejected", 400), ("killed", 200)])
def test_all_of_a_form(moody, how, status):
    if METHOD == "smtp" and how == "killed":
        pytest.skip("nothing is started for a message")
    addresses = [unique(how) + "@dst.test" for _ in range(2)]
    answer = form_to(moody, addresses)
    assert answer.status == status, answer.body
    moody.moods.mend()
    for to in addresses if status == 200 else []:
        moody.sink.find(to=to)


@pytest.mark.submission
@pytest.mark.parametrize("mode", ["strict", "permissive"])
def test_rejected_for_good(moody, mode):
    """A repeat gets the same answer and sends nothing."""
    httpd = moody.httpd()
    addresses = mixed("rejected")
    headers = {"Idempotency-Key": unique(), "x-batch-validation": mode}
    first = httpd.batch(emails_to(*addresses), headers=headers)
    assert [e["index"] for e in first.json()["errors"]] == [1]
    moody.moods.mend()
    second = httpd.batch(emails_to(*addresses), headers=headers)
    assert second.json() == first.json()
    for to in addresses[::2]:
        moody.sink.find(to=to)
    assert not moody.sink.now(to=addresses[1])


@pytest.mark.store("sqlite")
def test_httpd_is_told_to_stop(own_box):
    """A batch in progress is finished and answered."""
    import threading

    box = own_box("--set", "submission.processes=1")
    httpd = box.httpd()
    httpd.send(emails_to(*new_addresses(1))[0])  # answers are checked by what it serves
    addresses = new_addresses(20)
    answers = []
    client = threading.Thread(
        target=lambda: answers.append(httpd.batch(emails_to(*addresses)))
    )
    client.start()
    wait_for("the first of them", lambda: box.sink.now(to=addresses[0]))
    box.kill("httpd", signal.SIGTERM)
    client.join()
    ids_of(answers[0], 20)
    for to in addresses:
        box.sink.find(to=to)
