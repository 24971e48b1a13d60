"""The admin listener: who may do what, and how they come in."""

import json
import re
import socket
import subprocess
from urllib.parse import urlsplit

import pytest
import requests
from harness import wait_for
from harness.admin import Admin, by_token, operator
from harness.sandbox import unique

PASSWORD = "correct horse battery"
NO_ID = "3c0d6a52-6c7b-4a0a-9b1c-2b5b7f5a8f11"

NOBODY, VIEWER, OWNER, OP_VIEWER, OPERATOR = CALLERS = [
    "nobody",
    "viewer of a company",
    "owner of a company",
    "operator who views",
    "operator",
]
ALL = set(CALLERS)
USERS = ALL - {NOBODY}
OWNERS = {OWNER, OPERATOR}
OPERATORS = {OP_VIEWER, OPERATOR}

# Who may make each request; others are refused with 401 or 403. A route that is
# missing here fails test_table_is_complete.
MAY = {
    ("get", "/"): ALL,
    ("head", "/"): ALL,
    ("get", "/web/{file}"): ALL,
    ("head", "/web/{file}"): ALL,
    ("get", "/web/pages/{file}"): ALL,
    ("head", "/web/pages/{file}"): ALL,
    ("get", "/web/{version}/{file}"): ALL,
    ("head", "/web/{version}/{file}"): ALL,
    ("get", "/web/{version}/pages/{file}"): ALL,
    ("head", "/web/{version}/pages/{file}"): ALL,
    ("get", "/admin"): ALL,
    ("get", "/admin/openapi.json"): ALL,
    ("post", "/admin/session/link"): ALL,
    ("post", "/admin/session"): ALL,
    ("get", "/admin/session"): USERS,
    ("delete", "/admin/session"): USERS,
    ("post", "/admin/password"): USERS,
    ("get", "/admin/account"): USERS,
    ("post", "/admin/totp"): USERS,
    ("post", "/admin/totp/confirm"): USERS,
    ("post", "/admin/totp/off"): USERS,
    ("get", "/admin/sessions"): USERS,
    ("delete", "/admin/sessions"): USERS,
    ("delete", "/admin/sessions/{id}"): USERS,
    ("get", "/admin/users"): OWNERS,
    ("post", "/admin/users"): OWNERS,
    ("patch", "/admin/users/{id}"): OWNERS,
    ("delete", "/admin/users/{id}"): OWNERS,
    ("post", "/admin/users/{id}/link"): OWNERS,
    ("post", "/admin/users/{id}/reset"): OWNERS,
    ("get", "/admin/tokens"): OWNERS,
    ("post", "/admin/tokens"): OWNERS,
    ("delete", "/admin/tokens/{id}"): OWNERS,
    ("get", "/admin/companies"): USERS,
    ("post", "/admin/companies"): {OPERATOR},
    ("get", "/admin/companies/{id}"): USERS,
    ("delete", "/admin/companies/{id}"): {OPERATOR},
    ("get", "/admin/hosts"): OPERATORS,
    ("get", "/admin/held"): OPERATORS,
    ("get", "/admin/held/{id}"): OPERATORS,
    ("post", "/admin/held/decide"): {OPERATOR},
    ("get", "/admin/domains"): USERS,
    ("post", "/admin/domains"): OWNERS,
    ("get", "/admin/domains/{id}"): USERS,
    ("get", "/admin/domains/{id}/dns"): USERS,
    ("post", "/admin/domains/{id}/verify"): OWNERS,
    ("patch", "/admin/domains/{id}"): {OPERATOR},
    ("delete", "/admin/domains/{id}"): {OPERATOR},
    ("get", "/admin/keys"): USERS,
    ("post", "/admin/keys"): OWNERS,
    ("post", "/admin/keys/revoke"): OWNERS,
    ("get", "/admin/keys/{id}"): USERS,
    ("patch", "/admin/keys/{id}"): OWNERS,
    ("delete", "/admin/keys/{id}"): OWNERS,
    ("get", "/admin/exemptions"): USERS,
    ("post", "/admin/exemptions"): {OPERATOR},
    ("post", "/admin/exemptions/batch"): {OPERATOR},
    ("delete", "/admin/exemptions/{id}"): {OPERATOR},
    ("get", "/admin/suggestions"): USERS,
    ("get", "/admin/host"): USERS,
    ("get", "/admin/emails"): USERS,
    ("post", "/admin/emails/test"): OWNERS,
    ("get", "/admin/emails/{id}"): USERS,
    ("get", "/admin/emails/{id}/html"): USERS,
    ("get", "/admin/emails/{id}/raw"): USERS,
    ("post", "/admin/emails/{id}/cancel"): OWNERS,
    ("post", "/admin/emails/{id}/resend"): OWNERS,
    ("get", "/admin/events"): USERS,
    ("get", "/admin/outbox"): USERS,
    ("post", "/admin/outbox/pause"): {OPERATOR},
    ("post", "/admin/outbox/resume"): {OPERATOR},
    ("post", "/admin/outbox/cancel"): OWNERS,
    ("get", "/admin/webhooks"): USERS,
    ("post", "/admin/webhooks"): OWNERS,
    ("get", "/admin/webhooks/{id}"): USERS,
    ("patch", "/admin/webhooks/{id}"): OWNERS,
    ("delete", "/admin/webhooks/{id}"): OWNERS,
    ("post", "/admin/webhooks/{id}/secret"): OWNERS,
    ("post", "/admin/webhooks/{id}/rotate"): OWNERS,
    ("post", "/admin/webhooks/{id}/test"): OWNERS,
    ("get", "/admin/webhooks/{id}/events"): USERS,
    ("get", "/admin/webhooks/{id}/event"): USERS,
    ("get", "/admin/webhooks/{id}/attempts"): USERS,
    ("post", "/admin/webhooks/{id}/replay"): OWNERS,
    ("get", "/admin/suppressions"): USERS,
    ("post", "/admin/suppressions"): OWNERS,
    ("post", "/admin/suppressions/batch"): OWNERS,
    ("post", "/admin/suppressions/remove"): OWNERS,
    ("get", "/admin/suppressions/csv"): USERS,
    ("get", "/admin/suppressions/{id}"): USERS,
    ("delete", "/admin/suppressions/{id}"): OWNERS,
    ("get", "/admin/refusals"): USERS,
    ("get", "/admin/stats"): USERS,
    ("get", "/admin/stats/reasons"): USERS,
    ("get", "/admin/stats/providers"): USERS,
    ("get", "/admin/stats/delays"): USERS,
    ("get", "/admin/stats/backlog"): USERS,
    ("get", "/admin/attention"): USERS,
    ("get", "/admin/live"): USERS,
    ("get", "/admin/audit"): USERS,
    ("get", "/admin/settings"): OPERATORS,
    ("get", "/admin/health"): OPERATORS,
    ("get", "/admin/doctor"): OPERATORS,
    ("get", "/healthz"): ALL,
    ("get", "/readyz"): ALL,
    ("get", "/metrics"): OPERATORS,
}


