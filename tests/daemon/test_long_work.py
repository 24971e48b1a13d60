"""Requests that take long to read or to compose, and who else is served."""

import gzip
import json
import select

import pytest
from harness import FormClient, Sandbox, wait_for
from harness.form import multipart, uuid_of
from test_form_hostile import BUDGET, check_memory
from test_http import post_head

MIB = 1 << 20


TEST = {"from": "hello@example.com", "text": "x", "o:testmode": "yes"}


@pytest.fixture(scope="module")
def single_box():
    """A server with one event loop for all connections."""
    with Sandbox("--set", "http.workers=1") as box:
        yield box


@pytest.fixture(scope="module")
def small_email(single_box):
    """The id of an email that the loop reads along with the key: other reads of a company wait for
    its turn."""
    small = uuid_of(FormClient(single_box).send({**TEST, "to": "ann@dst.test"}))
    wait_for("the record", lambda: single_box.httpd().get(small).status_code == 200)
    return small


def newsletter(html, people=50):
    """One for each of many. What is refused is the last one, so that the answer
    comes when all have been composed."""
    to = [f"{n}@dst.test" for n in range(people)]
    variables = {person: {"n": person} for person in to}
    variables[to[-1]]["n"] = "two\nlines"
    return multipart(
        {
            "from": "hello@example.com",
            "to": to,
            "subject": "For %recipient.n%",
            "html": html + "%recipient.n%",
            "recipient-variables": json.dumps(variables),
            "o:testmode": "yes",
        }
    )


HTML = {
    "long": "<p>Good <b>news</b> for you." * 4000,
    "attributes": "<p" + " a=b" * 16_000 + ">x",
    "end tags": "<b><div>" + "<i>" * 10_000 + "</b>" * 8000,
    "tabs": "<pre>" + "\t" * 100_000 + "x",
}


def form_request(box, kind, body, *lines):
    form = FormClient(box)
    return form.head(
        f"Content-Length: {len(body)}", f"Content-Type: {kind}", *lines
    ) + body


def hostile_newsletter(case):
    return lambda box: form_request(box, *newsletter(HTML[case]))


def hostile_json(box):
    """JSON with a syntax error at its very end."""
    body = b'{"a":[' + b'"x",' * 500_000 + b"}"
    return post_head(box.httpd(), f"Content-Length: {len(body)}") + body


def hostile_string(box):
    body = b'{"html":"' + b"\\u20ac" * 3 * MIB + b'"}x'
    return post_head(box.httpd(), f"Content-Length: {len(body)}") + body


def hostile_gzip(box):
    kind, body = multipart({"from": "x", "text": "x" * 18 * MIB})
    return form_request(box, kind, gzip.compress(body), "Content-Encoding: gzip")


REQUESTS = {f"newsletter {case}": hostile_newsletter(case) for case in HTML} | {
    "json": hostile_json,
    "string": hostile_string,
    "gzip": hostile_gzip,
}


def is_answered(raw):
    return bool(select.select([raw.socket], [], [], 0)[0])


@pytest.mark.parametrize("case", REQUESTS)
def test_others_are_served_meanwhile(single_box, small_email, case):
    """One after the other, before its answer comes: of a loop that is kept no more
    than one that was there before it gets its answer first. On a busy machine the answer may
    come while the others do not have a turn of the CPU."""
    data = REQUESTS[case](single_box)
    httpd = single_box.httpd()
    assert httpd.get(small_email).status_code == 200

    def several_are_served():
        with httpd.raw() as raw:
            raw.send(data)
            served = 0
            while served < 2 and not is_answered(raw):
                assert httpd.get(small_email).status_code == 200
                served += 1
            assert raw.answer().status in (400, 413, 422)
        return served > 1

    # A few tries for a busy machine; with many, a loop that is kept would pass as well.
    assert any(several_are_served() for _ in range(5))


def get(box, path):
    httpd = box.httpd()
    return (
        f"GET {path} HTTP/1.1\r\nHost: {httpd.host}\r\n"
        f"Authorization: Bearer {httpd.key}\r\n\r\n"
    ).encode()


def large_email(box):
    """An email of which each character takes six in the answer."""
    fields = {**TEST, "to": "ann@dst.test", "html": "\x01" * 4 * MIB}
    return get(box, "/emails/" + uuid_of(FormClient(box).send(fields)))


