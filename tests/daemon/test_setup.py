"""postern setup takes Postern into use beside a Postfix that runs, and out again.

The daemons run already, as where something else than systemd starts them; with
systemd the package suite does it.
"""

import os
import pty
import re
import subprocess
from pathlib import Path

import pytest
from harness import Sandbox, wait_for
from harness.sandbox import BUILD, TREE

pytestmark = pytest.mark.submission("sendmail")

CLI = TREE / BUILD / "postern"


@pytest.fixture(scope="module")
def box():
    with Sandbox(parts=["auth"]) as box:
        script(box, "disable", "--reload")
        yield box


def script(box, name, *words):
    subprocess.run([TREE / "postfix-conf" / name, "-c", box.dir / "postfix", "-p", box.config,
                    *words], check=True, capture_output=True, timeout=120)


def run_setup(box, *words, **more):
    return subprocess.run(
        [CLI, "-c", box.config, "setup", "--postfix", box.dir / "postfix", *words],
        capture_output=True, text=True, timeout=300, check=False, stdin=subprocess.DEVNULL,
        **more)


def files(box):
    return [(box.dir / "postfix" / name).read_bytes() for name in ("main.cf", "master.cf")]


def setup_keys(box):
    owner = next(d["company_id"] for d in box.cli("domain", "list") if d["name"] == "fresh.test")
    return [key for key in box.cli("key", "list", "--company", owner) if key["name"] == "setup"]