def add_user(box, password=PASSWORD, *words):
    """Adds a user and returns their login."""
    login = unique("user")
    subprocess.run(
        [box.env["POSTERN_CLI"], "-c", box.env["POSTERN_CONFIG"]]
        + ["user", "add", login, *words],
        input=password,
        text=True,
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=60,
    )
    return login


def link_of(box, login):
    """Returns a login link for the user, without the URL of the listener."""
    url = urlsplit(box.cli("user", "link", login)["url"])
    assert f"{url.scheme}://{url.netloc}" == box.env["POSTERN_ADMIN_URL"]
    return f"{url.path}#{url.fragment}"


@pytest.fixture(scope="module")
def callers(box):
    company = box.company()
    return {
        NOBODY: lambda: Admin(box),
        VIEWER: lambda: by_token(box, unique("v"), company, "viewer"),
        OWNER: lambda: by_token(box, unique("o"), company),
        OP_VIEWER: lambda: by_token(box, unique("ov"), None, "viewer"),
        OPERATOR: lambda: by_token(box, unique("op")),
    }


def test_table_is_complete(box):
    paths = Admin(box).ok("GET", "/admin/openapi.json")["paths"]
    assert set(MAY) == {(m, path) for path, item in paths.items() for m in item}


@pytest.mark.parametrize("caller", CALLERS)
def test_who_may_do_what(callers, caller):
    client = callers[caller]()
    # At last the one that ends the session.
    for method, path in sorted(MAY, key=lambda r: r == ("delete", "/admin/session")):
        body = {} if method in ("post", "patch") else None
        answer = client.request(
            method.upper(), re.sub("{.*?}", NO_ID, path), json=body
        )
        refused = answer.status_code in (401, 403)
        may = caller in MAY[method, path]
        assert refused != may, (method, path, caller, answer.text)
        if not may:
            assert answer.status_code == (401 if caller == NOBODY else 403)


