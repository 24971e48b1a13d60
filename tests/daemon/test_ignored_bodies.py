"""Bodies where no body is wanted: some clients send one with every request."""

import base64
import re

import pytest
from harness.contract import Contract

UNKNOWN_ID = "3c0d6a52-6c7b-4a0a-9b1c-2b5b7f5a8f11"
JSON = "Content-Type: application/json"

BODIES = {
    "empty object": ([JSON, "Content-Length: 2"], b"{}"),
    "of no type": (["Content-Length: 2"], b"{}"),
    "type alone": ([JSON], b""),
    "of length 0": ([JSON, "Content-Length: 0"], b""),
    "in chunks": ([JSON, "Transfer-Encoding: chunked"], b"2\r\n{}\r\n0\r\n\r\n"),
    "no JSON": ([JSON, "Content-Length: 1"], b"{"),
}


def requests_without_body(document):
    """Returns method, path and status of each route that takes no body."""
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if "requestBody" not in operation:
                if not path.endswith("/domains/{domain}"):  # which removes it
                    path = path.replace("{domain}", "example.com")
                status = 400 if "{page}" in path else 404 if "{" in path else 200
                yield method.upper(), re.sub(r"\{.*?\}", UNKNOWN_ID, path), status


@pytest.mark.parametrize("case", BODIES)
def test_ignored(box, httpd, case):
    """The body is ignored, and the next request on the connection works."""
    fields, body = BODIES[case]
    routes = list(requests_without_body(Contract.of(box.url).document))
    assert {method for method, *_ in routes} >= {"GET", "DELETE", "POST"}
    with httpd.raw() as raw:
        for method, path, status in routes * 2:
            key = f"Bearer {httpd.key}"
            if path.startswith(("/v3/", "/v4/")):
                key = "Basic " + base64.b64encode(f"api:{httpd.key}".encode()).decode()
            lines = [
                f"{method} {path} HTTP/1.1",
                f"Host: {httpd.host}",
                f"Authorization: {key}",
                *fields,
            ]
            raw.send("\r\n".join([*lines, "", ""]).encode() + body)
            answer = raw.answer()
            assert answer.status == status, (method, path, answer.body)
            assert answer.headers.get("connection") != "close", (method, path, status)
