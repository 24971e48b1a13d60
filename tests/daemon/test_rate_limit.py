"""So many requests a second for each company, and no more."""

import signal
import smtplib
import threading

import pytest
from harness import FormClient, Sandbox, wait_for
from harness.form import check_refused
from harness.httpd import check_problem
from test_smtp_auth import login, new_message, refused

UNKNOWN_ID = "3c0d6a52-6c7b-4a0a-9b1c-2b5b7f5a8f11"
FIELDS = ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"]
TOO_MANY = "Too many requests. You can only make {} requests per second."

# A token comes back each second.
BURST = 5


@pytest.fixture(scope="module")
def slow_box():
    with Sandbox(
        "--set", "http.rate_limit=1", "--set", f"http.rate_burst={BURST}", parts=["auth"]
    ) as box:
        yield box


@pytest.fixture
def company(slow_box):
    return slow_box.company()


@pytest.fixture
def client(slow_box, company):
    return slow_box.httpd(slow_box.new_key(company)["token"])


def standing(answer):
    """Returns (limit, remaining, reset) of the answer."""
    headers = {name.lower(): value for name, value in answer.headers.items()}
    return tuple(int(headers[name]) for name in FIELDS)


def check_too_many(answer):
    check_problem(answer, 429, "rate_limit_exceeded", TOO_MANY.format(1))
    assert int(answer.headers["retry-after"]) >= 1
    assert standing(answer)[1] == 0


def use_up(httpd):
    """Makes requests until one is refused; returns that answer."""
    while True:
        answer = httpd.get(UNKNOWN_ID)
        if answer.status_code != 404:
            return answer


def test_off_unless_set(httpd, email):
    for _ in range(20):
        answer = httpd.get(UNKNOWN_ID)
        assert answer.status_code == 404
    for name in [*FIELDS, "retry-after"]:
        assert name not in answer.headers
        assert name not in httpd.post(email).headers


def test_tokens_are_counted(client):
    first = client.get(UNKNOWN_ID)
    assert standing(first) == (BURST, BURST - 1, 1)
    refused = use_up(client)
    check_too_many(refused)
    assert standing(refused)[2] <= BURST
    wait_for("a token", lambda: client.get(UNKNOWN_ID).status_code == 404)


JSON = {"Content-Type": "application/json"}
GOOD = {"from": "hello@example.com", "to": "x@dst.test", "text": "x"}


@pytest.mark.parametrize(
    "status, method, path, options",
    [
        (403, "POST", "/emails", {"json": GOOD}),
        (422, "POST", "/emails", {"json": {}}),
        (400, "POST", "/emails", {"data": b"{", "headers": JSON}),
        (415, "POST", "/emails", {"data": b"x"}),
        (422, "GET", "/emails/x", {}),
        (404, "GET", f"/emails/{UNKNOWN_ID}", {}),
    ],
)
def test_every_answer_tells(client, status, method, path, options):
    answer = client.request(method, path, **options)
    assert answer.status_code == status, answer.text
    assert standing(answer) == (BURST, BURST - 1, 1)


def test_success_tells(slow_box, company, client, email):
    domain = slow_box.domain(company)
    answer = client.post({**email, "from": f"hello@{domain}"})
    assert answer.status_code == 200
    assert standing(answer) == (BURST, BURST - 1, 1)


def announce(httpd, length):
    """Returns the answer to the head of an email of that length, without its body."""
    lines = [
        "POST /emails HTTP/1.1",
        f"Host: {httpd.host}",
        f"Authorization: Bearer {httpd.key}",
        "Content-Type: application/json",
        f"Content-Length: {length}",
    ]
    with httpd.raw() as raw:
        raw.send("\r\n".join([*lines, "", ""]).encode())
        return raw.answer()


def test_refusal_before_the_body_tells(client):
    answer = announce(client, 999_999_999)
    assert answer.status == 413
    assert standing(answer) == (BURST, BURST - 1, 1)