def test_login_and_logout(box):
    admin = operator(box)
    me = admin.ok("GET", "/admin/session")
    assert me["login"] == box.env["POSTERN_ADMIN_LOGIN"]
    assert me["role"] == "owner" and me["company_id"] is None
    token = admin.cookie()
    admin.ok("DELETE", "/admin/session")
    assert admin.cookie() is None
    # The cookie that somebody kept opens nothing.
    admin.set_cookie(token)
    assert admin.status("GET", "/admin/session") == 401


def test_cookie(box):
    login = add_user(box)
    browser = Admin(box)
    answer = browser.login(login, PASSWORD)
    assert re.fullmatch(
        rf"{browser.cookie_name}=pa_[\w-]{{43}}; Path=/; Max-Age=604800; HttpOnly; "
        "SameSite=Strict",
        answer.headers["set-cookie"],
    )
    # A token of a browser is none of a program, and the other way round.
    browser = Admin(box)
    browser.login(login, PASSWORD)
    assert Admin(box, browser.cookie()).status("GET", "/admin/session") == 401
    program = by_token(box, unique("p"))
    browser.session.cookies.clear()
    browser.set_cookie(program.token)
    assert browser.status("GET", "/admin/session") == 401


def test_wrong_logins(box):
    login = add_user(box)
    answers = [
        Admin(box).login(*pair)
        for pair in [(login, "wrong " + PASSWORD), (unique("none"), PASSWORD)]
    ]
    for answer in answers:
        assert answer.status_code == 401
        assert "set-cookie" not in answer.headers
    assert answers[0].json() == answers[1].json()
    nul = [{"login": login + "\0x", "password": PASSWORD}, {"login": login, "password": PASSWORD + "\0x"}]
    for body in [{}, {"login": login}, {"login": 1, "password": PASSWORD}, [], *nul]:
        assert Admin(box).status("POST", "/admin/session", json=body) == 422
    robot = unique("robot")
    box.cli("user", "add", robot, "--no-password")
    assert Admin(box).login(robot, "").status_code == 401


def test_session_fixation(box):
    """A login makes a new session, whatever cookie it comes with."""
    login = add_user(box)
    admin = Admin(box)
    admin.login(login, PASSWORD)
    mine = admin.cookie()
    victim = Admin(box)
    victim.set_cookie(mine)
    answer = victim.login(login, PASSWORD)
    assert mine not in answer.headers["set-cookie"]
    victim.session.cookies.clear()
    victim.set_cookie("pa_" + "x" * 43)
    answer = victim.login(login, PASSWORD)
    assert "xxx" not in answer.headers["set-cookie"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {},
    ],
)
def test_foreign_pages_change_nothing(box, headers):
    admin = operator(box)
    login = unique("csrf")
    calls = [
        ("POST", "/admin/users", {"login": login}),
        ("DELETE", "/admin/session", None),
    ]
    for method, target, body in calls:
        answer = admin.request(
            method, target, json=body, own_page=False, headers=headers
        )
        assert answer.status_code == 403, answer.text
    assert login not in str(admin.ok("GET", "/admin/users"))
    # Nor does a page of another site log somebody in.
    if headers:
        answer = Admin(box).request(
            "POST",
            "/admin/session",
            json={"login": "a", "password": "b"},
            own_page=False,
            headers=headers,
        )
        assert answer.status_code == 403
    # A form cannot send JSON.
    answer = admin.request("POST", "/admin/users", data={"login": login})
    assert answer.status_code == 415


def test_brute_force(own_box):
    box = own_box()
    login = add_user(box)
    codes = [Admin(box).login(login, f"guess number {i}").status_code for i in range(9)]
    assert codes[:5] == [401] * 5
    assert 429 in codes[5:]
    last = Admin(box).login(login, PASSWORD)
    assert last.status_code == 429
    assert int(last.headers["retry-after"]) > 0
    # Who is in stays in, and the public API does not care.
    assert box.httpd().request("GET", "/emails").status_code == 200
    wait_for(
        "the throttle",
        lambda: Admin(box).login(login, PASSWORD).status_code == 200,
    )


