"""The admin listener: clients that are logged in, as browsers and programs are."""

import base64
import hmac
import random
import re
import struct
import time

import requests

from .contract import Contract
from .sandbox import unique


class Admin:
    """One client of a sandbox's admin listener; the cookie stays with it. Where
    that is behind a proxy it has an address of its own, so that it does not wait
    for the wrong passwords of other tests."""

    contracts = {}

    def __init__(self, box, token=None):
        self.box = box
        self.url = box.env["POSTERN_ADMIN_URL"]
        self.cookie_name = "postern_session_" + self.url.rpartition(":")[2]
        self.session = requests.Session()
        self.session.trust_env = False
        self.token = token
        self.address = "127.0.0.1"
        if box.behind_proxy:
            self.address = "10." + ".".join(str(random.randrange(1, 255)) for _ in "123")
            self.session.headers["X-Forwarded-For"] = self.address

    def contract(self):
        if self.url not in self.contracts:
            answer = self.session.get(self.url + "/admin/openapi.json", timeout=180)
            self.contracts[self.url] = Contract(answer.json())
        return self.contracts[self.url]

    def request(self, method, target, own_page=True, **options):
        """What comes from a page of the server itself says so; every answer is
        as the document has it."""
        headers = dict(options.pop("headers", {}))
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        elif own_page:
            headers.setdefault("Origin", self.url)
        options.setdefault("timeout", 60)
        if target == "/admin/live":
            options.setdefault("stream", True)  # it has no end
        options.setdefault("allow_redirects", False)
        answer = self.session.request(
            method, self.url + target, headers=headers, **options
        )
        if target != "/admin/openapi.json" and not target.startswith("/metrics"):
            self.check(method, target, answer)
        return answer

    def check(self, method, target, answer):
        page = target == "/" or target.startswith("/web/")
        caching = "no-cache" if page and answer.status_code < 400 else "no-store"
        kept = re.match("/web/[0-9a-f]{16}/", target) and answer.status_code < 400
        assert answer.headers["cache-control"] == caching or kept
        assert answer.headers["x-content-type-options"] == "nosniff"
        said = self.contract().response(method, target, answer.status_code)
        kind = answer.headers.get("content-type", "").split(";")[0]
        if said is not None and answer.status_code != 303 and "content" in said:
            assert kind in said["content"], (target, answer.status_code, kind)
        if kind != "application/json" or method == "HEAD":
            return
        body = answer.json()
        if answer.status_code >= 400 or said is None:
            self.contract().validate_as(body, "Error")
        else:
            schema = said["content"]["application/json"]["schema"]
            self.contract().validate(body, schema)

    def ok(self, method, target, status=200, **options):
        """The body of an answer that must have this status."""
        answer = self.request(method, target, **options)
        assert answer.status_code == status, answer.text
        return answer.json()

    def status(self, method, target, **options):
        return self.request(method, target, **options).status_code

    def login(self, login, password, **code):
        body = {"login": login, "password": password, **code}
        return self.request("POST", "/admin/session", json=body)

    def follow(self, link):
        """Presses the button of the page that a login link opens."""
        token = link.partition("/#/login?token=")[2]
        return self.request("POST", "/admin/session/link", json={"token": token})

    def cookie(self):
        return self.session.cookies.get(self.cookie_name)

    def set_cookie(self, token):
        self.session.cookies.set(self.cookie_name, token)


def totp_code(secret, steps=0):
    """What an authenticator app shows (RFC 6238), some steps from now."""
    counter = struct.pack(">Q", int(time.time()) // 30 + steps)
    mac = hmac.digest(base64.b32decode(secret), counter, "sha1")
    (number,) = struct.unpack_from(">I", mac, mac[-1] & 15)
    return f"{(number & 0x7FFFFFFF) % 1000000:06}"


def operator(box):
    """A client that is logged in as the sandbox's own operator."""
    admin = Admin(box)
    answer = admin.login(
        box.env["POSTERN_ADMIN_LOGIN"], box.env["POSTERN_ADMIN_PASSWORD"]
    )
    assert answer.status_code == 200, answer.text
    return admin


def by_token(box, login, company=None, role="owner"):
    """A new user without a password, and a client with a token of theirs."""
    words = ["--company", company] if company else []
    box.cli("user", "add", login, "--no-password", "--role", role, *words)
    return Admin(box, box.cli("token", "create", login, "--name", "test")["token"])


class Tenant:
    """A company with a domain, its owner and a viewer."""

    def __init__(self, box):
        self.id = box.company()
        self.domain = box.domain(self.id)
        self.owner = by_token(box, unique("owner"), self.id)
        self.viewer = by_token(box, unique("viewer"), self.id, "viewer")
