"""enable --smtp-auth: services at which programs log in over SMTP with an API key, put in, taken
out, checked, and used with TLS."""

import re
import smtplib
import socket
import ssl
import subprocess
import tempfile
from pathlib import Path

import pytest
from harness import Sandbox, wait_for
from harness.sandbox import TREE, free_port
from test_postfix_conf import MASTER, make  # noqa: F401
from test_setup import files, run_setup, script
from test_smtp_auth import (
    PROGRAMS, company_of, connect, email_of, new_message, refused, use_program)

scripts = pytest.mark.scripts
CERTIFICATE = "smtpd_tls_chain_files = /etc/ssl/mail.pem\n"
PEOPLE = """\
submission inet n  -  y  -  -  smtpd
  -o smtpd_sasl_auth_enable=yes
  -o smtpd_sasl_type=dovecot
  -o smtpd_sasl_path=private/auth
"""
PLAIN = "2525 inet n - y - - smtpd\n  -o smtpd_timeout=10s\n# of the printer\n"

# main.cf and master.cf, in which the places may be had.
SHAPES = {
    "usual": (CERTIFICATE, MASTER + PLAIN),
    "no newline at the end": ("smtpd_tls_cert_file = /etc/ssl/a.pem",
                              (MASTER + PLAIN).partition("# of")[0].rstrip("\n")),
    "people log in": (CERTIFICATE + "smtpd_sasl_type = cyrus\n",
                      MASTER + PEOPLE.replace("submission", "10587") + PLAIN.replace(
                          "smtpd_timeout=10s", "{ smtpd_timeout = 10s }\n\n# more\n\t-o x=y")),
}
PLACES = "587,tls:2465,127.0.0.1:2626,service:2525"
NAMES = ("587", "2465", "127.0.0.1:2626", "2525")


def both(postfix):
    return postfix.bytes, (postfix.folder / "master.cf").read_bytes()


@scripts
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_put_in_and_taken_out(make, shape):  # noqa: F811
    postfix = make(*shape)
    before = both(postfix)
    said = postfix.do("enable", "--smtp-auth", PLACES)
    assert all(f"programs may log in at {name}/inet" in said for name in NAMES)
    options = postfix.postconf("-P")
    for name in NAMES:
        loopback = name == "127.0.0.1:2626"
        for option, value in {
            "milter_macro_daemon_name": "postern-smtp-auth",
            "smtpd_sasl_path": "postern/auth.sock",
            "smtpd_relay_restrictions": "permit_sasl_authenticated,reject",
            "smtpd_client_restrictions": "",
            "smtpd_tls_security_level": "may" if loopback else "encrypt",
            "smtpd_tls_auth_only": "no" if loopback else "yes",
        }.items():
            assert f"{name}/inet/{option} = {value}".rstrip() in map(
                str.rstrip, options.splitlines())
        assert (f"{name}/inet/smtpd_tls_wrappermode = yes" in options) == (name == "2465")
        assert f"{name}/inet/smtpd_milters" not in options
    assert re.search(r"(?m)^2525/inet/smtpd_timeout = +10s$", options)
    assert ("10587/inet/smtpd_sasl_path = private/auth" in options) == ("10587" in shape[1])
    once = both(postfix)
    assert "programs log in at 2525/inet" in postfix.do("enable", "--smtp-auth", PLACES)
    assert both(postfix) == once
    said = postfix.do("disable")
    assert "2525/inet takes no logins" in said and "587/inet takes no logins" in said
    assert both(postfix) == before


@scripts
def test_what_others_have_changed_stays(make):  # noqa: F811
    postfix = make(CERTIFICATE, MASTER + PLAIN)
    before = both(postfix)
    postfix.do("enable", "--smtp-auth", "587,service:2525")
    master = postfix.folder / "master.cf"
    text = master.read_text().replace("  -o smtpd_proxy_filter=\n", "  -o smtpd_proxy_filter=\n"
                                      "# mine\n", 1)
    master.write_text(text + "  -o smtpd_timeout=20s\nrelay unix - - y - - smtp\n")
    done = postfix.run("disable")
    assert done.returncode == 0 and "2525/inet asks postern-auth by options" in done.stderr
    after = both(postfix)
    assert after[0] == before[0] and after[1].endswith(b"relay unix - - y - - smtp\n")
    assert b"587" not in after[1] and b"# mine\n" in after[1]


