"""Webhooks: what endpoints are told, whatever they do, and who may have which."""

import hmac
import os
import random
import re
import smtplib
import socket
import ssl
import subprocess
import threading
from contextlib import contextmanager
from datetime import datetime

import pytest
from harness import wait_for
from harness.dns import DnsServer
from harness.httpd import check_problem
from harness.receiver import Receiver, Silent
from harness.remote import Remote
from harness.sandbox import TREE, unique

pytestmark = pytest.mark.store

TYPES = ["email.sent", "email.delivered", "email.delivery_delayed", "email.bounced"]
UNKNOWN = "11111111-2222-4333-8444-555555555555"


@pytest.fixture(scope="module")
def hook_box():
    from harness.sandbox import Sandbox

    with Sandbox("--set", "webhook.timeout=10s", parts=["webhook", "auth"]) as box:
        tables = subprocess.run(
            ["postconf", "-c", box.env["POSTFIX_CONFIG"], "-h", "transport_maps"],
            capture_output=True, text=True, check=True,
        ).stdout.strip()  # fmt: skip
        remote = Remote()
        # smtpd(8) itself refuses a recipient of the error transport.
        box.postconf(
            "transport_maps = inline:{ { bounces.test = error:5.1.1 no such user },"
            f" {{ remote.test = smtp:[127.0.0.1]:{remote.port} }} }} {tables}"
        )
        box.restart("postfix")
        yield box
        remote.close()


@pytest.fixture
def receiver():
    made = []

    def make(*args):
        made.append(Receiver(*args))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def owner(hook_box):
    """A company with a domain and a key that may do all."""
    company = hook_box.company()
    domain = hook_box.domain(company)
    key = hook_box.new_key(company)["token"]
    return hook_box.httpd(key), domain, company


def create(httpd, url, events=TYPES, **fields):
    answer = httpd.request(
        "POST", "/webhooks", json={"endpoint": url, "events": events, **fields}
    )
    assert answer.status_code == 201, answer.text
    return answer.json()


def send(httpd, domain, to=None):
    to = to or unique("to") + "@dst.test"
    return httpd.send({"from": f"Ann <ann@{domain}>", "to": to, "subject": "Hi", "text": "Hi",
                       "tags": [{"name": "kind", "value": "test"}]})  # fmt: skip


def items(httpd, path):
    answer = httpd.request("GET", path)
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


def attempts(httpd, hook, event_id):
    return items(httpd, f"/webhooks/{hook['id']}/events/{event_id}/attempts")


def wait_attempts(httpd, hook, n=1):
    """The attempts to send its newest event, so many at least."""

    def look():
        events = items(httpd, f"/webhooks/{hook['id']}/events")
        found = attempts(httpd, hook, events[0]["id"]) if events else []
        return found if len(found) >= n else None

    return wait_for(f"{n} attempts", look)


def test_email_is_told(owner, receiver):
    httpd, domain, _ = owner
    there = receiver()
    hook = create(httpd, there.url)
    email_id = send(httpd, domain)
    told = {one.event["type"]: one for one in there.wait_for(2)}
    assert set(told) == {"email.sent", "email.delivered"}
    for one in told.values():
        event = one.event
        assert set(event) == {"type", "created_at", "data"}
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", event["created_at"])
        data = event["data"]
        assert data["email_id"] == email_id
        assert data["from"] == f"Ann <ann@{domain}>"
        assert data["to"][0].endswith("@dst.test") and data["subject"] == "Hi"
        assert data["tags"] == {"kind": "test"} and data["message_id"].startswith("<")
        assert one.is_signed_by(hook["signing_secret"])
        assert one.headers["Content-Type"] == "application/json"
    wait_for("success", lambda: [e["status"] for e in items(httpd, f"/webhooks/{hook['id']}/events")]
             == ["success"] * 2)  # fmt: skip
    event = told["email.sent"]
    answer = httpd.request("GET", f"/webhooks/{hook['id']}/events/{event.id}").json()
    assert answer["payload"] == event.event and answer["next_attempt_at"] is None
    made = attempts(httpd, hook, event.id)
    assert [(one["http_status_code"], one["response"]) for one in made] == [(200, "ok")]


