"""The files of the dashboard, as a browser gets them."""

import gzip
import os
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from harness.admin import Admin, operator
from harness.raw import RawConnection

WEB = Path(__file__).resolve().parents[2] / "httpd" / "web"
OWN = sorted(str(f.relative_to(WEB)) for f in WEB.rglob("*") if f.is_file())
PACKAGED = ["bootstrap.css", "chart.js"]
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


def raw(box):
    url = urlsplit(box.env["POSTERN_ADMIN_URL"])
    return RawConnection((url.hostname, url.port))


def test_every_file_of_the_folder_is_served(box):
    admin = Admin(box)
    for name in OWN:
        answer = admin.request("GET", f"/web/{name}")
        assert answer.status_code == 200, name
        assert name == "index.html" or answer.content == (WEB / name).read_bytes()
        assert answer.headers["content-type"] == TYPES[Path(name).suffix]
    page = admin.request("GET", "/").text
    assert re.sub("/web/[0-9a-f]{16}/", "/web/", page) == (WEB / "index.html").read_text()


def test_version_in_addresses(box):
    """What the page loads is kept by browsers for ever; with another version in the address
    the same file is not."""
    admin = Admin(box)
    page = admin.request("GET", "/").text
    names = set(re.findall(r'"/web/([0-9a-f]{16})/([a-z./]+)"', page))
    assert len({version for version, _ in names}) == 1 and len(names) > 5
    assert '"/web/"' not in page
    version = names.pop()[0]
    for name in ["app.js", "pages/keys.js", "chart.js", "icon.svg"]:
        plain = admin.request("GET", f"/web/{name}")
        for given, kept in [(version, "public, max-age=31536000, immutable"), ("0" * 16, "no-cache")]:
            answer = admin.request("GET", f"/web/{given}/{name}")
            assert (answer.status_code, answer.content) == (200, plain.content)
            assert answer.headers["cache-control"] == kept
            head = admin.request("HEAD", f"/web/{given}/{name}").headers
            assert head["cache-control"] == kept and head["etag"] == answer.headers["etag"]
    assert admin.request("GET", f"/web/{version}/none.js").status_code == 404


def test_packaged_files(box):
    for name in PACKAGED:
        answer = Admin(box).request("GET", f"/web/{name}")
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == TYPES[Path(name).suffix]
        assert len(answer.content) > 100_000


def test_headers(box):
    page = Admin(box).request("GET", "/").headers
    policy = dict(p.split(" ", 1) for p in page["content-security-policy"].split("; "))
    assert policy == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' data:",
        "connect-src": "'self'",
        "frame-src": "'self'",
        "form-action": "'self'",
        "base-uri": "'none'",
        "frame-ancestors": "'none'",
    }
    script = Admin(box).request("GET", "/web/app.js").headers
    assert script["content-security-policy"].startswith("default-src 'none'; frame-anc")
    for headers in [page, script]:
        assert headers["vary"] == "Accept-Encoding"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["cache-control"] == "no-cache"
        assert "set-cookie" not in headers
    # What is not a file of the page stays as closed as it was.
    answer = operator(box).request("GET", "/admin/session")
    assert answer.headers["content-security-policy"] == (
        "default-src 'none'; frame-ancestors 'none'; base-uri 'none'"
    )


@pytest.mark.parametrize(
    "accepted, packed",
    [
        ("gzip, deflate, br", True),
        ("br;q=1.0, gzip;q=0.5", True),
        ("GZIP", True),
        ("*", True),
        ("identity", False),
        ("gzip;q=0", False),
        ("gzip; q=0.000, br", False),
        ("xgzip", False),
        ("", False),
    ],
)
def test_gzip(box, accepted, packed):
    answer = Admin(box).request(
        "GET", "/web/elements.js", headers={"Accept-Encoding": accepted}, stream=True
    )
    body = answer.raw.read(decode_content=False)
    plain = (WEB / "elements.js").read_bytes()
    assert (answer.headers.get("content-encoding") == "gzip") == packed
    assert (gzip.decompress(body) if packed else body) == plain
    assert int(answer.headers["content-length"]) == len(body)
    if packed:
        assert len(body) < len(plain) / 2