REFUSED = [
    ("no certificate", "", MASTER, "587", "no certificate for TLS"),
    ("none", "smtpd_tls_cert_file = none\n", MASTER, "465", "no certificate for TLS"),
    ("that of people", CERTIFICATE, MASTER + PEOPLE, "587",
     "master.cf has the service submission/inet at port 587 already"),
    ("that of people by an address", CERTIFICATE, MASTER + PEOPLE, "192.0.2.1:587",
     "at port 587 already"),
    ("service of people", CERTIFICATE, MASTER + PEOPLE, "service:submission",
     "people log in at submission/inet by a SASL server (dovecot, private/auth)"),
    ("by main.cf", CERTIFICATE + "smtpd_sasl_auth_enable = yes\n", MASTER, "service:smtp",
     "people log in at smtp/inet by a SASL server (cyrus, smtpd)"),
    ("no such service", CERTIFICATE, MASTER, "service:other", "no service other of TCP"),
    ("no smtpd", CERTIFICATE, MASTER, "service:pickup", "no service pickup of TCP"),
]  # fmt: skip


@scripts
@pytest.mark.parametrize("main_cf, master_cf, places, text", [row[1:] for row in REFUSED],
                         ids=[row[0] for row in REFUSED])
def test_refused(make, main_cf, master_cf, places, text):  # noqa: F811
    """Nothing is changed, so no login of people is lost and master(8) does not stop."""
    postfix = make(main_cf, master_cf)
    before = both(postfix)
    done = postfix.run("enable", "--smtp-auth", places)
    assert done.returncode == 1 and text in " ".join(done.stderr.split())
    assert both(postfix) == before


@scripts
@pytest.mark.parametrize("words", ["", "x", "tls:", "127.0.0.1", "123456", "587;465", "service:"])
def test_no_place(make, words):  # noqa: F811
    postfix = make(CERTIFICATE)
    before = both(postfix)
    done = postfix.run("enable", "--smtp-auth", words)
    assert done.returncode == 64 and "--smtp-auth: " in done.stderr
    assert both(postfix) == before


@scripts
def test_a_port_that_another_program_has(make):  # noqa: F811
    postfix = make(CERTIFICATE)
    before = both(postfix)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        for place in (f"127.0.0.1:{port}", f"{port}"):
            done = postfix.run("enable", "--smtp-auth", place)
            assert done.returncode == 1 and f"listens on 127.0.0.1:{port}" in done.stderr
        postfix.do("enable", "--smtp-auth", f"127.0.0.2:{port}")
    postfix.do("disable")
    assert both(postfix) == before


@scripts
def test_where_programs_log_in(make):  # noqa: F811
    """The first service for other hosts becomes auth.url, unless the admin has set that; check
    says when it is another one by now, and disable removes it."""
    postfix = make("myhostname = Mail.Own.test\n" + CERTIFICATE)
    conf = postfix.folder.parent / "postern.conf"
    learnt = postfix.folder.parent / "postern.conf.d/learnt.conf"
    given = "[milter]\nsocket = postern/milter.sock\n"
    conf.write_text(given)
    learn = ("enable", "-p", conf, "--smtp-auth")
    postfix.do(*learn, "127.0.0.1:2525")
    assert "[auth]" not in learnt.read_text()
    said = postfix.do(*learn, "127.0.0.1:2525,tls:2465,2587")
    assert "is shown smtps://mail.own.test:2465 (auth.url)" in " ".join(said.split())
    assert learnt.read_text().endswith("\n[auth]\nurl = smtps://mail.own.test:2465\n")

    def check():
        return " ".join(postfix.run("check", "-p", conf).stdout.split())

    conf.write_text(given + "[auth]\nurl = smtp://other.test:587\n")
    assert "changed since" not in check()
    postfix.do(*learn, "2587")
    assert "[auth]" not in learnt.read_text()
    conf.write_text(given)
    assert "or auth.url, have changed since" in check()
    postfix.do(*learn, "2587")
    postfix.do("disable", "-p", conf)
    assert not learnt.exists()