def test_email_over_smtp_is_told(owner, receiver, hook_box):
    """All events of an email that came over SMTP, whose recipients have different ends."""
    httpd, domain, _ = owner
    there = receiver()
    create(httpd, there.url, [*TYPES, "email.suppressed"])
    to, blocked, nobody = unique("to") + "@dst.test", unique("to") + "@dst.test", "unknown@remote.test"
    answer = httpd.request("POST", "/suppressions", json={"email": blocked})
    assert answer.status_code == 201
    recipients, sender = [to, blocked, nobody], f"ann@{domain}"
    host, port = hook_box.env["POSTERN_SMTP"].split(":")
    with smtplib.SMTP(host, int(port), timeout=60) as session:
        session.login("x", httpd.key)
        text = (
            f"From: Ann <{sender}>\r\nTo: {', '.join(recipients)}\r\nSubject: Hi\r\n"
            "Resend-Tag: kind=test\r\n\r\nHi\r\n"
        )
        assert session.sendmail(sender, recipients, text) == {}
    (email_id,) = [email["id"] for email in httpd.request("GET", "/emails").json()["data"]]
    told = {one.event["type"]: one.event["data"] for one in there.wait_for(4)}
    assert set(told) == {"email.sent", "email.delivered", "email.suppressed", "email.bounced"}
    for data in told.values():
        assert (data["email_id"], data["from"]) == (email_id, f"Ann <{sender}>")
        assert (data["subject"], data["tags"]) == ("Hi", {"kind": "test"})
    assert to in told["email.delivered"]["to"] and nobody in told["email.bounced"]["to"]
    assert told["email.suppressed"]["suppressed"]["type"] == "OnAccountSuppressionList"
    assert told["email.bounced"]["bounce"]["type"] == "Permanent"


def test_only_what_was_asked_for(owner, receiver, hook_box):
    """Of the types that it names, and of its domain if it has one."""
    httpd, domain, company = owner
    other = hook_box.domain(company)
    all_, one, gone = receiver(), receiver(), receiver()
    create(httpd, all_.url, ["email.delivered", "email.opened", "contact.created"])
    create(httpd, one.url, ["email.delivered"], domain=other)
    create(httpd, gone.url, ["email.suppressed"])
    suppressed = unique("to") + "@dst.test"
    answer = httpd.request("POST", "/suppressions", json={"email": suppressed})
    assert answer.status_code == 201
    first = send(httpd, domain)
    send(httpd, domain, suppressed)
    all_.wait_for(1)
    second = send(httpd, other)
    told = all_.wait_for(2)
    assert [told.event["data"]["email_id"] for told in told] == [first, second]
    assert {told.event["type"] for told in told} == {"email.delivered"}
    assert [told.event["data"]["email_id"] for told in one.wait_for(1)] == [second]
    (event,) = (told.event for told in gone.wait_for(1))
    assert event["type"] == "email.suppressed" and event["data"]["to"] == [suppressed]
    assert event["data"]["suppressed"]["type"] == "OnAccountSuppressionList"


def test_pauses(owner, receiver, hook_box):
    """It is tried for three days, with pauses that grow."""
    httpd, domain, _ = owner
    there = receiver(lambda delivery, request: 404)
    hook = create(httpd, there.url, ["email.sent"])
    send(httpd, domain)
    pauses = []
    for n in range(1, 11):
        sent = wait_attempts(httpd, hook, n)[0]["sent_at"]
        (event,) = items(httpd, f"/webhooks/{hook['id']}/events")
        event = httpd.request("GET", f"/webhooks/{hook['id']}/events/{event['id']}").json()
        if event["next_attempt_at"] is None:
            break
        begun, due = map(datetime.fromisoformat, (sent, event["next_attempt_at"]))
        pauses.append(round((due - begun).total_seconds()))
        hook_box.query(f"UPDATE webhook_event SET due_us = 2 WHERE id = '{event['id']}'")
    hours = [pause / 3600 for pause in pauses[3:]]
    assert pauses[:3] == [5, 300, 1800] and hours == [2, 5, 10, 10, 20, 24]
    assert event["status"] == "failed" and len({one.body for one in there.deliveries}) == 1


def test_bounce(owner, receiver, hook_box):
    httpd, domain, _ = owner
    there = receiver()
    create(httpd, there.url, ["email.bounced"])
    send(httpd, domain, "nobody@bounces.test")
    event = there.wait_for(1)[0].event
    assert event["data"]["to"] == ["nobody@bounces.test"]
    bounce = event["data"]["bounce"]
    assert bounce["type"] == "Permanent" and bounce["subType"] == "General"
    assert "hard bounce message" in bounce["message"] and bounce["diagnosticCode"]