def large_list(box):
    for _ in range(8):
        FormClient(box).send(
            {
                **TEST,
                "to": [f"{n}@dst.test" for n in range(10)],
                "bcc": [f"blind{n}@dst.test" for n in range(990)],
                "recipient-variables": "{}",
            }
        )
    return get(box, "/emails?limit=100")


# And how many others are served.
READS = {"email": (large_email, 10), "list": (large_list, 2)}


@pytest.mark.parametrize("case", READS)
def test_others_are_served_while_one_reads(single_box, small_email, case):
    make, others = READS[case]
    data = make(single_box)
    httpd = single_box.httpd()
    assert httpd.get(small_email).status_code == 200

    def all_are_served():
        with httpd.raw() as raw:
            raw.send(data)
            served = 0
            while served < others and not is_answered(raw):
                assert httpd.get(small_email).status_code == 200
                served += not is_answered(raw)
            assert raw.socket.recv(12) == b"HTTP/1.1 200"
        return served == others

    assert any(all_are_served() for _ in range(5))


def test_others_are_served_while_many_ask_for_statistics(single_box, small_email):
    """Each answer takes a while to print; another client is served before all of them
    are."""
    httpd = single_box.httpd()
    names = "accepted delivered failed complained opened clicked stored".split()
    query = "&".join(f"event={name}" for name in names)
    head = FormClient(single_box).head()
    target = f"GET /v3/example.com/stats/total?resolution=hour&duration=999h&{query} "
    data = target.encode() + head[head.index(b"HTTP/1.1"):]
    assert httpd.get(small_email).status_code == 200

    def served_before_all():
        raws = [httpd.raw() for _ in range(10)]
        for raw in raws:
            raw.send(data)
        assert httpd.get(small_email).status_code == 200
        answered = [is_answered(raw) for raw in raws]
        for raw in raws:
            assert raw.answer().status == 200
            raw.socket.close()
        return not all(answered)

    assert any(served_before_all() for _ in range(5))


@pytest.fixture(scope="module")
def narrow_box():
    with Sandbox("--set", "http.max_inflight_bytes=64M") as box:
        yield box


def test_gzip_counts_what_it_unpacks_to(narrow_box, fields):
    """A little over 1 MiB, and not all that it could have been: many fit, while
    they wait for their answers."""
    form = FormClient(narrow_box)
    kind, body = multipart({**fields, "text": "x" * (MIB + 1000)})
    packed = gzip.compress(body)
    head = form.head(
        f"Content-Length: {len(packed)}",
        f"Content-Type: {kind}",
        "Content-Encoding: gzip",
    )
    raws = [form.httpd.raw() for _ in range(4)]
    for raw in raws:
        raw.send(head + packed)
    assert [raw.answer().status for raw in raws] == [200] * 4
    for raw in raws:
        raw.socket.close()


BLIND = ",".join(f"blind-{'x' * 50}{n}@{'long' * 40}.test" for n in range(500))
SWELLING = {
    "message ids": {
        "h:Message-Id": "<%recipient.n%@x.test>",
        "recipient-variables": {"n": "i" * 800_000},
    },
    "bcc": {"bcc": BLIND},
    "reply-to": {"h:Reply-To": ",".join(f"{n}@b.test" for n in range(1000))},
    "tags": {"o:tag": ["x" * 15_000]},
    "variables": {"v:x": "y" * 15_000},
    "tabs": {"html": "<pre>" + "\tx" * 200_000, "text": []},
    "text": {"html": "x" * 200_000, "text": []},
}


@pytest.fixture(scope="module")
def small():
    with Sandbox("--set", f"http.max_inflight_bytes={BUDGET}") as box:
        yield box


@pytest.mark.parametrize("case", SWELLING)
def test_what_is_made_for_each_recipient_counts(small, fields, case):
    """The total is bounded, or refused before it is made."""
    form = FormClient(small)
    to = [f"{n}@dst.test" for n in range(500)]
    more = dict(SWELLING[case])
    each = more.pop("recipient-variables", {})
    fields.update(
        {
            "to": to,
            "o:testmode": "yes",
            "recipient-variables": json.dumps({to[0]: each}),
            **more,
        }
    )
    for _ in range(2):
        answer = form.post(fields)
        assert answer.status in (200, 400, 413), answer.body
    check_memory(small)