# What master.cf has become, and what check says.
FOUND = [
    ("smtpd_sasl_path=postern/auth.sock", "smtpd_sasl_path=private/auth",
     "WRONG:   master.cf: 587/inet has -o milter_macro_daemon_name=postern-smtp-auth, but its"
     " logins are those of private/auth"),
    ("milter_macro_daemon_name=postern-smtp-auth", "smtpd_timeout=9s",
     "WRONG:   master.cf: 587/inet asks postern-auth, but lacks"),
    ("smtpd_relay_restrictions=permit_sasl_authenticated,reject", "smtpd_timeout=9s",
     "warning: master.cf: 587/inet, at which programs log in with an API key, lacks"
     " -o smtpd_relay_restrictions=permit_sasl_authenticated,reject"),
    ("smtpd_tls_security_level=encrypt", "smtpd_tls_security_level=may",
     None),
    ("smtpd_tls_auth_only=yes", "smtpd_tls_security_level=may",
     "warning: master.cf: 587/inet lets programs send an API key without TLS"),
]


@scripts
def test_check(make, tmp_path):  # noqa: F811
    certificate = tmp_path / "mail.pem"
    postfix = make(f"smtpd_tls_chain_files = {certificate}\n")
    postfix.do("enable", "--smtp-auth", "587")
    master = postfix.folder / "master.cf"
    whole = master.read_text()
    assert f"WRONG:   the certificate {certificate}, which 587/inet needs for TLS, is missing" \
        in postfix.run("check").stdout
    make_certificate(certificate, "-1")
    assert f"WRONG:   the certificate {certificate} has expired" in postfix.run("check").stdout
    make_certificate(certificate)
    assert "587/inet" not in postfix.run("check").stdout
    for old, new, text in FOUND:
        assert old in whole
        master.write_text(whole.replace(old, new))
        said = postfix.run("check").stdout
        assert text in said if text else "587/inet" not in said


def make_certificate(path, days="30"):
    """Makes a certificate with its key, in one file."""
    key, request = path.with_suffix(".key"), path.with_suffix(".csr")
    for words in (
        ["req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
         "-keyout", key, "-out", request, "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost"],
        ["x509", "-req", "-in", request, "-signkey", key, "-days", days, "-copy_extensions",
         "copy", "-out", path],
    ):
        subprocess.run(["openssl", *words], check=True, capture_output=True)
    path.write_text(key.read_text() + path.read_text())


@pytest.fixture(scope="module")
def box():
    with Sandbox(parts=["auth"]) as box:
        script(box, "disable", "--reload")
        yield box


def test_with_tls(box, to, tmp_path):
    """Added, used by a client that verifies the certificate, checked, and removed
    again."""
    certificate = tmp_path / "mail.pem"
    make_certificate(certificate)
    main_cf, master_cf = (box.dir / "postfix" / name for name in ("main.cf", "master.cf"))
    plain, plain_master = main_cf.read_text(), master_cf.read_text()
    main_cf.write_text(f"{plain}smtpd_tls_chain_files = {certificate}\n"
                       "smtpd_client_restrictions = reject\nsmtpd_tls_security_level = none\n")
    before = files(box)
    starttls, wrapper = free_port(), free_port()
    done = run_setup(box, "--yes", "--smtp-auth", f"{starttls},tls:{wrapper}", "--domain",
                     "fresh.test")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "postern-auth answers on" in done.stdout and f"test:{starttls} with any" in done.stdout
    assert f"smtps://mail.sandbox.test:{wrapper} with any" in done.stdout
    context = ssl.create_default_context(cafile=certificate)
    key = box.env["POSTERN_SENDING_KEY"]
    learnt = box.config.parent / "postern.conf.d/learnt.conf"
    assert learnt.read_text().endswith(f"[auth]\nurl = smtp://mail.sandbox.test:{starttls}\n")
    try:
        made = key_created(box)
        assert f"smtp_host      mail.sandbox.test\nsmtp_port      {starttls}\n" in made
        with smtplib.SMTP("localhost", starttls, timeout=60) as session:
            session.ehlo()
            assert not session.has_extn("auth")
            assert session.docmd("MAIL", "FROM:<ann@example.com>")[0] == 530
            session.starttls(context=context)
            use(box, session, key, to)
        with smtplib.SMTP_SSL("localhost", wrapper, context=context, timeout=60) as session:
            use(box, session, key, to)
        for name in PROGRAMS:
            for security, port in (("starttls", starttls), ("tls", wrapper)):
                use_program(name, box, to, tmp_path, f"localhost:{port}", security, certificate)
        said = run_check(box)
        for port in (starttls, wrapper):
            assert f"good:    programs can log in at {port}/inet with an API key" in said
        box.stop("auth")
        try:
            assert "WRONG:   postern-auth does not answer on" in run_check(box)
        finally:
            box.start("auth")
    finally:
        done = run_setup(box, "--undo")
    assert done.returncode == 0, done.stderr
    assert files(box) == before
    assert not learnt.exists() and "smtp_host      -\n" in key_created(box)
    left = {path.name for path in (box.dir / "queue/pid").iterdir()}
    assert not left & {f"inet.{starttls}", f"inet.{wrapper}"}
    main_cf.write_text(plain)
    master_cf.write_text(plain_master)
    box.reload_postfix()
    wait_for("Postfix to leave the port", lambda: refuses(starttls) and refuses(wrapper))


