"""What is too old goes from the store while httpd runs; what is not stays, and
so does all that was sent."""


import pytest
from harness import wait_for
from harness.sandbox import unique

# In the other method nothing waits for the milter, so nothing stays staged.
pytestmark = pytest.mark.submission("sendmail")

DAY_US = 24 * 3600 * 1000000


@pytest.fixture
def box(own_box):
    return own_box("--set", "submission.record_wait=100ms")


class Store:
    def __init__(self, box):
        self.box = box

    def run(self, sql, *values):
        """Runs and commits a statement; returns the first column of its rows."""
        return {row[0] for row in self.box.sql(sql, *values)}

    def make_older(self, email_id, days):
        sql = "UPDATE email SET created_us = created_us - ? WHERE id = ?"
        self.run(sql, days * DAY_US, email_id)

    def supersede(self, ticket, email_id):
        """Gives an email an earlier ticket."""
        sql = "INSERT INTO superseded_ticket SELECT ?, id, created_us FROM email WHERE id = ?"
        self.run(sql, ticket, email_id)

    def is_clean(self, emails, tickets, keys):
        return (
            self.run("SELECT id FROM email") == emails
            and self.run("SELECT ticket FROM superseded_ticket") == tickets
            and self.run("SELECT count(*) FROM idempotency") == {keys}
        )


def send(box):
    """Sends with an Idempotency-Key; returns recipient and id."""
    to = unique("to") + "@dst.test"
    email = {"from": "hello@example.com", "to": to, "text": "x"}
    answer = box.httpd().post(email, headers={"Idempotency-Key": unique("key")})
    assert answer.status_code == 200, answer.text
    return to, answer.json()["id"]


def test_cleaning(box):
    store = Store(box)
    sent_to, sent = send(box)
    box.sink.find(to=sent_to)
    box.stop("milter")
    old_to, old = send(box)
    young_to, young = send(box)
    wait_for("both to wait", lambda: box.waiting() == 2)
    box.stop("httpd")
    store.run("DELETE FROM outbox")  # where they would have failed long before
    for email_id, days in ((sent, 400), (old, 31), (young, 30)):
        store.make_older(email_id, days)
        store.supersede(f"ticket of {email_id}", email_id)
    store.run("UPDATE idempotency SET created_us = created_us - ? WHERE results = ?", DAY_US, old)
    assert store.is_clean({sent, old, young}, {f"ticket of {i}" for i in (sent, old, young)}, 3)

    box.start("httpd")
    left = {sent, young}, {f"ticket of {young}"}, 2
    wait_for("what is old to go", lambda: store.is_clean(*left))
    assert box.httpd().read(sent)["to"] == [sent_to]

    box.start("milter")
    box.flush()
    assert box.sink.find(to=young_to)
    wait_for("the refusal", lambda: "reason=ticket_unknown" in box.log("milter"))
    wait_for("the record", lambda: box.httpd().get(young).status_code == 200)
    assert not box.sink.now(to=old_to)