def begin(admin, target="/admin/password", length=1000):
    """Returns a request whose head was accepted and whose body is not sent yet; None if
    it was refused."""
    url = urlsplit(admin.url)
    connection = socket.create_connection((url.hostname, url.port), timeout=60)
    connection.sendall(
        f"POST {target} HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Bearer {admin.token}\r\nContent-Type: application/json\r\n"
        f"Expect: 100-continue\r\nContent-Length: {length}\r\n\r\n".encode()
    )
    status = int(connection.recv(4096).split()[1])
    if status == 100:
        return connection
    assert status == 503
    connection.close()
    return None


def test_a_company_leaves_places_to_others(own_box):
    """A company that uses all its slots keeps out neither operators nor other
    companies."""
    box = own_box("--set", "http.max_requests=9", "--set", "http.max_wait=0")
    company = box.company()
    viewers = [by_token(box, unique("v"), company, "viewer") for _ in range(2)]
    operators = [by_token(box, unique("op")) for _ in range(2)]
    stranger = by_token(box, unique("s"), box.company(), "viewer")
    held = [wait_for("a place", lambda: begin(viewers[i % 2])) for i in range(5)]
    for viewer in viewers:
        assert viewer.status("GET", "/admin/companies") == 503
    for other in [*operators, stranger]:
        assert other.status("GET", "/admin/emails") == 200
    # Nor does one operator keep out another.
    held += [wait_for("a place", lambda: begin(operators[0])) for _ in range(2)]
    assert operators[0].status("GET", "/admin/companies") == 503
    assert operators[1].status("GET", "/admin/companies") == 200
    for connection in held:
        connection.close()


@pytest.mark.parametrize(
    ("meanwhile", "status"),
    [("removed", 401), ("revoked", 401), ("viewer", 403), ("nothing", 201)],
)
def test_rights_that_end_before_the_body_comes(box, meanwhile, status):
    """A change needs the rights when it is made, not when the request began."""
    owner = by_token(box, unique("owner"))
    me = owner.ok("GET", "/admin/session")
    login = unique("late")
    body = json.dumps({"login": login}).encode()
    connection = begin(owner, "/admin/users", len(body))
    if meanwhile == "removed":
        box.cli("user", "remove", me["login"])
    elif meanwhile == "revoked":
        tokens = box.cli("token", "list")
        [token] = [t["id"] for t in tokens if t["login"] == me["login"]]
        box.cli("token", "revoke", token)
    elif meanwhile == "viewer":
        box.cli("user", "set", me["login"], "--role", "viewer")
    connection.sendall(body)
    assert int(connection.recv(4096).split()[1]) == status
    connection.close()
    added = [u["login"] for u in box.cli("user", "list")]
    assert (login in added) == (meanwhile == "nothing")


def test_logins_are_counted(own_box):
    """Logins use slots like other requests."""
    box = own_box("--set", "http.max_requests=2", "--set", "http.max_wait=0")
    login = add_user(box)
    targets = [link_of(box, login) for _ in range(2)]
    admin = Admin(box)
    admin.contract()
    held = [begin(by_token(box, unique("op"))) for _ in range(2)]
    assert None not in held
    assert admin.login(login, PASSWORD).status_code == 503
    assert admin.follow(targets[0]).status_code == 503
    for connection in held:
        connection.close()
    wait_for("a place", lambda: admin.login(login, PASSWORD).status_code == 200)
    # The link was not used.
    assert Admin(box).follow(targets[0]).status_code == 200


def test_an_unknown_link_writes_nothing(box):
    """Requests with made-up links write nothing."""
    admin = Admin(box)
    admin.contract()
    with box.locked():
        assert admin.follow("/#/login?token=pa_" + "x" * 43).status_code == 401


def test_link(box):
    login = add_user(box)
    target = link_of(box, login)
    admin = Admin(box)
    # Opening it does nothing, whoever does: browsers do not send the token.
    opened = admin.request("GET", target.partition("#")[0], own_page=False)
    assert opened.status_code == 200 and "set-cookie" not in opened.headers
    elsewhere = {"Origin": "http://elsewhere.example"}
    token = {"token": target.partition("token=")[2]}
    link = "/admin/session/link"
    assert admin.status("POST", link, json=token, headers=elsewhere) == 403
    assert admin.follow(target).status_code == 200
    assert admin.ok("GET", "/admin/session")["login"] == login
    again = Admin(box).follow(target)
    assert again.status_code == 401
    assert "set-cookie" not in again.headers
    for body in ({}, [], {"token": 1}, {**token, "login": login}):
        assert Admin(box).status("POST", link, json=body) == 422
    assert Admin(box).follow("/#/login?token=" + admin.cookie()).status_code == 401


