"""Who gets to the listeners, under which name, and as which client."""

import configparser
import json
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from harness import wait_for
from harness.admin import Admin, by_token, operator
from harness.raw import RawConnection
from harness.sandbox import unique


def client_in_log(box, answer):
    """Returns the client address that the log has for an answer."""
    request = answer.headers["x-request-id"]
    [line] = [l for l in box.log("httpd").splitlines() if f"request={request} " in l]
    return line.split(" client=")[1].split()[0]


def reload(box):
    n = box.log("httpd").count("event=reloaded")
    box.kill("httpd", 1)
    wait_for("a reload", lambda: box.log("httpd").count("event=reloaded") > n)


def test_other_names_are_refused(own_box):
    """Once the name of another site resolves to this host, browsers treat that site's
    pages as ours. They must not reach the login."""
    box = own_box()
    url = urlsplit(box.env["POSTERN_ADMIN_URL"])
    evil = f"evil.example:{url.port}"
    page = {"Host": evil, "Origin": f"http://{evil}", "Sec-Fetch-Site": "same-origin"}
    guess = {
        "login": box.env["POSTERN_ADMIN_LOGIN"],
        "password": "not the password",
    }
    anybody = Admin(box)
    for _ in range(20):
        answer = anybody.request("POST", "/admin/session", json=guess, headers=page)
        assert answer.status_code == 421
    assert "evil.example" in answer.json()["message"]
    assert "admin.hosts" in answer.json()["message"]
    for method in ["GET", "HEAD"]:
        assert anybody.status(method, "/", headers={"Host": "evil.example"}) == 421
    # Nobody has to wait for that.
    admin = operator(box)
    assert admin.status("GET", "/admin/session", headers=page) == 421
    # In a browser it is a page.
    browser = {"Host": evil, "Accept": "text/html,*/*;q=0.8"}
    answer = anybody.session.get(admin.url + "/", headers=browser, timeout=60)
    assert answer.status_code == 421
    assert answer.headers["content-type"].startswith("text/html")
    assert "<p>" in answer.text and "evil.example" in answer.text
    # What is not plain is not repeated.
    odd = {"Host": "a<script>", "Accept": "text/html"}
    answer = anybody.session.get(admin.url + "/", headers=odd, timeout=60)
    assert answer.status_code == 400 and "<script" not in answer.text
    # A body that comes with it does not matter; the connection goes on.
    raw = RawConnection((url.hostname, url.port))
    for framing in ["Content-Length: 5\r\n\r\nhello", "\r\n"]:
        raw.send(f"POST /admin/session HTTP/1.1\r\nHost: evil.example\r\n{framing}".encode())
        assert raw.answer().status == 421
    raw.send(b"GET /healthz HTTP/1.0\r\n\r\n")
    assert raw.answer().status == 200
    # The API asks for keys, which no page has.
    assert box.httpd().request("GET", "/emails", headers={"Host": evil}).status_code == 200
    # With their name in the settings they are heard.
    box.set("admin", "hosts", "other.example, EVIL.example")
    reload(box)
    wait_for(
        "the settings",
        lambda: anybody.status("GET", "/admin", headers={"Host": evil}) == 200,
    )
    answer = anybody.request("POST", "/admin/session", json=guess, headers=page)
    assert answer.status_code == 401


def test_only_trusted_proxies_name_the_client(own_box):
    box = own_box("--set", "admin.url=https://mail.example")
    said = {"X-Forwarded-For": "192.0.2.9"}
    clients = [lambda: Admin(box).request("GET", "/admin", headers=said)]
    clients.append(lambda: box.httpd().request("GET", "/emails", headers=said))
    for ask in clients:
        assert client_in_log(box, ask()) == "127.0.0.1"
    # Who names another client each time does not get more guesses.
    body = {"login": unique("nobody"), "password": "not the password"}
    page = {"Origin": "https://mail.example"}
    status = []
    for i in range(12):
        headers = {**page, "X-Forwarded-For": f"192.0.2.{i}"}
        body["login"] = unique("nobody")
        answer = Admin(box).request("POST", "/admin/session", json=body, headers=headers)
        status.append(answer.status_code)
    assert 429 in status
    box.set("http", "trusted_proxies", "127.0.0.0/8 10.0.0.0/8")
    reload(box)
    said["X-Forwarded-For"] = "198.51.100.1, 192.0.2.9, 10.0.0.7"
    for ask in clients:
        wait_for("the settings", lambda: client_in_log(box, ask()) == "192.0.2.9")