def test_decided_before_the_body(client):
    use_up(client)
    answer = announce(client, 1_000_000)
    assert answer.status == 429
    assert answer.json()["name"] == "rate_limit_exceeded"
    assert int(answer.headers["retry-after"]) >= 1
    assert standing(answer)[:2] == (BURST, 0)


def test_nothing_is_told_without_a_company(slow_box, client):
    stranger = slow_box.httpd("ps_unknown")
    for _ in range(BURST + 2):
        for answer in (stranger.get(UNKNOWN_ID), client.request("GET", "/nothing")):
            assert answer.status_code in (401, 404)
            assert FIELDS[0] not in answer.headers


def test_keys_of_a_company_share(slow_box, company, client):
    check_too_many(use_up(client))
    second = slow_box.httpd(slow_box.new_key(company)["token"])
    seen = {second.get(UNKNOWN_ID).status_code for _ in range(3)}
    assert 429 in seen
    other = slow_box.httpd(slow_box.new_key(slow_box.company())["token"])
    assert standing(other.get(UNKNOWN_ID)) == (BURST, BURST - 1, 1)


def test_form_dialect(slow_box, company, fields):
    domain = slow_box.domain(company)
    form = FormClient(slow_box, slow_box.new_key(company)["token"], domain)
    fields["from"] = f"hello@{domain}"
    answer = form.post(fields)
    assert answer.status == 200
    assert standing(answer) == (BURST, BURST - 1, 1)
    while answer.status != 429:
        answer = form.post({})
    check_refused(answer, 429, TOO_MANY.format(1))
    assert int(answer.headers["retry-after"]) >= 1
    assert standing(answer)[:2] == (BURST, 0)


def test_over_smtp(slow_box, company, to):
    """Messages of all keys of a company are counted together, apart from requests. A
    deferred client may try again, and no other company is deferred."""
    domain = slow_box.domain(company)
    sessions = [login(slow_box, slow_box.new_key(company)["token"]) for _ in range(2)]
    sender = f"a@{domain}"

    def send(n):
        return sessions[n % 2].sendmail(sender, [to], new_message(to, sender)[1])

    taken = 0
    with pytest.raises(smtplib.SMTPDataError) as error:
        while taken < 100 * BURST:
            send(taken)
            taken += 1
    assert taken >= BURST and error.value.smtp_code == 451
    assert error.value.smtp_error.startswith(b"4.7.1 Too many messages from this company")
    code, text = refused(sessions[0], "a@nobody.test", [to], new_message(to, "a@nobody.test")[1])
    assert code == 550
    other = slow_box.company()
    sender_of_other = f"a@{slow_box.domain(other)}"
    session = login(slow_box, slow_box.new_key(other)["token"])
    data = new_message(to, sender_of_other)[1]
    assert session.sendmail(sender_of_other, [to], data) == {}

    def again():
        try:
            return send(0) == {}
        except smtplib.SMTPDataError:
            return False

    wait_for("a token", again)


def test_workers_share_and_reload(own_box):
    """The limit does not depend on the number of workers; SIGHUP changes it."""
    box = own_box(
        "--set", "http.workers=4",
        "--set", "http.rate_limit=1", "--set", "http.rate_burst=100",
    )
    statuses = []

    def ask():
        httpd = box.httpd()
        for _ in range(10):
            with_new_connection = httpd.get(
                UNKNOWN_ID, headers={"Connection": "close"}
            )
            statuses.append(with_new_connection.status_code)

    clients = [threading.Thread(target=ask) for _ in range(20)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    # Those 200 take less than the hundred seconds that double their number.
    assert 100 <= statuses.count(404) < 200
    assert set(statuses) == {404, 429}

    httpd = box.httpd()
    check_too_many(use_up(httpd))
    box.set("http", "rate_limit", "0")
    box.kill("httpd", signal.SIGHUP)
    wait_for("no limit", lambda: FIELDS[0] not in httpd.get(UNKNOWN_ID).headers)
    assert {httpd.get(UNKNOWN_ID).status_code for _ in range(20)} == {404}