def test_routes(owner, receiver):
    httpd, domain, _ = owner
    there = receiver()
    hook = create(httpd, there.url)
    path = f"/webhooks/{hook['id']}"
    assert httpd.request("GET", path).json()["signing_secret"] == hook["signing_secret"]
    assert httpd.request("GET", path).json()["events"] == TYPES
    answer = httpd.request(
        "PATCH", path, json={"endpoint": None, "events": ["email.sent"], "status": "disabled"}
    )
    assert answer.json() == {"object": "webhook", "id": hook["id"]}
    (item,) = items(httpd, "/webhooks")
    assert (item["status"], item["events"]) == ("disabled", ["email.sent"])
    assert "signing_secret" not in item
    httpd.request("PATCH", path, json={"status": "enabled"})
    turned = httpd.request("POST", path + "/signing-secret/rotate").json()
    assert turned["signing_secret"] != hook["signing_secret"]
    send(httpd, domain)
    (told,) = there.wait_for(1)
    assert told.is_signed_by(turned["signing_secret"], hook["signing_secret"])
    answer = httpd.request("POST", f"{path}/events/{told.id}/replay")
    assert answer.json() == {"object": "webhook_event", "id": told.id}
    again = there.wait_for(2)[1]
    assert (again.id, again.body) == (told.id, told.body)
    httpd.request("PATCH", path, json={"status": "disabled"})
    answer = httpd.request("POST", f"{path}/events/{told.id}/replay")
    check_problem(answer, 422, "validation_error", "The webhook is disabled.")
    assert httpd.request("DELETE", path).json()["deleted"] is True
    check_problem(httpd.request("GET", path), 404, "not_found", "Webhook not found")
    assert items(httpd, "/webhooks") == []


REFUSED = [
    ({"events": TYPES}, "missing_required_field"),
    ({"endpoint": "http://a.test/"}, "missing_required_field"),
    ({"endpoint": "http://a.test/", "events": []}, "validation_error"),
    ({"endpoint": "http://a.test/", "events": ["delivered"]}, "validation_error"),
    ({"endpoint": "http://a.test/", "events": ["email.sent,email.x"]}, "validation_error"),
    ({"endpoint": "ftp://a.test/", "events": TYPES}, "validation_error"),
    ({"endpoint": "http://", "events": TYPES}, "validation_error"),
    ({"endpoint": "http://a b/", "events": TYPES}, "validation_error"),
    ({"endpoint": "http://u@:80/", "events": TYPES}, "validation_error"),
    ({"endpoint": "http://u:1@a.test:25/", "events": TYPES}, "validation_error"),
    ({"endpoint": "http://[2001:db8::1]:587", "events": TYPES}, "validation_error"),
    ({"endpoint": "http://a.test:0/", "events": TYPES}, "validation_error"),
    ({"endpoint": "http://a.test:80:80/", "events": TYPES}, "validation_error"),
    ({"endpoint": "http://a.test/" + "x" * 2000, "events": TYPES}, "validation_error"),
    ({"endpoint": "http://a.test/", "events": TYPES, "status": "on"}, "validation_error"),
    ({"endpoint": "http://a.test/", "events": TYPES, "domain": "b.test"}, "validation_error"),
]  # fmt: skip


@pytest.mark.store("sqlite")
def test_refused(owner):
    for fields, name in REFUSED:
        check_problem(owner[0].request("POST", "/webhooks", json=fields), 422, name)


def test_other_company_and_keys(owner, hook_box, receiver):
    """Another company sees nothing of it; a sending key may not; a bound key sees its own."""
    httpd, domain, company = owner
    there = receiver()
    hook = create(httpd, there.url)
    send(httpd, domain)
    told = there.wait_for(2)[0]
    other = hook_box.httpd(hook_box.new_key(hook_box.company())["token"])
    bound = hook_box.httpd(hook_box.new_key(company, domain=domain)["token"])
    path = f"/webhooks/{hook['id']}"
    for one in (other, bound):
        assert items(one, "/webhooks") == []
        for method, where in [("GET", ""), ("PATCH", ""), ("DELETE", ""), ("GET", "/events"),
                              ("POST", "/signing-secret/rotate"), ("GET", f"/events/{told.id}"),
                              ("GET", f"/events/{told.id}/attempts"),
                              ("POST", f"/events/{told.id}/replay")]:  # fmt: skip
            answer = one.request(method, path + where, json={} if method == "PATCH" else None)
            check_problem(answer, 404, "not_found")
    for scope in ("sending", "reading"):
        key = hook_box.httpd(hook_box.new_key(company, scope=scope)["token"])
        check_problem(key.request("GET", "/webhooks"), 403, "restricted_api_key")
    mine = create(bound, there.url)
    assert [one["id"] for one in items(bound, "/webhooks")] == [mine["id"]]
    assert bound.request("GET", f"/webhooks/{mine['id']}").json()["domain"] == domain


