"""The form dialect: large uploads, and how much memory all of them may take."""

import base64
import gzip
import json
import random
import re
from concurrent.futures import ThreadPoolExecutor
from email.message import EmailMessage

import pytest
from harness import File, FormClient, Sandbox, wait_for
from harness.form import check_refused, join, multipart, part, parts, queued_id
from harness.sandbox import SANITIZED, unique

MIB = 1 << 20
RANDOM = random.Random(3)


def chunked(body, size=100_000):
    pieces = [body[i : i + size] for i in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces) + b"0\r\n\r\n"


@pytest.mark.parametrize("path, coding", [("messages", "length"), ("messages.mime", "chunks")])
def test_25_mb(large_form, fields, to, path, coding):
    """Byte for byte."""
    sizes = [15_000_000, 9_000_000, 1_000_001, 0]
    files = [File(f"{n}.bin", RANDOM.randbytes(size)) for n, size in enumerate(sizes)]
    kind, body = multipart({**fields, "attachment": files})
    if path == "messages.mime":
        body = finished(to, files)
    line = f"Content-Length: {len(body)}"
    if coding == "chunks":
        line, body = "Transfer-Encoding: chunked", chunked(body)
    head = large_form.head(line, f"Content-Type: {kind}", path=path)
    queued_id(large_form.exchange(head + body))
    mail = large_form.box.sink.find(to=to)
    found = [(name, data) for name, _, _, data in mail.attachments()]
    assert found == [(file.filename, file.data) for file in files]


def finished(to, files):
    message = EmailMessage()
    message["From"] = "hello@example.com"
    message.set_content("Hello")
    for file in files:
        message.add_attachment(
            file.data, "application", "octet-stream", filename=file.filename
        )
    file = File("m", message.as_bytes(), "message/rfc822")
    return multipart({"to": to, "message": file})[1]


@pytest.fixture(scope="module")
def large_form():
    with Sandbox(
        "--postconf", "message_size_limit=60000000",
        "--set", "http.max_message_bytes=50M",
    ) as box:
        yield FormClient(box)


@pytest.fixture(scope="module")
def small_form():
    """A server that accepts one request of 5 MiB, which is charged three times."""
    with Sandbox(
        "--postconf", "message_size_limit=60000000",
        "--set", "http.max_inflight_bytes=16M", "--set", "http.max_wait=0",
    ) as box:
        yield FormClient(box)


def body_of(fields, size):
    """Returns a form of exactly that many bytes."""
    fields = parts(fields)
    rest = len(join([*fields, part('name="x"', "")]))
    return join([*fields, part('name="x"', "x" * (size - rest))])


class Upload:
    """A request whose head was sent and whose body was not asked for yet."""

    def __init__(self, form, body):
        self.raw = form.httpd.raw()
        self.body = body
        kind = multipart({})[0]
        self.raw.send(
            form.head(
                "Expect: 100-continue",
                f"Content-Length: {len(body)}",
                f"Content-Type: {kind}",
            )
        )
        self.first = self.raw.answer()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.raw.socket.close()

    @property
    def is_taken(self):
        return self.first.status == 100

    def finish(self):
        self.raw.send(self.body)
        return self.raw.answer()


OWN = "Your company's requests hold as much memory as they may have now. Please try again."
ALL = "The service has no memory for the request now. Please try again."


def check_busy(answer, text=OWN):
    check_refused(answer, 503, re.compile(re.escape(text)))
    assert int(answer.headers["retry-after"]) > 0


def take(form, fields):
    """Starts an upload that leaves no room for a second one. The previous one may not
    have ended yet."""

    def try_once():
        upload = Upload(form, body_of(fields, 5 * MIB))
        if upload.is_taken:
            return upload
        upload.raw.socket.close()
        return None

    return wait_for("room for a large upload", try_once)


@pytest.fixture
def full(small_form, fields):
    with take(small_form, fields) as upload:
        yield upload


@pytest.fixture(scope="module")
def another(small_form):
    """The key and the domain of another company."""
    company = small_form.box.company()
    return {**small_form.box.new_key(company), "domain": small_form.box.domain(company)}


def other(fields):
    return {**fields, "to": unique("other") + "@dst.test"}


def test_second_large_upload_is_to_come_later(small_form, fields, full, another):
    """It gets 503 until the first one is done. Another company is told that the reason
    is not its own."""
    late = other(fields)
    body = body_of(late, 5 * MIB)
    with Upload(small_form, body) as second:
        check_busy(second.first)
    with Upload(FormClient(small_form.box, another["token"], another["domain"]), body) as second:
        check_busy(second.first, ALL)
    message_id = queued_id(full.finish())
    assert small_form.box.sink.find(message_id=message_id)
    with take(small_form, late) as second:
        message_id = queued_id(second.finish())
    assert small_form.box.sink.find(message_id=message_id).recipients == [late["to"]]


def test_answer_reaches_a_client_that_sends_on(small_form, fields, full):
    body = body_of(other(fields), 5 * MIB)
    check_busy(small_form.post_body(multipart({})[0], body))


def test_small_requests_still_go(small_form, fields, full):
    small = other(fields)
    for size in (1000, 100_000, MIB):
        answer = small_form.post_body(multipart({})[0], body_of(small, size))
        queued_id(answer)
    answer = small_form.post_body(multipart({})[0], body_of(small, 2 * MIB))
    check_busy(answer)
    email = {"from": "hello@example.com", "to": small["to"], "text": "x"}
    small_form.httpd.read(small_form.httpd.send(email))


