"""More requests at once than the server wants to hold."""

import datetime
import select
import threading

import pytest
from harness import FormClient, Sandbox, wait_for
from harness.form import check_refused
from harness.httpd import check_problem
from harness.sandbox import unique

MOST = 3  # of one company alone, of the places of all
PLACES = 2 * MOST - 1
BUSY = "The service has too many requests to handle now. Please try again."
GREEDY = "Your company has too many requests under way now. Please try again."
UNKNOWN_ID = "3c0d6a52-6c7b-4a0a-9b1c-2b5b7f5a8f11"


@pytest.fixture(scope="module")
def busy_box():
    with Sandbox(
        "--set", f"http.max_requests={PLACES}", "--set", "http.workers=2",
        "--set", "http.max_wait=0",
    ) as box:
        yield box


@pytest.fixture
def client(busy_box):
    return busy_box.httpd()


def begin(httpd):
    """Returns a request whose body was asked for and is not sent yet; None if it was
    refused."""
    lines = [
        "POST /emails HTTP/1.1",
        f"Host: {httpd.host}",
        f"Authorization: Bearer {httpd.key}",
        "Content-Type: application/json",
        "Expect: 100-continue",
        "Content-Length: 1000",
    ]
    raw = httpd.raw()
    raw.send("\r\n".join([*lines, "", ""]).encode())
    answer = raw.answer()
    if answer.status == 100:
        return raw
    assert answer.status == 503
    raw.socket.close()
    return None


@pytest.fixture
def full(client):
    """The company has all its slots. Earlier requests may not have ended yet."""
    held = [wait_for("a place", lambda: begin(client)) for _ in range(MOST)]
    yield held
    for raw in held:
        raw.socket.close()


@pytest.fixture
def others(busy_box):
    """Clients of companies of their own."""
    companies = [busy_box.company() for _ in range(PLACES - MOST + 1)]
    return [busy_box.httpd(busy_box.new_key(c)["token"]) for c in companies]


def check_busy(answer, text=BUSY):
    check_problem(answer, 503, "application_error", text)
    assert int(answer.headers["retry-after"]) > 0


def test_a_company_leaves_places_to_others(client, full, others):
    """Others get slots, one by one, until there are none at all."""
    *guests, late = others
    for guest in guests:
        check_busy(client.get(UNKNOWN_ID), GREEDY)
        raw = wait_for("a place", lambda: begin(guest))
        full.append(raw)
    check_busy(late.get(UNKNOWN_ID))
    full.pop().socket.close()
    wait_for("a place", lambda: late.get(UNKNOWN_ID).status_code == 404)


def test_further_requests_are_to_come_later(busy_box, client, full, email, to):
    check_busy(client.post(email), GREEDY)
    check_busy(client.get(UNKNOWN_ID), GREEDY)
    for raw in full:
        raw.socket.close()
    wait_for("a place", lambda: client.post(email).status_code == 200)
    assert len(busy_box.sink.find(to=to).recipients) == 1


def test_a_request_waits_for_a_slot(own_box):
    """It is served when another one of its company ends."""
    box = own_box("--set", f"http.max_requests={PLACES}", "--set", "http.max_wait=10m")
    client = box.httpd()
    held = [begin(client) for _ in range(MOST)]
    assert all(held)
    with client.raw(timeout_s=600) as late:
        late.send(
            f"GET /emails/{UNKNOWN_ID} HTTP/1.1\r\nHost: {client.host}\r\n"
            f"Authorization: Bearer {client.key}\r\n\r\n".encode()
        )
        assert not select.select([late.socket], [], [], 0.5)[0]
        held.pop().socket.close()
        assert late.answer().status == 404
    for raw in held:
        raw.socket.close()


def test_form_dialect(busy_box, full, fields):
    answer = FormClient(busy_box).post(fields)
    check_refused(answer, 503, GREEDY)
    assert int(answer.headers["retry-after"]) > 0


def test_strangers_take_no_place(busy_box, client):
    """Requests without a key take no slots from others."""
    stranger = busy_box.httpd("ps_unknown")
    connections = [stranger.raw() for _ in range(MOST * 2)]
    for raw in connections:
        raw.send(
            f"POST /emails HTTP/1.1\r\nHost: {client.host}\r\n"
            "Content-Type: application/json\r\n"
            f"Authorization: Bearer {stranger.key}\r\n"
            "Content-Length: 100\r\n\r\n".encode()
        )
    wait_for("a place", lambda: client.get(UNKNOWN_ID).status_code == 404)
    for raw in connections:
        raw.socket.close()