def redirect(delivery, request):
    request.send_response(307)
    request.send_header("Location", "/elsewhere")
    request.send_header("Content-Length", "0")
    request.end_headers()


def huge(delivery, request):
    request.send_response(500)
    request.end_headers()
    try:
        for _ in range(10000):
            request.wfile.write(b"x" * 10000)
    except OSError:
        pass


def test_what_answers_do(owner, receiver):
    """Other answers than 2xx fail, no redirect is followed, of a long answer 1 KiB is kept."""
    httpd, domain, _ = owner
    for answer, status, length in [
        (redirect, 307, 0),
        (huge, 500, 1024),
        (lambda d, r: 404, 404, 2),
    ]:
        there = receiver(answer)
        hook = create(httpd, there.url, ["email.sent"])
        send(httpd, domain)
        made = wait_attempts(httpd, hook)
        assert (made[0]["http_status_code"], len(made[0]["response"])) == (status, length)
        assert all(one.path == "/hook" for one in there.deliveries)
        event = items(httpd, f"/webhooks/{hook['id']}/events")[0]
        assert event["status"] == "attempting"
        httpd.request("DELETE", f"/webhooks/{hook['id']}")


def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}/"


@pytest.mark.store("sqlite")
def test_no_answer(owner, receiver):
    """Each way not to answer is an attempt without a status, and delays no other endpoint."""
    httpd, domain, _ = owner
    silent = {
        "connects": Silent(b"", False),
        "head": Silent(b"HTTP/1.1 200 OK\r\nContent-", False),
        "long head": Silent(b"HTTP/1.1 200 OK\r\n" + b"X-Field: x\r\n" * 10000, False),
        "body": Silent(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nx", False),
        "resets": Silent(b"", True),
        "garbage": Silent(b"220 mail ESMTP\r\n", False),
        "tls": Silent(b"no TLS here\r\n", False),
    }
    urls = {how: bad.url for how, bad in silent.items()} | {"refuses": closed_port()}
    urls["tls"] = urls["tls"].replace("http:", "https:")
    hooks = {how: create(httpd, url, ["email.sent"]) for how, url in urls.items()}
    there = receiver()
    create(httpd, there.url, ["email.sent"])
    send(httpd, domain)
    assert there.wait_for(1)
    for how, hook in hooks.items():
        made = wait_attempts(httpd, hook)
        assert made[0]["http_status_code"] == 0 and made[0]["response"] == "", how
        assert made[0]["error"], how
        httpd.request("DELETE", f"/webhooks/{hook['id']}")
    for bad in silent.values():
        bad.close()


def test_killed(owner, receiver, hook_box):
    """Whoever kills it, each event arrives, and each id has one body."""
    httpd, domain, _ = owner
    gate = threading.Event()
    there = receiver(lambda delivery, request: gate.wait(0.3) and 200 or 200)
    create(httpd, there.url)
    ids = set()
    for _ in range(4):
        before = len(there.deliveries)
        for _ in range(5):
            ids.add(send(httpd, domain))
        there.wait_for(before + 1)
        for part in ("webhook", "events"):
            pid = hook_box.pid(part)
            hook_box.kill(part)
            hook_box.wait_for_new(part, pid)
    gate.set()

    def all_told():
        told = {(one.event["data"]["email_id"], one.event["type"]) for one in there.deliveries}
        return {(one, kind) for one in ids for kind in TYPES[:2]} <= told

    wait_for("all events", all_told)
    bodies = {}
    for one in there.deliveries:
        assert bodies.setdefault(one.id, one.body) == one.body
    assert len(bodies) == len({one.body for one in there.deliveries})


@pytest.mark.store("sqlite")
def test_private_targets(own_box, receiver):
    """By default it connects to no address that is not public, whatever name it has."""
    box = own_box("--set", "webhook.allowed=192.0.2.1", parts=["webhook"])
    httpd = box.httpd()
    there = receiver()
    port = there.url.split(":")[2].split("/")[0]
    hooks = [
        create(httpd, f"http://{host}:{port}/hook", ["email.sent"])
        for host in ("127.0.0.1", "localhost", "[::1]", "0.0.0.0", "[::ffff:127.0.0.1]",
                     "2130706433", "127.1")
    ]  # fmt: skip
    httpd.send({"from": "hello@example.com", "to": "a@dst.test", "text": "Hi"})
    for hook in hooks:
        made = wait_attempts(httpd, hook)
        assert "not a public one" in made[0]["error"]
    assert there.connections == 0


@contextmanager
def webhook_daemon(box, folder, resolver):
    """postern-webhook in a mount namespace, where names are looked up at that address and the only
    trusted certificate is the one of the folder. Its environment names a proxy that is not there."""
    for name, text in {"resolv.conf": f"nameserver {resolver}\noptions attempts:1 timeout:5\n",
                       "nsswitch.conf": "hosts: dns\n"}.items():  # fmt: skip
        (folder / name).write_text(text)
    program = TREE / os.environ.get("BUILD", "build") / "postern-webhook"
    script = (f"mount --bind {folder}/resolv.conf $(realpath /etc/resolv.conf) &&"
              f" mount --bind {folder}/nsswitch.conf /etc/nsswitch.conf &&"
              f" mount --bind {folder}/cert /etc/ssl/certs/ca-certificates.crt &&"
              f" exec {program} -c {box.config}")  # fmt: skip
    with open(folder / "log", "ab") as log:
        process = subprocess.Popen(
            ["unshare", "-m", "sh", "-c", script], stdout=log, stderr=log,
            env={**os.environ, **dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"),
                                               "http://127.0.0.1:1")},
        )  # fmt: skip
    try:
        yield process
    finally:
        process.terminate()
        assert process.wait(180) == 0, (folder / "log").read_text()