def test_members_see_their_company_alone(box):
    ours, theirs = box.company(), box.company()
    owner = by_token(box, unique("owner"), ours)
    stranger = unique("stranger")
    box.cli("user", "add", stranger, "--no-password", "--company", theirs)
    operators = operator(box)
    users = {u["login"]: u for u in operators.ok("GET", "/admin/users")["data"]}

    assert [u["company_id"] for u in owner.ok("GET", "/admin/users")["data"]] == [ours]
    assert [t["login"] for t in owner.ok("GET", "/admin/tokens")["data"]] != []
    for login in [stranger, box.env["POSTERN_ADMIN_LOGIN"]]:
        target = f"/admin/users/{users[login]['id']}"
        assert owner.status("PATCH", target, json={"role": "viewer"}) == 404
        assert owner.status("DELETE", target) == 404
        assert owner.status("POST", target + "/link") == 404
    token = box.cli("token", "create", stranger, "--name", "x")
    assert owner.status("DELETE", f"/admin/tokens/{token['id']}") == 404
    # A member adds members of their own company alone.
    body = {"login": f"{unique('n')}@{box.domain(ours)}", "role": "owner"}
    assert owner.status("POST", "/admin/users", json={**body, "company_id": theirs}) == 404
    assert owner.ok("POST", "/admin/users", 201, json=body)["company_id"] == ours


def test_members_learn_no_logins_of_others(box):
    """Members may only add logins in their own domains. The refusal of any other login
    is the same whether it exists or not."""
    ours, theirs = box.company(), box.company()
    owner = by_token(box, unique("owner"), ours)
    domain, other = box.domain(ours), box.domain(theirs)
    asked = box.domain(ours, active=False)
    taken = [unique("plain"), f"{unique('x')}@{other}", f"{unique('x')}@gmail.example"]
    for login in taken:
        box.cli("user", "add", login, "--no-password", "--company", theirs)
    free = [unique("plain"), f"{unique('x')}@{other}", f"{unique('x')}@gmail.example"]
    free += [f"@{domain}", f"x@sub.{domain}", f"x@{domain}@{other}"]
    said = set()
    for login in [*taken, *[one.upper() for one in taken], *free]:
        answer = owner.request("POST", "/admin/users", json={"login": login})
        assert answer.status_code == 422, answer.text
        said.add(answer.text)
    assert len(said) == 1, said
    off = owner.request("POST", "/admin/users", json={"login": f"x@{asked}"})
    assert off.status_code == 422
    login = f"{unique('Ann')}@{domain}"
    owner.ok("POST", "/admin/users", 201, json={"login": login})
    again = {"login": login.upper()}
    assert owner.status("POST", "/admin/users", json=again) == 409


def test_logins_in_any_case(box):
    login = add_user(box)
    other = Admin(box)
    assert other.login(login.upper(), PASSWORD).status_code == 200
    assert other.ok("GET", "/admin/session")["login"] == login
    assert box.cli("user", "set", login.title(), "--role", "viewer")["login"] == login
    box.cli("user", "add", login.upper(), "--no-password", ok=False)


def test_user_by_http(box):
    admin = operator(box)
    login = unique("new")
    added = admin.ok("POST", "/admin/users", 201, json={"login": login})
    assert added["role"] == "viewer"
    assert admin.status("POST", "/admin/users", json={"login": login}) == 409
    fresh = Admin(box)
    assert fresh.follow(added["login_path"]).status_code == 200
    assert fresh.status("POST", "/admin/users", json={"login": unique("x")}) == 403
    admin.ok("PATCH", f"/admin/users/{added['id']}", json={"role": "owner"})
    # At once, for the session that is there.
    assert fresh.ok("GET", "/admin/session")["role"] == "owner"
    admin.ok("DELETE", f"/admin/users/{added['id']}")
    assert fresh.status("GET", "/admin/session") == 401
    entries = box.cli("audit", "list", "--object", login)
    assert sorted(e["action"] for e in entries) == [
        "user.add",
        "user.remove",
        "user.set",
    ]
    assert {e["actor"] for e in entries} == {"user"}
    assert {e["origin"] for e in entries} == {admin.address}


