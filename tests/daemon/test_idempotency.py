"""A request with an Idempotency-Key is done once, however often it comes."""

import threading

import pytest
from harness import wait_for
from harness.form import queued_id, urlencoded
from harness.httpd import check_problem
from harness.sandbox import unique

pytestmark = pytest.mark.store

OTHER = "invalid_idempotent_request"
RUNNING = "concurrent_idempotent_requests"


@pytest.fixture
def key():
    return unique("key")


def with_key(key, **more):
    return {"headers": {"Idempotency-Key": key, **more}}


def id_of(answer):
    assert answer.status_code == 200, answer.text
    assert set(answer.json()) == {"id"}
    return answer.json()["id"]


def check_sent_once(box, to):
    """Delivered, and not again by what was sent before this."""
    box.flush()
    assert box.sink.find(to=to)
    probe = unique("probe") + "@dst.test"
    box.httpd().send({"from": "hello@example.com", "to": probe, "text": "x"})
    assert box.sink.find(to=probe)
    assert box.sink.find(to=to)


@pytest.mark.submission
def test_repeat(box, httpd, email, to, key):
    ids = {id_of(httpd.post(email, **with_key(key))) for _ in range(5)}
    assert len(ids) == 1
    assert httpd.read(ids.pop())["to"] == [to]
    check_sent_once(box, to)


def test_repeat_of_a_batch(box, httpd, key):
    addresses = [unique("to") + "@dst.test" for _ in range(5)]
    batch = [
        {"from": "hello@example.com", "to": to, "text": "x"} for to in addresses
    ]
    answers = [httpd.batch(batch, **with_key(key)) for _ in range(3)]
    assert [a.status_code for a in answers] == [200] * 3
    assert answers[0].json() == answers[1].json() == answers[2].json()
    assert len({one["id"] for one in answers[0].json()["data"]}) == 5
    for to in addresses:
        check_sent_once(box, to)


def test_repeat_of_a_permissive_batch(box, httpd, email, to, key):
    batch = [{**email, "headers": {"X\nA": "x"}}, email, {**email, "to": "x"}]
    options = with_key(key, **{"x-batch-validation": "permissive"})
    first, second = (httpd.batch(batch, **options).json() for _ in range(2))
    assert [e["index"] for e in first["errors"]] == [0, 2]
    assert first["data"] == second["data"]
    assert [e["index"] for e in second["errors"]] == [0, 2]
    assert first["errors"][1] == second["errors"][1]
    check_sent_once(box, to)


def test_repeat_after_a_restart(own_box, email, to, key):
    box = own_box()
    first = id_of(box.httpd().post(email, **with_key(key)))
    box.restart("httpd")
    assert id_of(box.httpd().post(email, **with_key(key))) == first
    check_sent_once(box, to)


def test_other_payload(box, httpd, email, to, key):
    first = id_of(httpd.post(email, **with_key(key)))
    for other in ({**email, "subject": "x"}, {**email, "cc": "c@dst.test"}):
        check_problem(httpd.post(other, **with_key(key)), 409, OTHER)
    check_problem(httpd.batch([email], **with_key(key)), 409, OTHER)
    assert id_of(httpd.post(email, **with_key(key))) == first
    check_sent_once(box, to)


def test_other_mode(httpd, email, key):
    """What is refused in one mode is sent in the other: not the same."""
    strict = with_key(key, **{"x-batch-validation": "strict"})
    permissive = with_key(key, **{"x-batch-validation": "permissive"})
    assert httpd.batch([email], **with_key(key)).status_code == 200
    assert httpd.batch([email], **strict).status_code == 200
    check_problem(httpd.batch([email], **permissive), 409, OTHER)


def test_keys_are_the_companys(box, httpd, email, to, key):
    """Any API key of the company repeats; another company's key is another."""
    first = id_of(httpd.post(email, **with_key(key)))
    sender = box.httpd(box.env["POSTERN_SENDING_KEY"])
    assert id_of(sender.post(email, **with_key(key))) == first
    company = box.company()
    other = {**email, "from": f"hello@{box.domain(company)}"}
    stranger = box.httpd(box.new_key(company)["token"])
    assert id_of(stranger.post(other, **with_key(key))) != first
    assert id_of(httpd.post(email, **with_key(key))) == first


@pytest.fixture
def bound(box):
    """A client of the same company whose key may send as another domain only."""
    return own_domain(box)[1]


def own_domain(box):
    """A new domain of the sandbox's company, a client with a key bound to it."""
    [company] = [
        d["company_id"]
        for d in box.cli("domain", "list")
        if d["name"] == "example.com"
    ]
    domain = box.domain(company)
    return domain, box.httpd(box.new_key(company, domain=domain)["token"])


def check_same_refusal(answer, first_time):
    """A repeat gets the same refusal as a first request."""
    check_problem(first_time, 403, "restricted_api_key", "not authorized")
    assert answer.status_code == 403
    assert answer.json() == first_time.json()


