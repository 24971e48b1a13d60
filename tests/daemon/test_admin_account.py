"""What users of the admin listener see and change of themselves: codes of an
authenticator app, sessions, the first password."""

import re
import subprocess
import threading
import xml.etree.ElementTree

import pytest
from harness import wait_for
from harness.admin import Admin, by_token, operator, totp_code
from harness.sandbox import unique

PASSWORD = "correct horse battery"


class User:
    """A logged-in user with a password."""

    def __init__(self, box, *words):
        self.box = box
        self.name = unique("user")
        subprocess.run(
            [box.env["POSTERN_CLI"], "-c", box.env["POSTERN_CONFIG"]]
            + ["user", "add", self.name, *words],
            input=PASSWORD,
            text=True,
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=60,
        )
        self.browser = Admin(box)
        assert self.login(browser=self.browser).status_code == 200

    def login(self, browser=None, **code):
        return (browser or Admin(self.box)).login(self.name, PASSWORD, **code)

    def start(self):
        answer = self.browser.ok(
            "POST", "/admin/totp", 201, json={"password": PASSWORD}
        )
        self.secret = answer["secret"]
        return answer

    def turn_on(self):
        """Turns codes on and returns the recovery codes. Forgets the used time step,
        because a test needs codes faster than once in 30 seconds."""
        self.start()
        codes = self.browser.ok(
            "POST", "/admin/totp/confirm", json={"code": totp_code(self.secret)}
        )["codes"]
        self.forget_steps()
        return codes

    def forget_steps(self):
        self.box.query(f"UPDATE admin_user SET totp_step = 0 WHERE login = '{self.name}'")

    def wrong_code(self):
        """Returns a code that is not valid in any time step near now."""
        near = [totp_code(self.secret, steps) for steps in range(-3, 4)]
        return next(c for c in ("000000", "111111", *"2222223") if c not in near)


@pytest.fixture
def user(box):
    return User(box)


def test_codes(box, user):
    started = user.start()
    assert re.fullmatch("[A-Z2-7]{32}", started["secret"])
    assert started["uri"] == (
        f"otpauth://totp/Postern:{user.name}?secret={started['secret']}"
        "&issuer=Postern"
    )
    image = xml.etree.ElementTree.fromstring(started["qr"])
    assert image.tag == "{http://www.w3.org/2000/svg}svg"
    # Until a code has confirmed it, nobody needs one.
    assert user.login().status_code == 200
    wrong = {"code": user.wrong_code()}
    assert user.browser.status("POST", "/admin/totp/confirm", json=wrong) == 422
    codes = user.turn_on()
    assert len(set(codes)) == 8
    account = user.browser.ok("GET", "/admin/account")
    assert account["totp_at"] and account["recovery_codes"] == 8
    assert user.secret not in str(account)

    answer = user.login()
    assert answer.status_code == 401
    assert answer.json()["name"] == "code_required"
    assert "set-cookie" not in answer.headers
    answer = user.login(code=user.wrong_code())
    assert (answer.status_code, answer.json()["name"]) == (401, "code_required")
    code = totp_code(user.secret)
    assert user.login(code=code).status_code == 200
    # It is used up.
    assert user.login(code=code).status_code == 401
    assert user.login(code=codes[0]).status_code == 200
    assert user.login(code=codes[0]).status_code == 401
    assert user.browser.ok("GET", "/admin/account")["recovery_codes"] == 7

    answer = user.browser.request("POST", "/admin/totp", json={"password": PASSWORD})
    assert answer.status_code == 409
    off = {"password": "not the password"}
    assert user.browser.status("POST", "/admin/totp/off", json=off) == 422
    user.forget_steps()
    off = {"password": PASSWORD, "code": totp_code(user.secret)}
    user.browser.ok("POST", "/admin/totp/off", json=off)
    assert user.login().status_code == 200
    assert user.browser.ok("GET", "/admin/account")["recovery_codes"] == 0

    entries = box.cli("audit", "list", "--object", user.name)
    actions = [e["action"] for e in entries]
    assert sorted(actions) == ["user.add", "user.recovery", "user.totp_off", "user.totp_on"]
    by = {e["action"]: (e["actor"], e["actor_name"]) for e in entries}
    for action in ["user.totp_on", "user.recovery", "user.totp_off"]:
        assert by[action] == ("user", user.name)
    log = (box.dir / "log" / "httpd.log").read_text()
    for code in codes:
        assert not box.stores(code)
        assert code not in log
    assert user.secret not in log
    assert "login_code_refused" in log