def test_own_password(box):
    login = add_user(box)
    here, elsewhere = Admin(box), Admin(box)
    here.login(login, PASSWORD)
    elsewhere.login(login, PASSWORD)
    new = "another " + PASSWORD
    for wrong, status in [
        ({"password": "not it, no", "new_password": new}, 422),
        ({"new_password": new}, 422),
        ({"password": PASSWORD, "new_password": "short"}, 422),
        ({"password": PASSWORD}, 422),
    ]:
        assert here.status("POST", "/admin/password", json=wrong) == status
    here.ok(
        "POST", "/admin/password", json={"password": PASSWORD, "new_password": new}
    )
    assert here.status("GET", "/admin/session") == 200
    assert elsewhere.status("GET", "/admin/session") == 401
    assert Admin(box).login(login, PASSWORD).status_code == 401
    assert Admin(box).login(login, new).status_code == 200


def test_tokens(box):
    login = add_user(box)
    admin = Admin(box)
    admin.login(login, PASSWORD)
    make = {"name": "ci", "days": 1, "password": PASSWORD}
    # Whoever has only found the browser open makes none.
    for password in [{}, {"password": "wrong " + PASSWORD}]:
        body = {"name": "ci", **password}
        assert admin.status("POST", "/admin/tokens", json=body) == 422
    made = admin.ok("POST", "/admin/tokens", 201, json=make)
    program = Admin(box, made["token"])
    assert program.ok("GET", "/admin/session")["kind"] == "token"
    for body in [{}, {"name": ""}, {"name": "x", "days": -1}, {"name": "x", "y": 1}]:
        assert program.status("POST", "/admin/tokens", json=body) == 422
    listed = program.ok("GET", "/admin/tokens")["data"]
    assert made["id"] in [t["id"] for t in listed]
    assert made["token"] not in str(listed)
    admin.ok("DELETE", f"/admin/tokens/{made['id']}")
    assert program.status("GET", "/admin/session") == 401


def test_what_a_token_makes_ends_with_it(box):
    box.cli("user", "add", login := unique("owner"), "--no-password")
    made = box.cli("token", "create", login, "--name", "ends", "--days", "1")
    program = Admin(box, made["token"])
    for days in [{}, {"days": 9}]:
        child = program.ok("POST", "/admin/tokens", 201, json={"name": "x", **days})
        assert child["expires_at"] == made["expires_at"]
    user = program.ok("GET", "/admin/session")["user_id"]
    body = {"login": unique("accomplice"), "role": "owner"}
    assert program.status("POST", "/admin/users", json=body) == 403
    for what in ["link", "reset"]:
        assert program.status("POST", f"/admin/users/{user}/{what}") == 403
    # One without an end may.
    made = box.cli("token", "create", login, "--name", "stays")
    program = Admin(box, made["token"])
    child = program.ok("POST", "/admin/tokens", 201, json={"name": "x"})
    assert child["expires_at"] is None
    program.ok("POST", f"/admin/users/{user}/link", 201)
    # But nobody takes their own password away, to set one they know.
    assert program.status("POST", f"/admin/users/{user}/reset") == 422


def test_a_token_without_a_password(box):
    """A user without a password can make a token for a while after the login by a link.
    A session that is stolen later cannot make anything that outlasts it."""
    user = box.cli("user", "add", login := unique("owner"), "--no-password")["id"]
    browser = Admin(box)
    assert browser.follow(link_of(box, login)).status_code == 200
    browser.ok("POST", "/admin/tokens", 201, json={"name": "x"})
    box.query(
        "UPDATE admin_session SET created_us = created_us - 16 * 60000000"
        f" WHERE user_id = '{user}' AND kind = 'browser'"
    )
    for target, body in [
        ("/admin/tokens", {"name": "y"}),
        ("/admin/password", {"new_password": "new " + PASSWORD}),
    ]:
        answer = browser.request("POST", target, json=body)
        assert answer.status_code == 422 and "new link" in answer.text, answer.text
    assert browser.follow(link_of(box, login)).status_code == 200
    browser.ok("POST", "/admin/password", json={"new_password": "new " + PASSWORD})


def test_no_company_is_not_every_company(box):
    """An empty company makes no operator."""
    admin = operator(box)
    body = {"login": unique("empty"), "role": "owner", "company_id": ""}
    assert admin.status("POST", "/admin/users", json=body) == 404