class OnSockets:
    """A second postern-httpd of the sandbox, with both listeners on sockets."""

    def __init__(self, box, **settings):
        self.dir = Path(tempfile.mkdtemp(prefix="postern."))
        self.dir.chmod(0o755)
        self.paths = {name: self.dir / f"{name}.sock" for name in ["http", "admin"]}
        self.config = self.dir / "postern.conf"
        conf = configparser.RawConfigParser()
        conf.read(box.config)
        for section, path in self.paths.items():
            conf.set(section, "listen", f"unix:{path}")
            conf.set(section, "socket_mode", "0666")
        for name, value in settings.items():
            conf.set(*name.split("__"), value)
        with self.config.open("w") as file:
            conf.write(file)
        self.log = self.dir / "log"
        self.program = Path(box.env["POSTERN_CLI"]).parent / "postern-httpd"
        self.process = None

    def start(self):
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [self.program, "-c", self.config], stderr=log
            )
        wait_for("httpd", lambda: self.ready() or self.process.poll() is not None)
        return self

    def ready(self):
        return all(self.status(name, "/x") for name in self.paths)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(180)
        shutil.rmtree(self.dir)

    def ask(self, name, head, body=b""):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(60)
        connection.connect(str(self.paths[name]))
        raw = RawConnection.__new__(RawConnection)
        raw.socket, raw.buffer = connection, b""
        with raw:
            raw.send(head.encode() + b"\r\n\r\n" + body)
            return raw.answer()

    def status(self, name, target, *fields):
        lines = [f"GET {target} HTTP/1.1", "Host: localhost", *fields]
        try:
            return self.ask(name, "\r\n".join(lines)).status
        except OSError:
            return None

    def client(self, name, *fields):
        """Returns the client address of a request, from the log."""
        lines = ["GET /none HTTP/1.1", "Host: localhost", *fields]
        answer = self.ask(name, "\r\n".join(lines))
        request = answer.headers["x-request-id"]
        [line] = [l for l in self.log.read_text().splitlines() if request in l]
        return line.split(" client=")[1].split()[0]