def test_changes_that_need_a_code(user):
    """Somebody who finds an open session and knows the password cannot turn off codes,
    nor get around them."""
    codes = user.turn_on()
    new = "new " + PASSWORD
    changes = [
        ("/admin/tokens", {"name": "x"}, 201),
        ("/admin/password", {"new_password": new}, 200),
        ("/admin/totp/off", {}, 200),
    ]
    for target, body, _ in changes:
        for code in [{}, {"code": user.wrong_code()}, {"code": ""}, {"code": None}]:
            body = {"password": PASSWORD, **body, **code}
            answer = user.browser.request("POST", target, json=body)
            assert answer.status_code == 422 and "`code`" in answer.text, answer.text
        user.login(user.browser, code=codes.pop())  # so that nobody has to wait
    password = PASSWORD
    for target, body, status in changes:
        code = codes.pop() if target == "/admin/totp/off" else totp_code(user.secret)
        body = {"password": password, "code": code, **body}
        user.browser.ok("POST", target, status, json=body)
        again = user.browser.request("POST", target, json=body)
        assert again.status_code in (404, 422), "a code is good once"
        password = body.get("new_password", password)
        user.forget_steps()
    # Who has none on gives none.
    body = {"password": new, "new_password": PASSWORD}
    user.browser.ok("POST", "/admin/password", json=body)


def test_no_link_for_oneself(box, user):
    """Users cannot make a login link for themselves, which would outlast the
    session."""
    me = user.browser.ok("GET", "/admin/session")
    for who in [me["user_id"], me["login"], me["login"].upper()]:
        answer = user.browser.request("POST", f"/admin/users/{who}/link")
        assert answer.status_code == 422, answer.text
    other = box.cli("user", "add", unique("other"), "--no-password")
    user.browser.ok("POST", f"/admin/users/{other['id']}/link", 201)


def test_a_code_tells_nothing_without_the_password(box, user):
    user.turn_on()
    code = totp_code(user.secret)
    answers = [
        Admin(box).login(user.name, "wrong " + PASSWORD, code=code),
        Admin(box).login(user.name, "wrong " + PASSWORD),
        Admin(box).login(unique("none"), PASSWORD, code=code),
        Admin(box).login(unique("none"), PASSWORD),
    ]
    assert [a.status_code for a in answers] == [401] * 4
    assert {a.text for a in answers} == {answers[0].text}
    assert answers[0].json()["name"] == "not_logged_in"
    # Nor does a wrong password use it up.
    assert user.login(code=code).status_code == 200