def test_the_plan_changes_nothing(box):
    before = files(box)
    done = run_setup(box, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "+smtpd_milters = { unix:postern/milter.sock, default_action=tempfail }" in done.stdout
    assert f"{box.dir}/queue" in done.stdout
    assert files(box) == before


def test_without_anybody_to_ask_it_is_the_plan(box):
    before = files(box)
    done = run_setup(box)
    assert done.returncode == 1
    assert "nothing was changed: there is no terminal" in done.stderr
    assert files(box) == before


def test_in_and_out(box, to):
    before = files(box)
    done = run_setup(box, "--yes", "--domain", "fresh.test", "--name", "Fresh", "--user",
                 "ann@fresh.test", "--to", to)
    assert done.returncode == 0, done.stdout + done.stderr
    assert files(box) != before
    assert "the milter is asked about mail by sendmail(1)" in done.stdout
    assert re.search(r"http://\S+#\S+|http://\S+/\S+", done.stdout)
    assert box.sink.find(to=to)
    assert f"Yes: delivered to {to}." in done.stdout
    assert "is not known after" not in done.stdout
    domain = next(d for d in box.cli("domain", "list") if d["name"] == "fresh.test")
    assert (domain["policy"], domain["active"]) == ("learn", True)
    once, keys = files(box), setup_keys(box)
    again = run_setup(box, "--yes", "--domain", "fresh.test", "--to", to)
    assert again.returncode == 0, again.stderr
    assert "none: Postfix is set up already" in again.stdout and "exists already" in again.stdout
    assert files(box) == once
    assert len(keys) == 1 and setup_keys(box) == keys
    said = " ".join(again.stdout.split())
    assert f"The key setup ({keys[0]['id']}) exists already" in said
    assert "No test email was sent" in said
    box.cli("key", "revoke", keys[0]["id"])
    again = run_setup(box, "--yes", "--domain", "fresh.test")
    assert again.returncode == 0, again.stderr
    assert "The key, which is shown only once: " in again.stdout and len(setup_keys(box)) == 2
    done = run_setup(box, "--undo")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("is as it was before the setup, byte for byte") == 2
    assert files(box) == before


def test_a_folder_that_is_mended_makes_nobody_an_operator(box):
    """The name of Postfix's user, for whom it is mended, took the place of --user."""
    folder = box.dir / "queue/postern"
    folder.chmod(0o700)
    before = {user["login"] for user in box.cli("user", "list")}
    done = run_setup(box, "--yes", "--domain", "fresh.test", "--user", "ann@mended.test")
    after = {user["login"] for user in box.cli("user", "list")}
    assert run_setup(box, "--undo").returncode == 0
    assert done.returncode == 0 and f"{folder}: was " in done.stdout
    assert after - before == {"ann@mended.test"}


def test_a_milter_that_is_away_leaves_postfix_alone(box):
    before = files(box)
    box.stop("milter")
    try:
        done = run_setup(box, "--yes", "--domain", "fresh.test")
    finally:
        box.start("milter")
    assert done.returncode == 1 and "Postfix was not changed" in done.stderr
    assert files(box) == before


def test_a_milter_that_is_not_asked_leaves_postfix_alone(box):
    """A service of master.cf keeps mail from it: seen by a message, undone at once."""
    master_cf = box.dir / "postfix/master.cf"
    plain = master_cf.read_text()
    line = "cleanup    unix  n  -  y  -     0  cleanup"
    assert line in plain
    master_cf.write_text(plain.replace(line, f"{line}\n  -o non_smtpd_milters="))
    before = files(box)
    done = run_setup(box, "--yes", "--domain", "fresh.test")
    after = files(box)
    master_cf.write_text(plain)
    box.reload_postfix()
    assert done.returncode == 1 and "messages did not reach the milter" in done.stderr
    assert after == before


def test_a_test_that_fails_later_on_leaves_the_milter_in_use(box):
    """Postfix used it before this run; without it mail would leave unchecked. Later an undo leaves
    what others have changed, and names it."""
    without = files(box)
    assert run_setup(box, "--yes", "--domain", "fresh.test").returncode == 0
    master_cf = box.dir / "postfix/master.cf"
    plain = master_cf.read_text()
    line = "cleanup    unix  n  -  y  -     0  cleanup"
    master_cf.write_text(plain.replace(line, f"{line}\n  -o non_smtpd_milters="))
    before = files(box)
    done = run_setup(box, "--yes", "--submission", "smtp")
    after = files(box)
    master_cf.write_text(plain)
    box.reload_postfix()
    main_cf = box.dir / "postfix/main.cf"
    main_cf.write_text(main_cf.read_text() + "biff = no\n")
    undone = run_setup(box, "--undo")
    left = files(box)
    main_cf.write_bytes(without[0])
    assert done.returncode == 1 and "Postfix still uses the milter" in done.stderr
    assert after == before and b"postern/milter.sock" in after[0]
    assert undone.returncode == 0, undone.stderr
    assert f"{main_cf} has other changes since the setup: diff -u" in " ".join(undone.stdout.split())
    assert "postfix/master.cf is as it was before the setup, byte for byte" in undone.stdout
    assert left == [without[0] + b"biff = no\n", without[1]]


def test_undo_waits_for_emails_on_their_way(box, to):
    """pickup(8) tries a message that was put off again after a minute; nobody waits for that."""
    before = files(box)
    assert run_setup(box, "--yes", "--domain", "fresh.test").returncode == 0
    log = box.dir / "log/postfix.log"
    box.stop("milter")
    read = log.stat().st_size
    box.httpd().post({"from": "ann@example.com", "to": to, "subject": "Late", "text": "."})
    wait_for("pickup to try it", lambda: b"milter.sock" in log.read_bytes()[read:] or None)
    box.start("milter")
    done = run_setup(box, "--undo")
    assert done.returncode == 0, done.stdout + done.stderr
    assert files(box) == before
    box.sink.find(to=to)


# The answer to the first question, for ports where programs log in.
NO_PORTS = "\n"


def answered(box, answer, *words):
    """As somebody at a terminal answers it."""
    ours, its = pty.openpty()
    done = subprocess.Popen(
        [CLI, "-c", box.config, "setup", "--postfix", box.dir / "postfix", *words],
        stdin=its, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    os.close(its)
    os.write(ours, answer.encode() + b"\n")
    out, errors = done.communicate(timeout=300)
    os.close(ours)
    return done.returncode, out, errors


def everything(box):
    """All that it could have changed, but for logs and what daemons write by themselves."""
    paths = [box.dir / "postfix", Path(box.config).parent, box.dir / "queue/postern", box.dir]
    return files(box), [sorted(path.name for path in folder.iterdir()) for folder in paths], \
        box.query("SELECT (SELECT count(*) FROM domain), (SELECT count(*) FROM api_key)")


def test_it_asks_first(box):
    before = everything(box)
    status, out, errors = answered(box, NO_PORTS + "no", "--domain", "asked.test")
    assert status == 1 and "Continue? yes or no [yes]: " in errors
    assert "+smtpd_milters" in out and "nothing was changed" in errors
    assert everything(box) == before


def test_without_an_answer_it_stops(box):
    """Ctrl-D is no consent."""
    before = everything(box)
    status, _, errors = answered(box, NO_PORTS + "\x04", "--domain", "asked.test")
    assert status == 1 and "nothing was changed" in errors
    assert everything(box) == before


@pytest.mark.parametrize("words, status, text", [
    (("--domain", "exa_mple"), 1, '"exa_mple" is no domain name'),
    (("--policy", "stern"), 64, "--policy: it is learn, shared or exclusive, not stern"),
    (("--user", "ann b"), 64, "--user: a login has no blanks: ann b"),
    (("--to", "nobody"), 64, "--to: not an address: nobody"),
])
def test_words_that_cannot_be_meant_change_nothing(box, words, status, text):
    before = files(box)
    done = run_setup(box, "--yes", *words)
    assert done.returncode == status and text in " ".join(done.stderr.split())
    assert files(box) == before


def test_beside_a_content_filter(box):
    """Which takes mail after the milter, and gives it back where no milter is asked."""
    main_cf, master_cf = (box.dir / "postfix" / name for name in ("main.cf", "master.cf"))
    plain = main_cf.read_text(), master_cf.read_text()
    main_cf.write_text(plain[0] + "content_filter = smtp:[127.0.0.1]:1\n")
    master_cf.write_text(plain[1] + "127.0.0.1:10026 inet n - y - - smtpd\n"
                         "  -o content_filter= -o smtpd_milters=\n"
                         "  -o receive_override_options=no_milters\n")
    before = files(box)
    try:
        done = run_setup(box, "--yes", "--domain", "fresh.test")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "  filter:       smtp:[127.0.0.1]:1\n" in done.stdout
        assert "10026" not in done.stdout.partition("What changes")[2].partition("==")[0]
        assert run_setup(box, "--undo").returncode == 0
        assert files(box) == before
    finally:
        main_cf.write_text(plain[0])
        master_cf.write_text(plain[1])
        box.reload_postfix()


def test_each_instance_is_undone_by_itself(box):
    """What was before stands by the instance, so one does not get the files of another."""
    with Sandbox(parts=["auth"]) as other:
        script(other, "disable", "--reload")
        before = files(box), files(other)
        for one in (box, other):
            done = run_setup(one, "--yes", "--domain", "fresh.test")
            assert done.returncode == 0, done.stderr
            assert f"setup --undo --postfix {one.dir}/postfix" in done.stdout
        both = files(box), files(other)
        # Settings of another instance are not for this one.
        for words in (["--yes"], ["--undo"]):
            done = subprocess.run(
                [CLI, "-c", box.config, "setup", "--postfix", other.dir / "postfix", *words],
                capture_output=True, text=True, timeout=300, check=False,
                stdin=subprocess.DEVNULL)
            assert done.returncode == 1 and "needs settings and daemons of its own" in done.stderr
        assert (files(box), files(other)) == both
        assert run_setup(other, "--undo").returncode == 0
        assert (files(box), files(other)) == (both[0], before[1])
        done = run_setup(box, "--undo")
        assert done.stdout.count("byte for byte") == 2
        assert files(box) == before[0]