def key_created(box):
    """What the command prints about a new key."""
    return subprocess.run(
        [box.env["POSTERN_CLI"], "-c", box.config, "key", "create", "--company", company_of(box),
         "--name", "new"], check=True, capture_output=True, text=True, timeout=60).stdout


def use(box, session, key, to):
    session.ehlo()
    assert session.has_extn("auth")
    assert session.docmd("MAIL", "FROM:<ann@example.com>")[0] == 250
    assert session.docmd("RCPT", f"TO:<{to}>")[0] == 554
    session.rset()
    with pytest.raises(smtplib.SMTPAuthenticationError):
        session.login("resend", key[:-1] + ("a" if key[-1] != "a" else "b"))
    session.login("resend", key)
    message_id, data = new_message(to)
    assert session.sendmail("ann@example.com", [to], data) == {}
    wait_for("delivery", lambda: email_of(box, message_id)["last_event"] == "delivered")


def run_check(box):
    return subprocess.run([TREE / "postfix-conf/check", "-c", box.dir / "postfix", "-p",
                           box.config], capture_output=True, text=True, timeout=300).stdout


def refuses(port):
    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
    except ConnectionRefusedError:
        return True
    return False


def test_a_service_of_the_admin(box, to):
    """An existing service gets the options, and is restored."""
    port = free_port()
    master_cf = box.dir / "postfix/master.cf"
    plain = master_cf.read_text()
    master_cf.write_text(f"{plain}\n127.0.0.1:{port} inet n - y - - smtpd\n"
                         "  -o smtpd_timeout=100s\n# mine")
    before = files(box)
    script(box, "enable", "--smtp-auth", f"service:127.0.0.1:{port}", "--reload")
    wait_for("the port", lambda: not refuses(port))
    with smtplib.SMTP("127.0.0.1", port, timeout=60) as session:
        use(box, session, box.env["POSTERN_SENDING_KEY"], to)
    assert f"programs can log in at 127.0.0.1:{port}/inet" in run_check(box)
    script(box, "disable", "--reload")
    assert files(box) == before
    master_cf.write_text(plain)
    box.reload_postfix()

DOVECOT = """\
base_dir = {folder}/run
state_dir = {folder}/state
log_path = {folder}/log
protocols =
ssl = no
disable_plaintext_auth = no
auth_mechanisms = plain login
auth_failure_delay = 0
passdb {{
  driver = passwd-file
  args = scheme=PLAIN {folder}/users
}}
userdb {{
  driver = static
  args = uid=65534 gid=65534 home=/nonexistent
}}
service auth {{
  unix_listener {queue}/private/people {{
    mode = 0666
  }}
}}
service stats {{
  unix_listener stats-writer {{
    mode = 0666
  }}
}}
"""


