"""Every answer has an id that the log has as well."""

import re

import pytest
from harness import wait_for
from harness.form import UUID, basic
from harness.httpd import NAMES, check_problem

UNKNOWN_ID = "3c0d6a52-6c7b-4a0a-9b1c-2b5b7f5a8f11"
EMAILS = "POST /emails HTTP/1.1"
FORM = "POST /v3/example.com/messages HTTP/1.1"
BEARER = "Authorization: Bearer {key}"
BASIC = "Authorization: {basic}"
JSON = "Content-Type: application/json"
LENGTH = "Content-Length: {length}"

# What is sent, by the status that it gets; {} are filled in below. The names of
# the form dialect's errors are not told.
REQUESTS = {
    "good": (200, EMAILS, [BEARER, JSON, LENGTH], "{email}"),
    "not JSON": (400, EMAILS, [BEARER, JSON, LENGTH], "{{"),
    "two lengths": (400, EMAILS, [BEARER, "Content-Length: 1", "Content-Length: 2"], ""),
    "bad chunks": (400, EMAILS, [BEARER, JSON, "Transfer-Encoding: chunked"], "x\r\n"),
    "no request line": (400, "nonsense", [], ""),
    "no key": (401, EMAILS, [], ""),
    "no key and a large body": (401, EMAILS, ["Content-Length: 99999"], ""),
    "unknown key": (401, EMAILS, ["Authorization: Bearer x"], ""),
    "foreign domain": (403, EMAILS, [BEARER, JSON, LENGTH], "{foreign}"),
    "no such email": (404, f"GET /emails/{UNKNOWN_ID} HTTP/1.1", [BEARER], ""),
    "no such path": (404, "GET /nothing HTTP/1.1", [], ""),
    "method": (405, "PUT /emails HTTP/1.1", [], ""),
    "method that HTTP does not know": (405, "BREW /emails HTTP/1.1", [], ""),
    "too large": (413, EMAILS, [BEARER, JSON, "Content-Length: 999999999"], ""),
    "media type": (415, EMAILS, [BEARER, LENGTH], "{{}}"),
    "expectation": (417, EMAILS, [BEARER, "Expect: magic"], ""),
    "nothing given": (422, EMAILS, [BEARER, JSON, LENGTH], "{{}}"),
    "no id": (422, "GET /emails/x HTTP/1.1", [BEARER], ""),
    "head": (431, EMAILS, ["X: " + "x" * 50_000], ""),
    "coding": (501, EMAILS, [BEARER, "Transfer-Encoding: gzip"], ""),
    "version": (505, "GET / HTTP/3.0", [], ""),
    "form: no key": (401, FORM, [], ""),
    "form: nothing given": (400, FORM, [BASIC, "Content-Length: 0"], ""),
    "form: domain": (404, "POST /v3/x.test/messages HTTP/1.1", [BASIC], ""),
    "form: too large": (413, FORM, [BASIC, "Content-Length: 999999999"], ""),
}


def exchange(httpd, to, line, fields, body):
    words = {
        "key": httpd.key,
        "basic": basic("api", httpd.key),
        "email": f'{{"from":"a@example.com","to":"{to}","text":"x"}}',
        "foreign": f'{{"from":"a@foreign.test","to":"{to}","text":"x"}}',
    }
    body = body.format(**words)
    head = "\r\n".join([line, "Host: x", *fields, "", ""])
    with httpd.raw() as raw:
        raw.send((head.format(length=len(body), **words) + body).encode())
        return raw.answer()


@pytest.mark.parametrize("case", REQUESTS)
def test_answer_and_log(box, httpd, to, case):
    status, *request = REQUESTS[case]
    answer = exchange(httpd, to, *request)
    assert answer.status == status, answer.body
    if status >= 400 and not case.startswith("form:"):
        assert answer.json()["name"] in NAMES
    request_id = answer.headers["x-request-id"]
    assert re.fullmatch(UUID, request_id)
    ends = re.compile(
        rf"event=(request|request_refused) request={request_id} status={status}\b"
    )
    wait_for("the log line", lambda: ends.search(box.log("httpd")))
    assert len(ends.findall(box.log("httpd"))) == 1


@pytest.mark.parametrize("size", [1, 20_000], ids=["whole", "by its head"])
def test_log_says_who_was_refused_and_why(box, to, size):
    """For those who ask "why 403?", and for those who block clients."""
    email = {"from": "a@b.test", "to": to, "text": "x" * size}
    answer = box.httpd("ps_wrong").post(email)
    line = next(
        line for line in box.log("httpd").splitlines()
        if answer.headers["X-Request-Id"] in line
    )
    assert " method=POST route=/emails client=127.0.0.1 " in line
    assert ' error=invalid_api_key reason="API key is invalid."' in line


def test_ids_differ(httpd):
    ids = [httpd.get(UNKNOWN_ID).headers["X-Request-Id"] for _ in range(10)]
    assert len(set(ids)) == 10


def test_a_client_does_not_choose_it(httpd):
    answer = httpd.get(UNKNOWN_ID, headers={"X-Request-Id": "mine"})
    assert re.fullmatch(UUID, answer.headers["X-Request-Id"])


def lines_of(box, text):
    return [line for line in box.log("httpd").splitlines() if text in line]


@pytest.mark.store("sqlite")
def test_our_own_fault(own_box, email):
    """The client gets the id, the log has the reason."""
    box = own_box()
    (box.dir / "store/postern.db-messages").touch()  # no folder for large messages
    answer = box.httpd().post({**email, "text": "x" * 100_000})
    check_problem(answer, 503, "application_error")
    assert "postern.db" not in answer.text
    request_id = answer.headers["X-Request-Id"]
    (line,) = lines_of(box, request_id + " error=")
    assert " error event=stage_failed " in line
    assert "postern.db-messages" in line and "Not a directory" in line
    assert box.query("SELECT count(*) FROM email") == "0"


@pytest.mark.submission("sendmail")
def test_fault_of_postfix(own_box, tmp_path, email):
    """The email is accepted; the log has its id, and why it waits."""
    sendmail = tmp_path / "sendmail"
    sendmail.write_text("#!/bin/sh\necho private detail >&2\nexit 69\n")
    sendmail.chmod(0o755)
    box = own_box("--set", f"submission.sendmail={sendmail}")
    answer = box.httpd().post(email)
    assert answer.status_code == 200 and "private" not in answer.text
    email_id = answer.json()["id"]
    assert "private" not in box.httpd().get(email_id).text
    (line, *_) = lines_of(box, "private detail")
    assert f" event=submission_put_off email={email_id} " in line
    request_id = answer.headers["X-Request-Id"]
    wait_for("the request's line", lambda: [
        line for line in lines_of(box, f"event=request request={request_id} ")
        if f" email={email_id} " in line])


def test_the_line_of_a_request_has_its_email(box, httpd, email):
    email_id = httpd.post(email).json()["id"]
    wanted = re.compile(rf"event=request .*status=200 .*email={email_id} ")
    wait_for("the line", lambda: wanted.search(box.log("httpd")))