@pytest.fixture
def tls(tmp_path):
    """A context with a certificate of its own for named.test, whose file is `cert`."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
         "-keyout", tmp_path / "key", "-out", tmp_path / "cert", "-days", "1", "-subj", "/CN=named.test",
         "-addext", "subjectAltName=DNS:named.test"],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert", tmp_path / "key")
    return context


@pytest.mark.store("sqlite")
def test_names(own_box, receiver, tls, tmp_path):
    """What counts is the address that is connected to, whatever a name led to before, and that the
    certificate is for the name. A name without an answer delays no other endpoint."""
    inside, outside = "127.0.0.1", "127.0.0.2"
    box = own_box("--set", f"webhook.allowed={outside}", "--set", "webhook.timeout=10s")
    httpd = box.httpd()
    allowed = receiver(lambda delivery, request: 200, (outside, 0))
    hidden = receiver(lambda delivery, request: 200, (inside, allowed.port))
    secure = receiver(lambda delivery, request: 200, (outside, 0), tls)
    records = {
        ("rebind.test", "A"): [outside],
        ("both.test", "A"): [inside, outside],
        ("mapped.test", "AAAA"): [f"::ffff:{inside}"],
        ("named.test", "A"): [outside],
        ("other.test", "A"): [outside],
    }
    urls = {
        name: f"{scheme}://{name}:{there.port}/{name}"
        for scheme, there, names in (
            ("http", allowed, ("rebind.test", "both.test", "mapped.test", "silent.test")),
            ("https", secure, ("named.test", "other.test")),
        )
        for name in names
    }
    where = f"127.{random.randrange(8, 250)}.{random.randrange(250)}.{random.randrange(1, 250)}"

    def said(hook, n=1):
        """Of the attempt to tell the nth event."""
        wait_for("the event", lambda: len(items(httpd, f"/webhooks/{hook['id']}/events")) == n)
        return wait_attempts(httpd, hook)[0].get("error")

    with DnsServer(records, (where, 53)) as dns:
        dns.silent.add("silent.test")
        hooks = {name: create(httpd, url, ["email.sent"]) for name, url in urls.items()}
        httpd.send({"from": "hello@example.com", "to": "a@dst.test", "text": "Hi"})
        with webhook_daemon(box, tmp_path, where):
            told = allowed.wait_for(2) + secure.wait_for(1)
            assert sorted(one.path for one in told) == ["/both.test", "/named.test", "/rebind.test"]
            assert "not a public one" in said(hooks["mapped.test"])
            assert "other.test" in said(hooks["other.test"])
            assert said(hooks["silent.test"])
        records[("rebind.test", "A")] = [inside]
        for name in set(hooks) - {"rebind.test"}:
            httpd.request("DELETE", f"/webhooks/{hooks[name]['id']}")
        httpd.send({"from": "hello@example.com", "to": "a@dst.test", "text": "Hi"})
        with webhook_daemon(box, tmp_path, where):
            assert "not a public one" in said(hooks["rebind.test"], 2)
    assert ("rebind.test", "A") in dns.asked
    assert hidden.connections == 0
    assert (len(allowed.deliveries), len(secure.deliveries)) == (2, 1)


@pytest.mark.store("sqlite")
def test_unknown_certificate(owner, receiver, tls):
    httpd, domain, _ = owner
    there = receiver(lambda delivery, request: 200, ("127.0.0.1", 0), tls)
    hook = create(httpd, there.url, ["email.sent"])
    send(httpd, domain)
    made = wait_attempts(httpd, hook)
    assert made[0]["http_status_code"] == 0 and "certificate" in made[0]["error"]
    assert there.connections > 0 and there.deliveries == []


@pytest.mark.store("sqlite")
def test_https_by_default(own_box):
    box = own_box("--set", "webhook.schemes=https", parts=["webhook"])
    answer = box.httpd().request(
        "POST", "/webhooks", json={"endpoint": "http://a.test/", "events": TYPES}
    )
    check_problem(answer, 422, "validation_error", "https://")


def test_disabled_after_failing(own_box, receiver):
    box = own_box("--set", "webhook.disable_after=1s", parts=["webhook"])
    httpd = box.httpd()
    there = receiver(lambda delivery, request: 500)
    hook = create(httpd, there.url, ["email.sent"])
    httpd.send({"from": "hello@example.com", "to": "a@dst.test", "text": "Hi"})
    wait_for("the end of it",
             lambda: items(httpd, "/webhooks")[0]["status"] == "disabled")  # fmt: skip
    entry = box.query("SELECT actor, object_id FROM audit WHERE action = 'webhook.disable'")
    assert hook["id"] in str(entry)


def test_limit(own_box):
    box = own_box("--set", "limits.webhooks=2", parts=["webhook"])
    httpd = box.httpd()
    for _ in range(2):
        create(httpd, "http://a.test/")
    answer = httpd.request(
        "POST", "/webhooks", json={"endpoint": "http://a.test/", "events": TYPES}
    )
    check_problem(answer, 422, "validation_error", "limits.webhooks")


def ask_form(httpd, method, path, fields=None, as_multipart=False):
    """A request of the form API, whose answer is as documented."""
    body = {"files": [(k, (None, v)) for k, v in fields]} if as_multipart else {"data": fields}
    return httpd.request(
        method, path, headers={"Authorization": None}, auth=("api", httpd.key), **body
    )


def is_signed(told, key):
    signature = told["signature"]
    assert len(signature["token"]) == 50 and isinstance(signature["timestamp"], str)
    text = signature["timestamp"] + signature["token"]
    return signature["signature"] == hmac.new(key.encode(), text.encode(), "sha256").hexdigest()


@pytest.mark.parametrize("as_multipart", [False, True])
def test_form_routes(owner, receiver, hook_box, as_multipart):
    httpd, domain, company = owner
    there = receiver()
    path = f"/v3/domains/{domain}/webhooks"
    one, two = there.url, there.url + "2"
    answer = ask_form(httpd, "POST", path, [("id", "delivered"), ("url", one)], as_multipart)
    assert answer.json() == {"message": "Webhook has been created", "webhook": {"urls": [one]}}
    again = ask_form(httpd, "POST", path, [("id", "delivered"), ("url", two)], as_multipart)
    assert again.status_code == 400 and "exists" in again.json()["message"]
    for fields in ([("id", "other"), ("url", one)], [("id", "opened"), ("url", "ftp://a/")],
                   [("id", "opened")], [("url", one)], [("id", "opened")] + [("url", one)] * 4):  # fmt: skip
        assert ask_form(httpd, "POST", path, fields, as_multipart).status_code == 400
    answer = ask_form(httpd, "PUT", path + "/permanent_fail", [("url", one)], as_multipart)
    assert answer.json()["message"] == "Webhook has been updated"
    before = {hook["id"] for hook in hook_box.cli("webhook", "list", "--company", company)}
    answer = ask_form(httpd, "PUT", path + "/permanent_fail", [("url", one), ("url", two)],
                      as_multipart)  # fmt: skip
    after = {hook["id"] for hook in hook_box.cli("webhook", "list", "--company", company)}
    # A URL that stays keeps what waits for it.
    assert before < after and len(after) == 3
    assert ask_form(httpd, "GET", path).json() == {
        "webhooks": {"delivered": {"urls": [one]}, "permanent_fail": {"urls": [one, two]}}
    }
    assert ask_form(httpd, "GET", path + "/delivered").json() == {"webhook": {"urls": [one]}}
    assert items(httpd, "/webhooks") == []
    # A name that is none, however long, is no other one that the form has.
    no_name = path + "/" + "delivered" * 9
    assert ask_form(httpd, "GET", no_name).status_code == 404
    for method, status in ("PUT", 400), ("DELETE", 404):
        answer = ask_form(httpd, method, no_name, [("id", "delivered"), ("url", two)], as_multipart)
        assert answer.status_code == status
    assert ask_form(httpd, "GET", path + "/delivered").json() == {"webhook": {"urls": [one]}}
    send(httpd, domain)
    told = there.wait_for(1)[0].event
    event = told["event-data"]
    assert event["event"] == "delivered" and event["message"]["headers"]["from"]
    shown = hook_box.cli("webhook", "list", "--company", company)
    key = hook_box.cli("webhook", "show", shown[0]["id"])["signing_secret"]
    assert is_signed(told, key)
    test = ask_form(httpd, "PUT", path + "/delivered/test", [("url", one)])
    assert test.json()["code"] == 200
    assert is_signed(there.wait_for(2)[1].event, key)
    send(httpd, domain, "nobody@bounces.test")
    failed = there.wait_for(4)[2:]
    assert {d.path for d in failed} == {"/hook", "/hook2"}
    assert all(d.event["event-data"]["severity"] == "permanent" for d in failed)
    other = hook_box.httpd(hook_box.new_key(hook_box.company())["token"])
    assert ask_form(other, "GET", path).status_code == 404
    assert ask_form(other, "DELETE", path + "/delivered").status_code == 404
    answer = ask_form(httpd, "DELETE", path + "/delivered")
    assert answer.json() == {"message": "Webhook has been deleted", "webhook": {"urls": [one]}}
    assert ask_form(httpd, "GET", path + "/delivered").status_code == 404


def test_406_is_final_for_forms(owner, receiver, hook_box):
    httpd, domain, company = owner
    there = receiver(lambda delivery, request: 406)
    ask_form(httpd, "POST", f"/v3/domains/{domain}/webhooks",
             [("id", "delivered"), ("url", there.url)])  # fmt: skip
    send(httpd, domain)
    (hook,) = hook_box.cli("webhook", "list", "--company", company)

    def look():
        events = hook_box.cli("webhook", "events", hook["id"])
        return events and events[0]["status"] == "failed" and events

    (event,) = wait_for("the end", look)
    (attempt,) = hook_box.cli("webhook", "attempts", hook["id"], "--event", event["id"])
    assert attempt["http_status"] == 406


def test_command(owner, receiver, hook_box):
    _, domain, company = owner
    there = receiver()
    cli = hook_box.cli
    hook = cli("webhook", "add", "--company", company, "--endpoint", there.url,
               "--events", "email.delivered,email.sent", "--domain", domain)  # fmt: skip
    assert hook["domain"] == domain and hook["signing_secret"].startswith("whsec_")
    event = cli("webhook", "test", hook["id"])
    (told,) = there.wait_for(1)
    assert told.id == event["id"] and told.event["type"] == "email.delivered"
    assert told.is_signed_by(hook["signing_secret"])
    turned = cli("webhook", "rotate", hook["id"])
    assert cli("webhook", "replay", hook["id"], "--since", "1h")["events"] == 1
    again = there.wait_for(2)[1]
    assert (again.id, again.body) == (told.id, told.body)
    assert again.is_signed_by(turned["signing_secret"], hook["signing_secret"])
    assert cli("webhook", "disable", hook["id"])["enabled"] is False
    assert cli("webhook", "enable", hook["id"])["enabled"] is True
    cli("webhook", "remove", hook["id"])
    assert cli("webhook", "list", "--company", company) == []