@pytest.fixture
def people(box):
    """SASL servers for people, each with a service of Postfix: Dovecot, and Cyrus SASL
    with its sasldb. Both have the user bob, and one named like the id of a key."""
    with tempfile.TemporaryDirectory(prefix="postern.") as name:
        folder = Path(name)
        folder.chmod(0o755)
        key = box.new_key(company_of(box), "sending")["id"]
        (folder / "users").write_text(f"bob:{{PLAIN}}secret\n{key}:{{PLAIN}}secret\n")
        (folder / "dovecot.conf").write_text(
            DOVECOT.format(folder=folder, queue=box.dir / "queue"))
        for user in ("bob", key):
            subprocess.run(
                ["saslpasswd2", "-f", folder / "sasldb", "-c", "-p", "-u", "people", user],
                input=b"secret", check=True, capture_output=True, timeout=60)
        (folder / "sasldb").chmod(0o644)
        # Where Debian's Postfix looks for it.
        cyrus = box.dir / "postfix/sasl/smtpd.conf"
        cyrus.parent.mkdir(exist_ok=True)
        cyrus.write_text(
            "pwcheck_method: auxprop\nauxprop_plugin: sasldb\nmech_list: PLAIN LOGIN\n"
            f"sasldb_path: {folder}/sasldb\n")
        dovecot = subprocess.Popen(["dovecot", "-F", "-c", folder / "dovecot.conf"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            socket_of_it = box.dir / "queue/private/people"
            wait_for("Dovecot", lambda: socket_of_it.is_socket() or dovecot.poll() is not None)
            assert dovecot.poll() is None, (folder / "log").read_text()
            logins = ("smtpd_sasl_auth_enable=yes", "smtpd_sasl_security_options=noanonymous",
                      "smtpd_relay_restrictions=permit_sasl_authenticated,reject")
            yield {
                "dovecot": box.add_smtpd(*logins, "smtpd_sasl_type=dovecot",
                                         "smtpd_sasl_path=private/people"),
                "cyrus": box.add_smtpd(*logins, "smtpd_sasl_type=cyrus",
                                       "smtpd_sasl_local_domain=people", chroot=False),
            }, key
        finally:
            dovecot.terminate()
            dovecot.wait()


def log_in(address, user, password):
    session = connect(None, address)
    session.login(user, password)
    return session


def no_login(address, user, password):
    with pytest.raises(smtplib.SMTPAuthenticationError) as error:
        log_in(address, user, password)
    return error.value.smtp_code == 535


def test_beside_logins_of_people(box, to, people):
    """Both kinds of logins are separate: no key is valid where people log in, no person
    where programs do, and a person who is named like a key is a person."""
    addresses, key_id = people
    key = box.env["POSTERN_SENDING_KEY"]
    master_cf = box.dir / "postfix/master.cf"
    before = files(box)
    at_people = [line for line in master_cf.read_text().splitlines() if "sasl" in line]
    port = free_port()
    ours = f"127.0.0.1:{port}"
    script(box, "enable", "--smtp-auth", ours, "--reload")
    wait_for("the port", lambda: not refuses(port))
    assert at_people == [line for line in master_cf.read_text().splitlines()
                         if "sasl" in line][:len(at_people)]
    for address in addresses.values():
        assert no_login(address, "bob", "wrong") and no_login(address, "bob", key)
        assert no_login(ours, "bob", "secret") and no_login(ours, key_id, "secret")
        message_id, data = new_message(to, "bob@people.test")
        session = log_in(address, "bob", "secret")
        assert session.sendmail("bob@people.test", [to], data) == {}
        assert box.sink.find(message_id=message_id).raw.endswith(b"hello\n")
        for user in ("bob", key_id):
            message_id, data = new_message(to)
            session = log_in(address, user, "secret")
            code, text = refused(session, "ann@example.com", [to], data)
            assert (code, "must be sent with an API key" in text) == (550, True)
            assert box.query(
                f"SELECT count(*) FROM email WHERE message_id = '{message_id}'") == "0"
    assert f"login={key_id} " in box.log("milter")
    message_id, data = new_message(to)
    assert log_in(ours, "bob", key).sendmail("ann@example.com", [to], data) == {}
    assert email_of(box, message_id)["to"] == [to]
    script(box, "disable", "--reload")
    assert files(box) == before
    assert log_in(addresses["dovecot"], "bob", "secret")