def test_sessions_end(own_box):
    box = own_box("--set", "admin.session_idle=5m", "--set", "admin.session_max=1h")
    login = add_user(box)
    admin = Admin(box)
    admin.login(login, PASSWORD)

    def age(column, minutes):
        box.query(f"UPDATE admin_session SET {column} = {column} - {minutes * 60_000_000}")

    assert admin.status("GET", "/admin/session") == 200
    age("last_used_us", 4)
    assert admin.status("GET", "/admin/session") == 200
    age("last_used_us", 6)
    assert admin.status("GET", "/admin/session") == 401
    # What a page asks by itself while nobody is there does not count.
    admin.login(login, PASSWORD)
    age("last_used_us", 4)
    unattended = {"Postern-Unattended": "1"}
    assert admin.status("GET", "/admin/session", headers=unattended) == 200
    age("last_used_us", 2)
    assert admin.status("GET", "/admin/session", headers=unattended) == 401
    # Nor does it that a stream begins anew, which needs no field to say so.
    admin.login(login, PASSWORD)
    age("last_used_us", 4)
    with admin.request("GET", "/admin/live", stream=True) as answer:
        assert answer.status_code == 200
    age("last_used_us", 2)
    assert admin.status("GET", "/admin/session") == 401
    admin.login(login, PASSWORD)
    assert admin.status("GET", "/admin/session") == 200
    age("expires_us", 61)
    assert admin.status("GET", "/admin/session") == 401


def test_behind_a_proxy(own_box):
    box = own_box(
        *("--set", "admin.url=https://mail.example"),
        *("--set", "http.trusted_proxies=127.0.0.1"),
    )
    login = add_user(box)
    body = {"login": login, "password": PASSWORD}
    page = {"Origin": "https://mail.example", "X-Forwarded-For": "198.51.100.7, 192.0.2.9"}
    answer = Admin(box).request("POST", "/admin/session", json=body, headers=page)
    assert answer.status_code == 200
    assert answer.headers["set-cookie"].endswith("; Secure")
    # Its address is the one that the proxy has added.
    log = (box.dir / "log" / "httpd.log").read_text()
    assert f"user={login} client=192.0.2.9" in log
    large = {**body, "x": "x" * 20_000}  # refused by its head
    answer = Admin(box).request("POST", "/admin/nothing", json=large, headers=page)
    log = (box.dir / "log" / "httpd.log").read_text()
    [line] = [l for l in log.splitlines() if answer.headers["x-request-id"] in l]
    assert " event=request_refused " in line and " client=192.0.2.9 " in line
    answer = Admin(box).request("POST", "/admin/session", json=body)
    assert answer.status_code == 403
    assert box.cli("user", "link", login)["url"].startswith("https://mail.example/#/login")


def test_api_keys_are_none(box):
    """API keys are not accepted on the admin listener, nor tokens on the other one."""
    assert Admin(box, box.env["POSTERN_KEY"]).status("GET", "/admin/session") == 401
    token = by_token(box, unique("t")).token
    assert box.httpd(token).request("GET", "/emails").status_code == 401
    public = requests.get(box.url + "/admin/session", timeout=60)
    assert public.status_code == 404
    assert Admin(box).status("GET", "/emails") == 404


def test_secrets_stay_out_of_the_log(box):
    login = add_user(box)
    target = link_of(box, login)
    admin = Admin(box)
    admin.follow(target)
    admin.login(login, PASSWORD)
    admin.login("wrong field " + PASSWORD, "x")
    log = (box.dir / "log" / "httpd.log").read_text()
    assert f"user={login}" in log
    for secret in [PASSWORD, target.split("=")[1], admin.cookie()]:
        assert secret not in log
    for secret in [PASSWORD, target.split("=")[1], admin.cookie()]:
        assert not box.stores(secret)


def test_off(own_box):
    box = own_box("--set", "http.workers=1")
    config = box.config.read_text()
    listen = box.env["POSTERN_ADMIN_URL"].removeprefix("http://")
    box.config.write_text(config.replace(f"listen = {listen}", "listen ="))
    box.restart("httpd")
    assert box.httpd().request("GET", "/emails").status_code == 200
    with pytest.raises(requests.ConnectionError):
        requests.get(box.env["POSTERN_ADMIN_URL"], timeout=60)