def test_repeat_with_a_key_of_another_domain(box, httpd, bound, email, to, key):
    first = id_of(httpd.post(email, **with_key(key)))
    refused = bound.post(email, **with_key(unique()))
    check_same_refusal(bound.post(email, **with_key(key)), refused)
    other = {**email, "subject": "other"}
    check_same_refusal(bound.post(other, **with_key(key)), refused)
    assert id_of(httpd.post(email, **with_key(key))) == first
    check_sent_once(box, to)


def test_batch_repeated_with_a_key_of_another_domain(httpd, bound, email, key):
    first = httpd.batch([email] * 2, **with_key(key))
    refused = bound.batch([email] * 2, **with_key(unique()))
    check_same_refusal(bound.batch([email] * 2, **with_key(key)), refused)
    assert httpd.batch([email] * 2, **with_key(key)).json() == first.json()


def test_permissive_batch_repeated_with_a_key_of_another_domain(
    box, httpd, bound, email, to, key
):
    """The answer shows only the emails that this key may send."""
    domain, of_domain = own_domain(box)
    other = {"from": f"a@{domain}", "to": "a@dst.test", "text": "x"}
    batch = [email, other, {**email, "to": "x"}]
    permissive = {"x-batch-validation": "permissive"}
    first = httpd.batch(batch, **with_key(key, **permissive)).json()
    for client, known in ((of_domain, first["data"][1:]), (bound, [])):
        answer = client.batch(batch, **with_key(key, **permissive)).json()
        fresh = client.batch(batch, **with_key(unique(), **permissive)).json()
        assert answer["data"] == known
        assert answer["errors"] == fresh["errors"]
    assert httpd.batch(batch, **with_key(key, **permissive)).json() == first
    check_sent_once(box, to)


def test_repeat_when_the_domain_is_gone(box, email, to, key):
    company = box.company()
    domain = box.domain(company)
    httpd = box.httpd(box.new_key(company)["token"])
    email = {**email, "from": f"hello@{domain}"}
    first = id_of(httpd.post(email, **with_key(key)))
    box.cli("domain", "deactivate", domain)
    check_problem(
        httpd.post(email, **with_key(key)), 403, "validation_error", "not active"
    )
    box.cli("domain", "activate", domain)
    assert id_of(httpd.post(email, **with_key(key))) == first
    check_sent_once(box, to)


def test_each_key_sends(box, httpd, email, to):
    ids = {id_of(httpd.post(email, **with_key(unique()))) for _ in range(3)}
    assert len(ids) == 3
    wait_for("all of them", lambda: len(box.sink.now(to=to)) == 3)


LONG = "x" * 256
BAD_KEYS = {"empty": "", "long": LONG + "x", "bytes": b"\xe9" * 257}
GOOD_KEYS = {
    "256": LONG,
    "bytes": b"\xe9" * 256,
    "utf-8": ("€" * 256).encode(),
    "other": "a/b c,d;e=\"f\"",
}


@pytest.mark.store("sqlite")
@pytest.mark.parametrize("bad", BAD_KEYS.values(), ids=BAD_KEYS)
def test_bad_key(httpd, email, bad):
    for answer in (
        httpd.post(email, **with_key(bad)),
        httpd.batch([email], **with_key(bad)),
        httpd.batch({}, **with_key(bad)),
    ):
        check_problem(
            answer,
            400,
            "invalid_idempotency_key",
            "Idempotency keys, if present, must have between 1 and 256 characters.",
        )


@pytest.mark.parametrize("good", GOOD_KEYS.values(), ids=GOOD_KEYS)
def test_good_key(httpd, email, good):
    first = id_of(httpd.post(email, **with_key(good)))
    assert id_of(httpd.post(email, **with_key(good))) == first


@pytest.mark.store("sqlite")
@pytest.mark.parametrize("bad", BAD_KEYS.values(), ids=BAD_KEYS)
def test_ignored_by_get(httpd, email, bad):
    assert httpd.get(httpd.send(email), **with_key(bad)).status_code == 200


@pytest.mark.store("sqlite")
def test_ignored_by_the_form_dialect(form, fields):
    kind, body = urlencoded(fields)
    answers = [form.post_body(kind, body, "Idempotency-Key: x") for _ in range(2)]
    assert len({queued_id(answer) for answer in answers}) == 2


REFUSED = {
    "malformed": (b"{", 400),
    "type": (b"[]", 422),
    "field": (b'{"from":"a@example.com","to":"x","text":"x"}', 422),
    "domain": (b'{"from":"a@nobody.test","to":"a@dst.test","text":"x"}', 403),
    "attachment": (
        b'{"from":"a@example.com","to":"a@dst.test","text":"x",'
        b'"attachments":[{"filename":"a","path":"http://x.test"}]}',
        422,
    ),
}


@pytest.mark.parametrize("body, status", REFUSED.values(), ids=REFUSED)
def test_refused_request_leaves_its_key(box, httpd, email, to, key, body, status):
    options = with_key(key, **{"Content-Type": "application/json"})
    for _ in range(2):
        answer = httpd.request("POST", "/emails", data=body, **options)
        assert answer.status_code == status
    id_of(httpd.post(email, **with_key(key)))
    check_sent_once(box, to)