def test_places_come_back(client, email):
    """However a request ends."""
    for _ in range(MOST * 4):
        other = {**email, "to": unique("to") + "@dst.test"}
        assert client.post(other).status_code == 200
        assert client.post({}).status_code == 422
        assert client.get(UNKNOWN_ID).status_code == 404
        wait_for("a place", lambda: begin(client)).socket.close()
        wait_for("a place", lambda: client.get(UNKNOWN_ID).status_code == 404)


def send_form(box, people):
    fields = {"from": "hello@example.com", "to": people, "text": "x"}
    return FormClient(box).post({**fields, "recipient-variables": "{}"}).status


def send_batch(box, people):
    fields = {"from": "hello@example.com", "text": "x"}
    return box.httpd().batch([{**fields, "to": to} for to in people]).status_code


@pytest.mark.submission("sendmail")  # smtpd takes nothing without the milter
@pytest.mark.parametrize("send", [send_form, send_batch])
def test_a_request_counts_as_many_as_its_emails(own_box, send):
    """Emails that wait for the milter's record count as in progress. A request that
    exceeds the limit is accepted all the same, and others are served."""
    box = own_box(
        "--set", "http.max_requests=5", "--set", "submission.record_wait=60s"
    )
    people = [unique("to") + "@dst.test" for _ in range(8)]
    other = box.httpd(box.new_key(box.company())["token"])
    box.stop("milter")
    statuses = []
    sender = threading.Thread(target=lambda: statuses.append(send(box, people)))
    sender.start()
    wait_for("the mails to be submitted", lambda: box.waiting() == len(people))
    check_busy(box.httpd().get(UNKNOWN_ID), GREEDY)
    assert other.get(UNKNOWN_ID).status_code == 404
    box.start("milter")
    box.flush()
    sender.join()
    assert statuses == [200]
    wait_for("a place", lambda: box.httpd().get(UNKNOWN_ID).status_code == 404)


def test_a_newsletter_holds_up_nobody(own_box):
    """Companies take turns: another company's email waits for one email of the
    newsletter, not for all, and finds a slot."""
    box = own_box(
        "--set", "http.max_requests=10", "--set", "submission.max_pending=10",
        "--set", "submission.processes=1", "--set", "submission.sessions=1",
        "--set", "http.workers=1",
    )
    company = box.company()
    domain = box.domain(company)
    other = box.httpd(box.new_key(company)["token"])
    people = [unique("to") + "@dst.test" for _ in range(300)]
    statuses = []
    sender = threading.Thread(
        target=lambda: statuses.append(send_form(box, people))
    )
    sender.start()
    wait_for("the first of them", box.sink.all)
    for _ in range(3):
        answer = other.post(
            {"from": f"x@{domain}", "to": "x@dst.test", "text": "x"}
        )
        assert answer.status_code == 200
        wait_for("it to go", lambda: other.read(answer.json()["id"])["last_event"]
                 in ("sent", "delivered"))
        assert len(box.sink.all()) < 300
    sender.join()
    assert statuses == [200]
    wait_for("all of it", lambda: len(box.sink.all()) == 303)


@pytest.mark.submission("sendmail")  # the milter is away, and what is submitted waits there
def test_what_one_has_in_hand_stops_no_schedule(own_box):
    """However many emails of one company are stuck on their way, scheduled, deferred
    and paused emails of others are sent when they are due."""
    box = own_box("--set", "submission.record_wait=60s")
    company = box.company()
    domain = box.domain(company)
    other = box.httpd(box.new_key(company)["token"])
    box.stop("milter")
    senders = [
        threading.Thread(target=send_batch, args=(box, [unique("to") + "@dst.test" for _ in range(40)]))
        for _ in range(2)
    ]
    for sender in senders:
        sender.start()
    wait_for("the mails to be submitted", lambda: box.waiting() == 80)
    soon = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=1)
    other.send({"from": f"x@{domain}", "to": "x@dst.test", "text": "x", "scheduled_at": soon.isoformat()})
    wait_for("the other one's", lambda: box.waiting() == 81)
    assert all(sender.is_alive() for sender in senders)
    box.start("milter")
    box.flush()
    for sender in senders:
        sender.join()