def test_chunks_that_grow_too_large(small_form, fields, full):
    """The size of a chunked body is not known in advance."""
    kind = multipart({})[0]
    head = small_form.head("Transfer-Encoding: chunked", f"Content-Type: {kind}")
    body = body_of(other(fields), 2 * MIB)
    check_busy(small_form.exchange(head + chunked(body)))
    body = body_of(other(fields), MIB)
    wait_for(  # what was refused may not have left yet
        "the rest of the room",
        lambda: small_form.exchange(head + chunked(body)).status == 200,
    )


def test_gzip_that_unpacks_to_much(small_form, fields, full):
    kind = multipart({})[0]
    line = "Content-Encoding: gzip"
    packed = gzip.compress(body_of(other(fields), 2 * MIB))
    check_busy(small_form.post_body(kind, packed, line))
    packed = gzip.compress(body_of(other(fields), MIB))
    queued_id(small_form.post_body(kind, packed, line))


def test_finished_messages(small_form, full):
    message = b"From: hello@example.com\n\n" + b"x\n" * MIB
    fields = {"to": "a@dst.test", "message": File("m", message)}
    check_busy(small_form.post(fields, path="messages.mime"))


def test_json_dialect(small_form, full):
    email = {"from": "hello@example.com", "to": "a@dst.test", "html": "x" * 2 * MIB}
    answer = small_form.httpd.post(email)
    assert answer.status_code == 503
    assert (answer.json()["name"], answer.json()["message"]) == ("application_error", OWN)
    assert int(answer.headers["Retry-After"]) > 0


def test_individual_messages(small_form, fields, full):
    """Their total memory counts."""
    people = [unique("to") + "@dst.test" for _ in range(4)]
    fields.update(
        {
            "to": people,
            "recipient-variables": json.dumps({}),
            "attachment": File("a", bytes(1_000_000)),
        }
    )
    check_busy(small_form.post(fields))
    queued_id(full.finish())
    wait_for("room for all", lambda: small_form.post(fields).status == 200)
    for person in people:
        assert small_form.box.sink.find(to=person)


def test_more_than_ever_fits(small_form, fields):
    """A retry would not help, so it is 413."""
    too_large = re.compile("request size exceeds 5 MiB limit.*")
    with Upload(small_form, body_of(fields, 6 * MIB)) as upload:
        check_refused(upload.first, 413, too_large)
    people = [unique("to") + "@dst.test" for _ in range(50)]
    fields.update(to=people, attachment=File("a", bytes(500_000)))
    fields["recipient-variables"] = "{}"
    check_refused(small_form.post(fields), 413, too_large)
    assert not small_form.box.sink.now(to=people[0])


def ended_by_leaving(upload):
    upload.raw.send(upload.body[: 2 * MIB])


def ended_at_once(upload):
    pass


def ended_malformed(upload):
    upload.body = upload.body.replace(b"form-data", b"form-dada")
    assert upload.finish().status == 400


def ended_without_a_body(upload):
    upload.body = upload.body.replace(b'"text"', b'"next"')
    assert upload.finish().status == 400


def ended_well(upload):
    queued_id(upload.finish())


@pytest.mark.parametrize(
    "end",
    [
        ended_by_leaving,
        ended_at_once,
        ended_malformed,
        ended_without_a_body,
        ended_well,
    ],
    ids=lambda end: end.__name__,
)
def test_room_comes_back(small_form, fields, end):
    """However a request ends."""
    for _ in range(3):
        with take(small_form, fields) as upload:
            end(upload)
    with take(small_form, fields) as upload:
        queued_id(upload.finish())


def memory_kb(box, name):
    with open(f"/proc/{box.pid('httpd')}/status") as status:
        return int(re.search(rf"{name}:\s*(\d+)", status.read()).group(1))


def test_other_companies_have_room(own_box, fields):
    """While one company has all the uploads that it may, emails of 10 MB and 1 MB,
    others can send one email and one of 5 MB."""
    box = own_box(
        "--postconf", "message_size_limit=60000000", "--set", "http.max_wait=0"
    )
    company = box.company()
    own = FormClient(box, box.new_key(company)["token"], box.domain(company))
    greedy, uploads = FormClient(box), []
    try:
        for size in (10_000_000, MIB):
            while not uploads or uploads[-1].is_taken or len(uploads[-1].body) != size:
                uploads.append(Upload(greedy, body_of(fields, size)))
                assert len(uploads) < 400
        assert not uploads[-1].is_taken
        sender = {"from": f"hello@{own.domain}"}
        for size in (1000, 5_000_000):
            one = {**other(fields), **sender}
            queued_id(own.post_body(multipart({})[0], body_of(one, size)))
    finally:
        for upload in uploads:
            upload.raw.socket.close()


@pytest.mark.plain
def test_memory_under_large_uploads(own_box, fields):
    """They wait for each other: all are sent, and the memory stays within the limit plus
    the server's own."""
    budget, clients = 40 * MIB, 5 if SANITIZED else 10
    box = own_box(
        "--postconf", "message_size_limit=60000000",
        "--set", f"http.max_inflight_bytes={budget}", "--set", "http.max_wait=10m",
    )
    form = FormClient(box)
    data = RANDOM.randbytes(10_000_000)
    forms = [{**other(fields), "attachment": File("a", data)} for _ in range(clients)]
    assert budget // (3 * len(multipart(forms[0])[1])) == 1
    with ThreadPoolExecutor(clients) as pool:
        answers = list(pool.map(lambda one: form.post_body(*multipart(one)), forms))
    assert [answer.status for answer in answers] == [200] * clients
    encoded = base64.encodebytes(data)  # as a parser of each would take seconds
    assert all(box.sink.find(to=one["to"]).raw.count(encoded) == 1 for one in forms)
    # A sanitizer, which keeps what is freed, has terabytes of address space.
    if memory_kb(box, "VmSize") < 1 << 30:
        peak = memory_kb(box, "VmHWM")
        assert peak <= (budget + 64 * MIB) // 1024
