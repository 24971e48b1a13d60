"""The records of refusals, through real Postfix."""


import pytest
from harness import Sandbox, wait_for
from harness.submit import plain


@pytest.fixture(scope="module")
def box():
    with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture
def domain(box):
    return box.domain(box.company())


def refusals(box, domain, *options):
    return box.cli("email", "list", "--refused", "--domain", domain, *options)


def test_what_is_on_record(box, domain, to):
    sent = plain(box, "smtp", "a@other.test", to, f"Boss <boss@{domain}>")
    assert sent.reply[0] == 550
    assert domain.encode() in sent.reply[1]
    row, = refusals(box, domain)
    wanted = {
        "outcome": "rejected",
        "reason": "no_ticket",
        "count": 1,
        "domain": domain,
        "origin": "internal",
        "client": "127.0.0.1",
        "login": None,
        "sender": "a@other.test",
        "from": f"boss@{domain}",
        "email_id": None,
        "queue_id": sent.queue_id(),
    }
    assert {name: row[name] for name in wanted} == wanted


def test_equal_ones_are_counted(box, domain, to):
    for _ in range(3):
        plain(box, "smtp", f"a@{domain}", to)
    plain(box, "smtp", f"b@{domain}", to)
    rows = refusals(box, domain)
    assert [(row["sender"], row["count"]) for row in rows] == [
        (f"b@{domain}", 1), (f"a@{domain}", 3)]
    assert len(refusals(box, domain, "--limit", "1")) == 1


def test_an_email_stands_beside_other_mail(own_box, to):
    box = own_box("--set", "submission.record_wait=500ms")
    plain(box, "smtp", "boss@example.com", to)
    box.stop("milter")
    email_id = box.httpd().send({"from": "a@example.com", "to": to, "text": "x"})
    box.cli("domain", "deactivate", "example.com")
    box.start("milter")
    box.flush()
    rows = wait_for("both refusals",
                    lambda: len(refusals(box, "example.com")) == 2
                    and refusals(box, "example.com"))
    assert [row["email_id"] for row in rows] == [email_id, None]
    assert [row["outcome"] for row in rows] == ["refused", "rejected"]
    assert "not active" in rows[0]["reason"]


def test_others_are_not_on_record(box, domain, to):
    assert plain(box, "smtp", "a@other.test", to).reply[0] == 250
    assert plain(box, "smtp", f"a@x{domain}", to).reply[0] == 250
    assert refusals(box, domain) == []


def rename(box, table, name):
    box.query(f"ALTER TABLE {table} RENAME TO {name}")


@pytest.mark.parametrize("policy", ["exclusive", "learn"])
def test_what_cannot_be_recorded_waits(own_box, to, policy):
    """It is neither refused nor accepted without a record."""
    box = own_box()
    box.cli("domain", "set", "example.com", "--policy", policy)
    rename(box, "refusal", "gone")
    assert plain(box, "smtp", "a@example.com", to).reply[0] == 451
    plain(box, "sendmail", "a@example.com", to).verdict()
    assert box.waiting() == 1
    assert plain(box, "smtp", "a@other.test", "v" + to).reply[0] == 250
    rename(box, "gone", "refusal")
    box.flush()
    wait_for("the refusal", lambda: refusals(box, "example.com"))
    wait_for("the maildrop to be empty", lambda: box.waiting() == 0)
