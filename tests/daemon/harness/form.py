"""The form dialect: bodies of which every byte is known, and a client."""

import base64
import itertools
import re
from urllib.parse import urlencode

import pytest

from .contract import Contract

BOUNDARY = "f0rm"

UUID = "[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


class File:
    """A file of a form; filename None: none is given, kind None: no type."""

    def __init__(self, filename, data, kind="application/octet-stream"):
        self.filename = filename
        self.data = data
        self.kind = kind


def as_bytes(text):
    return text.encode() if isinstance(text, str) else text


def pairs(fields):
    """The fields as (name, value), a list as a field repeated."""
    for name, value in fields.items():
        for one in value if isinstance(value, list) else [value]:
            yield name, one


def part(disposition, data, *lines):
    """One part; more header lines stand behind its disposition."""
    head = [b"Content-Disposition: form-data; " + as_bytes(disposition)]
    head += map(as_bytes, lines)
    return b"\r\n".join([*head, b"", as_bytes(data)])


def _part_of(name, value):
    if not isinstance(value, File):
        return part(f'name="{name}"', value)
    disposition = f'name="{name}"'
    if value.filename is not None:
        disposition += f'; filename="{value.filename}"'
    lines = [f"Content-Type: {value.kind}"] if value.kind else []
    return part(disposition, value.data, *lines)


def parts(fields):
    return [_part_of(name, value) for name, value in pairs(fields)]


def join(some_parts, boundary=BOUNDARY, end="\r\n"):
    """The body out of parts; end is what follows the closing delimiter."""
    delimiter = b"--" + as_bytes(boundary)
    body = b"".join(delimiter + b"\r\n" + p + b"\r\n" for p in some_parts)
    return body + delimiter + b"--" + as_bytes(end)


def multipart(fields):
    """Media type and body."""
    return f"multipart/form-data; boundary={BOUNDARY}", join(parts(fields))


def urlencoded(fields):
    body = urlencode(list(pairs(fields))).encode()
    return "application/x-www-form-urlencoded", body


ENCODINGS = [multipart, urlencoded]


def in_turn(argument, rows, /, **others):
    """Parametrizes a test: each row once, as this argument, with the
    combinations of the other arguments in turn. Where nothing of a row depends on
    these, to try all of them with each would tell no more."""
    turns = zip(rows, itertools.cycle(itertools.product(*others.values())))
    return pytest.mark.parametrize(
        [argument, *others],
        [(row, *values) for row, values in turns],
        ids=lambda value: getattr(value, "__name__", None),
    )


def basic(user, password):
    """The value of an Authorization field."""
    return "Basic " + base64.b64encode(as_bytes(f"{user}:{password}")).decode()


def check_refused(answer, status, message):
    """An error as JSON with nothing but this message; may be a pattern."""
    assert answer.status == status, answer.body
    assert answer.headers["content-type"].startswith("application/json")
    assert "www-authenticate" not in answer.headers
    found = answer.json()
    assert set(found) == {"message"}, found
    if isinstance(message, re.Pattern):
        assert message.fullmatch(found["message"]), found
    else:
        assert found["message"] == message, found


def check_forbidden(answer):
    """The one answer to all that is wrong with a key."""
    assert answer.status == 401
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["www-authenticate"] == 'Basic realm="Postern"'
    assert answer.body == b"Forbidden"


def queued_id(answer):
    """The message id of an answer that says an email was taken."""
    assert answer.status == 200, answer.body
    assert answer.headers["content-type"].startswith("application/json")
    found = answer.json()
    assert set(found) == {"id", "message"}
    assert found["message"] == "Queued. Thank you."
    assert re.fullmatch(r"<[^<>@\s]+@[^<>@\s]+>", found["id"])
    return found["id"]


def uuid_of(message_id):
    """The email's id, which a message id of ours begins with."""
    return re.fullmatch(rf"<({UUID})@.*>", message_id).group(1)


class FormClient:
    """Speaks to one server as one sending domain, a connection a request."""

    def __init__(self, box, key=None, domain="example.com"):
        self.box = box
        self.httpd = box.httpd(key)
        self.domain = domain
        self.authorization = basic("api", self.httpd.key)

    def head(self, *lines, path="messages", authorization=None):
        lines = [
            f"POST /v3/{self.domain}/{path} HTTP/1.1",
            f"Host: {self.httpd.host}",
            f"Authorization: {authorization or self.authorization}",
            *lines,
        ]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    def exchange(self, data):
        """Sends the bytes; the answer, also when it comes before their end. It
        keeps to what the API is documented to be."""
        with self.httpd.raw(timeout_s=600) as raw:
            try:
                raw.send(data)
            except ConnectionError:
                pass
            answer = raw.answer()
        method, path, _ = data.decode("latin-1").split(" ", 2)
        Contract.of(self.httpd.url).check(method, path, answer)
        return answer

    def post_body(self, kind, body, *lines, **options):
        lines = [f"Content-Length: {len(body)}", *lines]
        if kind is not None:
            lines.append(f"Content-Type: {kind}")
        return self.exchange(self.head(*lines, **options) + body)

    def post_parts(self, some_parts, **options):
        body = join(some_parts)
        return self.post_body(multipart({})[0], body, **options)

    def post(self, fields, encode=multipart, **options):
        return self.post_body(*encode(fields), **options)

    def send(self, fields, encode=multipart, **options):
        """Sends an email that must be taken; returns its message id."""
        return queued_id(self.post(fields, encode, **options))

    def deliver(self, fields, encode=multipart, **options):
        """Sends an email; returns it as it was delivered."""
        return self.box.sink.find(message_id=self.send(fields, encode, **options))

    def read(self, message_id):
        """The email as GET shows it."""
        return self.httpd.read(uuid_of(message_id))

    def stored(self, message_id):
        """What the store has of the emails with the message id."""
        quoted = message_id.replace("'", "''")
        return self.box.rows(
            "SELECT * FROM email JOIN email_content USING (seq)"
            f" WHERE message_id = '{quoted}' ORDER BY seq"
        )
