"""What the scripts of postfix-conf make of postern.conf.

Only postconf of Postfix is used; nothing is started.
"""

import os

import pytest
from test_postfix_conf import listening
from test_postfix_conf_learn import add_database, make, with_conf  # noqa: F401

pytestmark = pytest.mark.scripts

SMTP = "[submission]\nmethod = smtp\n"
ELSEWHERE = SMTP + "smtp_server = inet:127.0.0.1:2525\n"


def check(postfix, *more):
    with listening(postfix):
        return postfix.run("check", "-p", postfix.conf, *more)


@pytest.fixture(scope="module")
def correct(tmp_path_factory):
    """A Postfix with correct settings; each test leaves it so."""
    postfix = with_conf(tmp_path_factory.mktemp("correct"))
    add_database(postfix)
    postfix.do("enable", "-p", postfix.conf)
    done = check(postfix)
    assert done.returncode == 0 and "WRONG" not in done.stdout
    return postfix


@pytest.fixture
def enabled(correct):
    """The same, whose files a test may change."""
    files = [correct.main_cf, correct.folder / "master.cf", correct.conf,
             correct.folder / "postern.db"]
    before = {file: file.read_bytes() for file in files}
    yield correct
    for file, content in before.items():
        file.write_bytes(content)


@pytest.mark.parametrize("more, says", [
    ("[web]\n", "postern.conf:"),
    ("[http]\nworkers = x\n", 'http.workers: "x" is not'),
    (SMTP, "master.cf has no service postern, and submission.method is smtp: run postern setup"),
    ("[store]\ndatabase = /nowhere/x.db\n", "already set"),
])
def test_what_fails_each_request_is_wrong(enabled, more, says):
    with enabled.conf.open("a") as file:
        file.write(more)
    done = check(enabled)
    wrong = [line for line in done.stdout.splitlines() if line.startswith("WRONG")]
    assert done.returncode == 1
    assert len(wrong) == 1 and says in wrong[0]


@pytest.mark.parametrize("limit, wanted", [
    ("10000K", None),  # Postfix's own
    ("20M", 20971520),
    ("1G", 1073741824),
])
def test_postfix_has_to_take_what_http_does(enabled, limit, wanted):
    with enabled.conf.open("a") as file:
        file.write(f"[http]\nmax_message_bytes = {limit}\n")
    said = check(enabled).stdout
    told = (f"larger emails are refused, although http.max_message_bytes is {wanted};"
            f" to raise it: postconf -e message_size_limit={wanted}")
    assert ("warning: message_size_limit is 10240000" in said) == (wanted is not None)
    assert (told in said) == (wanted is not None)


def test_check_says_what_it_did_not_look_at(enabled):
    with listening(enabled):
        done = enabled.run("check")
    assert "warning: no postern.conf was looked at" in done.stdout


def test_a_server_elsewhere_needs_no_service(enabled):
    with enabled.conf.open("a") as file:
        file.write(ELSEWHERE)
    assert check(enabled).returncode == 0


def test_a_service_of_somebody_else_does_not_do(enabled):
    with (enabled.folder / "master.cf").open("a") as file:
        file.write("postern unix n - y - 5 smtpd\n")
    assert check(enabled).returncode == 0
    with enabled.conf.open("a") as file:
        file.write(SMTP)
    done = check(enabled)
    assert done.returncode == 1 and "WRONG" in done.stdout and "not the one" in done.stdout


@pytest.mark.parametrize("spoil", [os.unlink, lambda path: path.write_text("x" * 5000)])
def test_a_database_that_cannot_be_used_is_wrong(enabled, spoil):
    spoil(enabled.folder / "postern.db")
    done = check(enabled)
    assert done.returncode == 1 and f"WRONG:   postern: {enabled.folder}/postern.db" in done.stdout


def test_a_milter_that_listens_elsewhere_is_wrong(enabled):
    """As with several Postfix instances and one postern.conf."""
    text = enabled.conf.read_text()
    enabled.conf.write_text(text.replace("/postern/milter.sock", "/other/milter.sock"))
    done = check(enabled)
    assert done.returncode == 1
    assert "WRONG:   smtpd_milters lacks unix:other/milter.sock" in done.stdout
    done = check(enabled, "-s", "postern/milter.sock")
    assert done.returncode == 1
    assert f"listens on {enabled.queue}/other/milter.sock (milter.socket" in done.stdout
    assert f"but Postfix asks {enabled.queue}/postern/milter.sock" in done.stdout


@pytest.mark.parametrize("more, told", [(SMTP, True), (ELSEWHERE, False), ("", False)])
def test_disable_tells_that_nothing_could_be_sent(make, more, told):  # noqa: F811
    postfix = make()
    add_database(postfix)
    postfix.do("enable", "-p", postfix.conf)
    with postfix.conf.open("a") as file:
        file.write(more)
    done = postfix.run("disable", "-p", postfix.conf)
    assert done.returncode == 0
    assert ("says method = smtp" in done.stderr) == told


def test_reload_of_the_milter_is_for_one_that_runs(make):  # noqa: F811
    postfix = make()
    assert "reload postern-milter" not in postfix.do("enable", "-p", postfix.conf)
    with listening(postfix):
        assert "; reload postern-milter" in postfix.do("disable", "-p", postfix.conf)