def test_two_logins_with_one_code(user):
    user.turn_on()
    code = totp_code(user.secret)
    browsers = [Admin(user.box) for _ in range(4)]
    for browser in browsers:
        browser.contract()
    results = []
    threads = [
        threading.Thread(
            target=lambda b=b: results.append(user.login(b, code=code).status_code)
        )
        for b in browsers
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(180)
    assert sorted(results) == [200, 401, 401, 401]


def test_guessed_codes(own_box):
    user = User(own_box())
    user.turn_on()
    wrong = [user.login(code=user.wrong_code()).status_code for _ in range(9)]
    assert wrong[:5] == [401] * 5
    assert 429 in wrong[5:]
    # Who is in stays in, and the right code is heard in time.
    assert user.browser.status("GET", "/admin/session") == 200
    wait_for(
        "the throttle",
        lambda: user.login(code=totp_code(user.secret)).status_code == 200,
    )


def test_guessed_codes_of_a_new_secret(own_box):
    """Somebody who finds a browser where codes are being turned on does not get the
    recovery codes by guessing."""
    user = User(own_box())
    user.start()
    wrong = {"code": user.wrong_code()}
    tries = [
        user.browser.status("POST", "/admin/totp/confirm", json=wrong)
        for _ in range(9)
    ]
    assert tries[:5] == [422] * 5
    assert 429 in tries[5:]

    def confirm():
        right = {"code": totp_code(user.secret)}
        return user.browser.status("POST", "/admin/totp/confirm", json=right) == 200

    wait_for("the throttle", confirm)


def test_codes_that_are_not_begun(own_box):
    """Somebody who finds a browser cannot lock its user out with codes that do not
    exist."""
    user = User(own_box())
    confirm = ("POST", "/admin/totp/confirm")
    for _ in range(7):
        assert user.browser.status(*confirm, json={"code": "000000"}) == 404
        assert user.browser.status(*confirm, json={}) == 422
        assert user.browser.status(*confirm, json={"code": 1}) == 422
    assert user.login().status_code == 200
    user.turn_on()
    for _ in range(7):
        assert user.browser.status(*confirm, json={"code": "000000"}) == 404
    assert user.login(code=totp_code(user.secret)).status_code == 200


def test_who_has_lost_the_phone(box, user):
    user.turn_on()
    link = box.cli("user", "link", user.name)["url"]
    browser = Admin(box)
    # A link asks for neither, as documented.
    assert browser.follow(link).status_code == 200
    assert browser.ok("GET", "/admin/session")["login"] == user.name
    shown = box.cli("user", "totp", user.name, "--off")
    assert shown["totp_at"] is None
    assert user.login().status_code == 200
    # Again it changes nothing.
    box.cli("user", "totp", user.name, "--off")
    entries = box.cli("audit", "list", "--object", user.name)
    assert [e["action"] for e in entries].count("user.totp_off") == 1


def test_reset(box):
    """An owner gives a member who has lost password and phone a link, with which the
    member sets a new password."""
    company = box.company()
    owner = by_token(box, unique("owner"), company)
    stranger = by_token(box, unique("stranger"), box.company())
    member = User(box, "--company", company)
    member.turn_on()
    account = member.browser.ok("GET", "/admin/account")
    target = f"/admin/users/{account['id']}/reset"
    assert stranger.status("POST", target) == 404
    # Nobody resets themselves: a session that was stolen would get a link that outlives it.
    assert member.browser.status("POST", target) == 422
    tokens = [
        box.cli("token", "create", member.name, "--name", name) for name in "ab"
    ]
    program = Admin(box, tokens[0]["token"])
    assert program.status("GET", "/admin/session") == 200
    done = owner.ok("POST", target, 201)
    link = done["login_path"]
    assert done["tokens_revoked"] == 2
    assert program.status("GET", "/admin/session") == 401
    entries = [box.cli("audit", "list", "--object", t["id"]) for t in tokens]
    assert [e[0]["action"] for e in entries] == ["token.revoke"] * 2
    assert member.browser.status("GET", "/admin/session") == 401
    assert member.login().status_code == 401
    browser = Admin(box)
    assert browser.follow(link).status_code == 200
    account = browser.ok("GET", "/admin/account")
    assert account["password_at"] is None and account["totp_at"] is None
    browser.ok("POST", "/admin/password", json={"new_password": "new " + PASSWORD})
    # The next one takes the present one.
    again = {"new_password": "newer " + PASSWORD}
    assert browser.status("POST", "/admin/password", json=again) == 422
    assert Admin(box).login(member.name, "new " + PASSWORD).status_code == 200
    # A program sets no first password.
    robot = by_token(box, unique("robot"), company)
    assert robot.status("POST", "/admin/password", json=again) == 422


def test_tokens_of_a_token_end_with_it(box):
    """Revoking a token also revokes the tokens that were made with it."""
    found = by_token(box, unique("owner"))
    tokens = [found]
    for _ in range(3):
        made = tokens[-1].ok("POST", "/admin/tokens", 201, json={"name": "x"})
        tokens.append(Admin(box, made["token"]))
    other = Admin(box, box.cli("token", "create", box.env["POSTERN_ADMIN_LOGIN"], "--name", "y")["token"])
    listed = found.ok("GET", "/admin/session")["login"]
    first = box.query(
        "SELECT s.id FROM admin_session s JOIN admin_user u ON u.id = s.user_id"
        f" WHERE u.login = '{listed}' AND s.name = 'test'"
    )
    other.ok("DELETE", f"/admin/tokens/{first}")
    assert [t.status("GET", "/admin/session") for t in tokens] == [401] * 4
    assert other.status("GET", "/admin/session") == 200
    [entry] = box.cli("audit", "list", "--object", first)[:1]
    assert entry["action"] == "token.revoke"


def test_own_sessions(box, user):
    other = Admin(box)
    user.login(other)
    stranger = operator(box)
    listed = other.ok("GET", "/admin/sessions")["data"]
    assert len(listed) == 2
    here, there = sorted(listed, key=lambda s: not s["current"])
    assert (here["current"], there["current"]) == (True, False)
    assert here["origin"] == other.address
    assert there["origin"] == user.browser.address
    target = f"/admin/sessions/{there['id']}"
    assert stranger.status("DELETE", target) == 404
    other.ok("DELETE", target)
    assert user.browser.status("GET", "/admin/session") == 401
    assert other.status("DELETE", target) == 404

    third = Admin(box)
    user.login(third)
    link = box.cli("user", "link", user.name)["url"]
    other.ok("DELETE", "/admin/sessions")
    assert third.status("GET", "/admin/session") == 401
    assert other.status("GET", "/admin/session") == 200
    assert Admin(box).follow(link).status_code == 401
    assert stranger.status("GET", "/admin/session") == 200


def test_a_login_with_a_code_makes_a_new_session(box, user):
    user.turn_on()
    victim = Admin(box)
    victim.set_cookie("pa_" + "x" * 43)
    assert user.login(victim).status_code == 401
    answer = user.login(victim, code=totp_code(user.secret))
    assert answer.status_code == 200
    assert "xxx" not in answer.headers["set-cookie"]