def scripts_of(name):
    """Returns the modules that a page loads, without those that it loads on demand."""
    text = (WEB / name).read_text()
    found = re.findall(r'^import [^;]*? from "(\.[^"]+)";$', text, re.M)
    return {os.path.normpath(os.path.join(os.path.dirname(name), f)) for f in found}


def test_weight_of_a_page(box):
    """The compressed size of a page with everything it loads. Only the overview has
    charts."""
    admin = Admin(box)
    for page in sorted(WEB.glob("pages/*.js")):
        files = {"index.html", "icon.svg", "start.js", "style.css", "bootstrap.css", "app.js"}
        wanted = {f"pages/{page.name}", "app.js"}
        while wanted:
            files |= wanted
            wanted = set().union(*map(scripts_of, wanted)) - files
        assert {"api.js", "elements.js", "live.js"} <= files
        if page.name == "overview.js":
            files.add("chart.js")
        sizes = {
            name: int(admin.request("HEAD", f"/web/{name}").headers["content-length"])
            for name in files
        }
        assert sum(sizes.values()) <= 150_000, (page.name, sizes)


def test_etag(box):
    admin = Admin(box)
    for coding in ["gzip", "identity"]:
        for target in ["/", "/web/style.css", "/web/pages/login.js", "/web/chart.js"]:
            headers = {"Accept-Encoding": coding}
            tag = admin.request("GET", target, headers=headers).headers["etag"]
            for given in [tag, f'"other", W/{tag}', "*"]:
                again = admin.request(
                    "GET", target, headers={**headers, "If-None-Match": given}
                )
                assert again.status_code == 304, target
                assert again.content == b""
                assert again.headers["etag"] == tag
                assert again.headers["vary"] == "Accept-Encoding"
                assert "content-type" not in again.headers
            other = admin.request(
                "GET", target, headers={**headers, "If-None-Match": '"other"'}
            )
            assert other.status_code == 200
    # The two are not the same bytes.
    tags = {
        admin.request("GET", "/", headers={"Accept-Encoding": c}).headers["etag"]
        for c in ["gzip", "identity"]
    }
    assert len(tags) == 2


def test_304_leaves_the_connection_as_it_was(box):
    """After a 304 the connection can be used again."""
    admin = Admin(box)
    tag = admin.request("GET", "/web/app.js").headers["etag"]
    with raw(box) as connection:
        for line, given, status in [
            ("GET /web/app.js", tag, 304),
            ("HEAD /web/app.js", tag, 304),
            ("HEAD /", '"x"', 200),
            ("GET /admin", '"x"', 200),
        ]:
            connection.send(
                f"{line} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n"
                f"If-None-Match: {given}\r\n\r\n".encode()
            )
            bare = status == 304 or line.startswith("HEAD")
            answer = connection.answer(head_only=bare)
            assert answer.status == status
        assert answer.json()["object"] == "postern"


def test_head(box):
    admin = Admin(box)
    for target in ["/", "/web/style.css", "/web/pages/keys.js", "/web/chart.js"]:
        get = admin.request("GET", target)
        head = admin.request("HEAD", target)
        assert head.status_code == 200
        assert head.content == b""
        for name in ["content-length", "content-type", "etag", "content-encoding"]:
            assert head.headers.get(name) == get.headers.get(name), name
    assert admin.request("HEAD", "/web/none.js").status_code == 404
    # Other methods are none of a file's.
    answer = admin.request("POST", "/web/app.js", json={})
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize(
    "target",
    [
        "/web/",
        "/web/pages",
        "/web/pages/",
        "/web/none.js",
        "/web/pages/none.js",
        "/web/app.js/",
        "/web/app.js/x",
        "/web/../admin.json",
        "/web/..%2fadmin.json",
        "/web/%2e%2e%2fadmin.json",
        "/web/pages/..%2f..%2f..%2fetc%2fpasswd",
        "/web/%2fetc%2fpasswd",
        "/web/pages/%2e%2e/app.js",
        "/web/app.js%00.css",
        "/web/..%5c..%5cetc%5cpasswd",
        "/web/bootstrap5%2fcss%2fbootstrap.css",
        "/index.html",
        "/app.js",
        "/favicon.ico",
    ],
)
def test_nothing_else_is_there(box, target):
    """Sends raw bytes, because an HTTP client would normalize the path."""
    with raw(box) as connection:
        connection.send(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        answer = connection.answer()
        assert answer.status in (400, 404)
        assert b"root:" not in answer.body