def test_listeners_on_sockets(box):
    sockets = OnSockets(box, http__trusted_proxies="127.0.0.1", admin__url="")
    said = "X-Forwarded-For: 192.0.2.9"
    with sockets as httpd:
        for name, path in httpd.paths.items():
            assert stat.S_IMODE(path.stat().st_mode) == 0o666
            assert httpd.client(name, said) == "unix"
        key = f"Authorization: Bearer {box.env['POSTERN_KEY']}"
        assert httpd.status("http", "/emails", key) == 200
        assert httpd.status("admin", "/admin") == 200
        evil = "GET / HTTP/1.1\r\nHost: evil.example"
        assert httpd.ask("admin", evil).status == 421
        # A login by the socket, with the cookie that browsers get.
        body = json.dumps(
            {
                "login": box.env["POSTERN_ADMIN_LOGIN"],
                "password": box.env["POSTERN_ADMIN_PASSWORD"],
            }
        ).encode()
        head = [
            "POST /admin/session HTTP/1.1",
            "Host: localhost",
            "Origin: http://localhost",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
        ]
        answer = httpd.ask("admin", "\r\n".join(head), body)
        assert answer.status == 200, answer.body
        cookie = answer.headers["set-cookie"].split(";")[0]
        assert "HttpOnly; SameSite=Strict" in answer.headers["set-cookie"]
        assert httpd.status("admin", "/admin/session", f"Cookie: {cookie}") == 200
        # A link needs a name that browsers reach.
        words = [box.env["POSTERN_CLI"], "-c", httpd.config, "user", "link"]
        done = subprocess.run(
            [*words, box.env["POSTERN_ADMIN_LOGIN"]], capture_output=True, text=True
        )
        assert done.returncode != 0 and "admin.url" in done.stderr
        token = by_token(box, unique("op")).token
        bearer = f"Authorization: Bearer {token}"
        answer = httpd.ask("admin", f"GET /admin/host HTTP/1.1\r\nHost: localhost\r\n{bearer}")
        host = answer.json()
        assert host["api_url"] == "http://localhost"
        assert host["api_socket"] == str(httpd.paths["http"])
        # Nobody else takes the place of one that runs; what a crash left behind
        # is in nobody's way.
        again = subprocess.run(
            [httpd.program, "-c", httpd.config], stderr=subprocess.PIPE, text=True
        )
        assert again.returncode != 0 and "another postern-httpd listens" in again.stderr
        httpd.process.kill()
        httpd.process.wait(180)
        assert all(path.exists() for path in httpd.paths.values())
        httpd.start()
        assert httpd.status("admin", "/healthz") == 200
        # With the word `unix` who connects may name its client.
        text = httpd.config.read_text()
        httpd.config.write_text(text.replace("= 127.0.0.1\n", "= unix\n"))
        httpd.process.send_signal(signal.SIGHUP)
        for name in httpd.paths:
            wait_for("the settings", lambda: httpd.client(name, said) == "192.0.2.9")
        # The end leaves no file.
        httpd.process.terminate()
        assert httpd.process.wait(180) == 0
        assert not any(path.exists() for path in httpd.paths.values())


def test_sockets_that_are_removed(box):
    """Removed sockets are made again. A file that somebody else put in their place is
    left alone."""
    with OnSockets(box) as httpd:
        for folder in [False, True]:
            for path in [p for p in httpd.dir.iterdir() if "sock" in p.name]:
                if folder or path in httpd.paths.values():
                    path.unlink()
            wait_for("new sockets", httpd.ready)
            for path in httpd.paths.values():
                assert stat.S_IMODE(path.stat().st_mode) == 0o666
        again = subprocess.run(
            [httpd.program, "-c", httpd.config], stderr=subprocess.PIPE, text=True
        )
        assert again.returncode != 0 and "another postern-httpd listens" in again.stderr
        assert httpd.ready()
        # A symbolic link or a file of somebody else's is in the way.
        other = httpd.dir / "other"
        other.write_text("kept")
        path = httpd.paths["admin"]
        path.unlink()
        path.symlink_to(other)
        wait_for("the error", lambda: "event=socket_gone" in httpd.log.read_text())
        assert "is no socket" in httpd.log.read_text()
        assert httpd.status("http", "/x")
        assert path.is_symlink() and other.read_text() == "kept"
        path.unlink()
        wait_for("the socket", httpd.ready)
        httpd.process.terminate()
        assert httpd.process.wait(180) == 0
        assert [p.name for p in httpd.dir.iterdir() if "sock" in p.name] == []


def test_sockets_that_cannot_be_made(box):
    for settings, words in [
        ({"http__socket_group": "no-such-group"}, "there is no group no-such-group"),
        ({"admin__listen": "unix:/nowhere/x.sock"}, "admin.listen"),
        ({"admin__listen": "unix:relative"}, "admin.listen"),
        ({"http__listen": "unix:/" + "x" * 120}, "http.listen"),
    ]:
        sockets = OnSockets(box, **settings)
        done = subprocess.run(
            [sockets.program, "-c", sockets.config],
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
        assert done.returncode == 78 and words in done.stderr, done.stderr
        assert not any(path.exists() for path in sockets.paths.values())
        shutil.rmtree(sockets.dir)