@pytest.mark.store("sqlite")
def test_too_large_request_leaves_its_key(own_box, email, to, key):
    box = own_box("--set", "http.max_message_bytes=10000")
    httpd = box.httpd()
    large = {**email, "text": "x" * 11000}
    check_problem(httpd.post(large, **with_key(key)), 413, "validation_error")
    id_of(httpd.post(email, **with_key(key)))
    check_sent_once(box, to)


@pytest.mark.store("sqlite")
@pytest.mark.submission("sendmail")
def test_postfix_is_away(own_box, email, to, key, sendmail):
    """Emails in the outbox are kept under their key, also across a restart of httpd."""
    box = own_box("--set", f"submission.sendmail={sendmail}")
    sendmail.unlink()
    first = id_of(box.httpd().post(email, **with_key(key)))
    other = {**email, "subject": "other"}
    check_problem(box.httpd().post(other, **with_key(key)), 409, OTHER)
    assert id_of(box.httpd().post(email, **with_key(key))) == first
    box.set("submission", "sendmail", "/usr/sbin/sendmail")
    box.restart("httpd")
    assert id_of(box.httpd().post(email, **with_key(key))) == first
    check_sent_once(box, to)


@pytest.mark.store("sqlite")
@pytest.mark.submission("sendmail")
def test_milter_is_away(own_box, email, to, key):
    """The first answer is repeated, without a second message."""
    box = own_box("--set", "submission.record_wait=300ms")
    httpd = box.httpd()
    box.stop("milter")
    ids = {id_of(httpd.post(email, **with_key(key))) for _ in range(3)}
    assert len(ids) == 1
    # The answers may have been faster than Postfix.
    wait_for("the submission", lambda: box.in_hand() == 0)
    assert box.waiting() == 1
    box.restart("httpd")
    assert {id_of(httpd.post(email, **with_key(key)))} == ids
    assert box.in_hand() == 0
    assert box.waiting() == 1
    box.start("milter")
    check_sent_once(box, to)
    assert box.httpd().read(ids.pop())["last_event"] in ("sent", "delivered")


def race(box, n, send):
    """Returns the answers to n requests at once, each on its own connection."""
    answers = []
    start = threading.Barrier(n)

    def run():
        httpd = box.httpd()
        httpd.get("none")  # has the connection
        start.wait()
        answers.append(send(httpd))

    threads = [threading.Thread(target=run) for _ in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


@pytest.fixture(scope="module")
def wide_box():
    from harness import Sandbox

    with Sandbox("--set", "http.workers=4") as box:
        yield box


@pytest.mark.parametrize("turn", range(5))
def test_32_at_once(wide_box, email, to, key, turn):
    answers = race(wide_box, 32, lambda h: h.post(email, **with_key(key)))
    done = [a for a in answers if a.status_code == 200]
    for answer in answers:
        if answer.status_code != 200:
            check_problem(answer, 409, RUNNING)
    assert len(answers) == 32
    assert len({id_of(a) for a in done}) == 1
    assert id_of(wide_box.httpd().post(email, **with_key(key))) == id_of(done[0])
    check_sent_once(wide_box, to)


def test_other_payloads_at_once(wide_box, email, to, key):
    """Each connection sends another payload: one is sent."""
    number = iter(range(32))
    answers = race(
        wide_box,
        32,
        lambda h: h.post({**email, "subject": f"{next(number)}"}, **with_key(key)),
    )
    assert [a.status_code for a in answers].count(200) == 1
    for answer in answers:
        if answer.status_code != 200:
            check_problem(answer, 409, OTHER)
    check_sent_once(wide_box, to)


def test_batches_at_once(wide_box, key):
    addresses = [unique("to") + "@dst.test" for _ in range(10)]
    batch = [
        {"from": "hello@example.com", "to": to, "text": "x"} for to in addresses
    ]
    answers = race(wide_box, 16, lambda h: h.batch(batch, **with_key(key)))
    assert {a.status_code for a in answers} <= {200, 409}
    assert len({a.text for a in answers if a.status_code == 200}) == 1
    for to in addresses:
        check_sent_once(wide_box, to)


@pytest.mark.submission("sendmail")
def test_while_it_runs(own_box, email, to, key):
    """409 while the first request is in progress, also for another payload."""
    box = own_box("--set", "submission.record_wait=3s")
    box.stop("milter")
    first = []
    thread = threading.Thread(
        target=lambda: first.append(box.httpd().post(email, **with_key(key)))
    )
    thread.start()
    wait_for("the mail to be submitted", lambda: box.waiting() == 1)
    httpd = box.httpd()
    check_problem(httpd.post(email, **with_key(key)), 409, RUNNING)
    check_problem(httpd.post({**email, "html": "x"}, **with_key(key)), 409, OTHER)
    thread.join()
    assert id_of(httpd.post(email, **with_key(key))) == id_of(first[0])
    box.start("milter")
    check_sent_once(box, to)
