"""postern held: what the rules have Postfix hold, through real Postfix."""

import fcntl
import json
import os
import pty
import pwd
import re
import struct
import subprocess
import termios
import uuid
from pathlib import Path

import pytest
from harness import Sandbox, wait_for
from harness.admin import by_token, operator
from harness.sandbox import TREE, unique
from harness.submit import by_sendmail, plain


@pytest.fixture(scope="module")
def box():
    with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture
def domain(box):
    return box.domain(box.company())


def run(box, *words, json_too=True):
    """Runs `postern held WORDS...`, which may fail."""
    options = ["--json"] if json_too else []
    return subprocess.run(
        [box.env["POSTERN_CLI"], "-c", box.config, *options, "held", *words],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)


def held(box, *words, status=0):
    """Returns the JSON output of `postern held`."""
    done = run(box, *words)
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout)


def outcomes(rows):
    return {row["queue_id"]: row["outcome"] for row in rows}


def listed(box, domain):
    return [row for row in held(box, "list") if row["domain"] == domain]


def queued(box, queue_id):
    """Returns the queue of the message; None once it is gone."""
    lines = subprocess.run(
        ["postqueue", "-c", box.env["POSTFIX_CONFIG"], "-j"],
        check=True, capture_output=True, text=True, timeout=60).stdout.splitlines()
    return {item["queue_id"]: item["queue_name"] for item in map(json.loads, lines)}.get(queue_id)


def forge(box, domain, to, sender="a@other.test"):
    """Sends a forgery that the rules hold; returns its queue id."""
    sent = plain(box, "sendmail", sender, to, f"Boss <boss@{domain}>")
    assert sent.verdict()["outcome"] == "held"
    queue_id = sent.queue_id()
    wait_for("the message in the hold queue", lambda: queued(box, queue_id) == "hold")
    return queue_id


def hold_by_others(box, to):
    """Returns the queue id of a message that an admin has put on hold."""
    sent = plain(box, "sendmail", "a@other.test", f"x-{to.split('@')[0]}@defer.test")
    queue_id = wait_for("its queue id", sent.queue_id)
    wait_for("the message to wait", lambda: queued(box, queue_id) == "deferred")
    subprocess.run(["postsuper", "-c", box.env["POSTFIX_CONFIG"], "-h", queue_id],
                   check=True, capture_output=True, timeout=60)
    return queue_id


def test_list_and_show(box, domain, to):
    queue_id = forge(box, domain, to)
    row, = listed(box, domain)
    assert row["queue_id"] == queue_id
    assert row["state"] == "held"
    assert row["sender"] == "a@other.test"
    assert row["from"] == f"boss@{domain}"
    assert row["to"] == [to]
    assert row["reason"] == "Mail from this domain must be sent with an API key."
    shown = held(box, "show", queue_id)
    assert {name: shown[name] for name in row} == row
    assert "postern held recheck" in shown["next"]
    assert f"\nFrom: Boss <boss@{domain}>\n" in shown["header"]
    table = run(box, "list", json_too=False).stdout
    assert re.search(rf"held +{queue_id} +a@other.test", table)
    assert held(box, "list", "--limit", "1") != []
    assert f"\r\nqueue_id  {queue_id}\r\nsender    a@other.test\r\n" in in_terminal(
        box, 80, "held", "list")
    assert f"{queue_id}  a@other.test" in in_terminal(box, 400, "held", "list")


def in_terminal(box, columns, *words):
    """Returns the output of a command on a terminal of that width."""
    terminal, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    command = [box.env["POSTERN_CLI"], "-c", box.config, *words]
    process = subprocess.Popen(command, stdout=its)
    os.close(its)
    shown = b""
    while True:
        try:
            shown += os.read(terminal, 4096)
        except OSError:  # nobody has it open any more
            os.close(terminal)
            assert process.wait(timeout=180) == 0
            return shown.decode()


def test_disable_tells_of_it(box, domain, to):
    queue_id = forge(box, domain, to)
    n = sum(row["state"] == "held" for row in held(box, "list"))
    files = [box.dir / "postfix/main.cf", Path(box.config)]
    before = [file.read_bytes() for file in files]
    done = subprocess.run(
        [TREE / "postfix-conf/disable", "-c", files[0].parent, "-p", box.config],
        capture_output=True, text=True, timeout=60)
    for file, text in zip(files, before):
        file.write_bytes(text)
    assert done.returncode == 0
    assert f"disable: messages that the rules hold: {n}. They stay in" in done.stderr
    assert queued(box, queue_id) == "hold"


def test_recheck_of_what_is_still_refused(box, domain, to):
    queue_id = forge(box, domain, to)
    for _ in range(3):
        row, = held(box, "recheck", queue_id)
        assert row["outcome"] == "held"
        assert "must be sent with an API key" in row["detail"]
    assert queued(box, queue_id) == "hold"
    assert [row["queue_id"] for row in listed(box, domain)] == [queue_id]


def test_recheck_after_an_exemption(box, domain, to):
    queue_id = forge(box, domain, to)
    other = forge(box, domain, to, sender="b@other.test")
    box.cli("domain", "set", domain, "--policy", "shared")
    assert outcomes(held(box, "recheck", queue_id)) == {queue_id: "released"}
    assert box.sink.find(to=to).header("From") == f"Boss <boss@{domain}>"
    box.cli("domain", "set", domain, "--policy", "exclusive")
    assert outcomes(held(box, "recheck", other)) == {other: "held"}
    box.cli("exempt", "add", domain, "--sender", f"boss@{domain}")
    assert outcomes(held(box, "recheck", other)) == {other: "released"}
    wait_for("both", lambda: len(box.sink.now(to=to)) == 2)
    wait_for("an empty queue", lambda: queued(box, other) is None)
    assert listed(box, domain) == []


def test_release_and_drop(box, domain, to):
    first, second, third = (forge(box, domain, n + to) for n in "abc")
    rows = held(box, "release", first, second, first)
    assert outcomes(rows) == {first: "released", second: "released"}
    assert len(rows) == 2
    box.sink.find(to="a" + to)
    box.sink.find(to="b" + to)
    done = run(box, "drop", third)
    assert done.returncode != 0 and "--yes" in done.stderr
    assert queued(box, third) == "hold"
    assert outcomes(held(box, "drop", "--yes", third)) == {third: "dropped"}
    assert queued(box, third) is None
    assert listed(box, domain) == []
    assert box.sink.now(to="c" + to) == []


def test_the_null_sender_and_odd_addresses(box, domain):
    ids = {}
    for sender in ["", '"a b\\"c"@other.test', "ü@other.test", "-x@other.test"]:
        to = unique("to") + "@dst.test"
        message_id = f"<{unique('odd')}@made.test>"
        data = (f"From: boss@{domain}\nTo: {to}\nSubject: x\n"
                f"Message-ID: {message_id}\n\nbody\n").encode()
        sent = by_sendmail(box, message_id, sender, [to], data)
        assert sent.verdict()["outcome"] == "held"
        ids[sent.queue_id()] = sender
    rows = wait_for("all of them", lambda: len(listed(box, domain)) == len(ids) and listed(box, domain))
    assert {row["queue_id"]: row["sender"] for row in rows} == ids
    box.cli("domain", "set", domain, "--policy", "learn")
    assert set(outcomes(held(box, "recheck", *ids)).values()) == {"released"}
    learnt = box.cli("email", "list", "--refused", "--domain", domain)
    assert {row["sender"] for row in learnt if row["outcome"] == "learnt"} == set(ids.values())


def test_what_is_not_ours_is_left_alone(own_box, to):
    box = own_box("--postconf", "error_transport = retry",
                  "--postconf", "relay_transport = retry")
    box.postconf("transport_maps=inline:{ {defer.test = retry:4.3.5 later} }")
    box.reload_postfix()
    theirs = hold_by_others(box, to)
    ours = forge(box, "example.com", to)
    assert [row["queue_id"] for row in held(box, "list")] == [ours]
    assert "Postfix holds 1 more" in run(box, "list", json_too=False).stdout
    assert held(box, "show", theirs)["state"] == "held by others"
    row, = held(box, "recheck", theirs, status=65)
    assert row["outcome"] == "failed"
    assert queued(box, theirs) == "hold"
    rows = held(box, "release", "ALL", "NONE123", ours, status=66)
    assert outcomes(rows) == {"ALL": "failed", "NONE123": "failed", ours: "released"}
    assert queued(box, theirs) == "hold"
    assert outcomes(held(box, "release", theirs)) == {theirs: "released"}
    wait_for("it to wait again", lambda: queued(box, theirs) == "deferred")
    assert outcomes(held(box, "drop", "--yes", theirs, status=65)) == {theirs: "failed"}
    assert queued(box, theirs) == "deferred"


def test_a_hostile_header(box, domain, to):
    message_id = f"<{unique('odd')}@made.test>"
    data = (b"From: boss@%s\nTo: x\nSubject: \x1b]0;owned\x07 \x9b31m \xe2\x80\xaetxt\n"
            b"Message-ID: %s\n\nbody\n" % (domain.encode(), message_id.encode()))
    sent = by_sendmail(box, message_id, "a@other.test", [to], data)
    assert sent.verdict()["outcome"] == "held"
    wait_for("the row", lambda: listed(box, domain))
    for words in (["list"], ["show", sent.queue_id()]):
        text = run(box, *words, json_too=False).stdout
        assert text and not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text)
    assert r"\x1b]0;owned\x07" in text
    assert r"\u{202e}" in text
    assert "\x1b" not in run(box, "show", sent.queue_id()).stdout


def test_without_the_milter_nothing_is_released(own_box, to):
    box = own_box()
    queue_id = forge(box, "example.com", to)
    box.stop("milter")
    row, = held(box, "recheck", queue_id, status=75)
    assert row["outcome"] == "failed" and "postern-milter" in row["detail"]
    assert queued(box, queue_id) == "hold"


def test_only_root(box, domain, to, tmp_path):
    queue_id = forge(box, domain, to)
    for words in (["show", queue_id], ["release", queue_id], ["recheck", queue_id],
                  ["drop", "--yes", queue_id], ["release", "--waiting"]):
        done = subprocess.run(
            ["setpriv", "--reuid=nobody", "--clear-groups", box.env["POSTERN_CLI"], "-c",
             box.config, "held", *words], capture_output=True, text=True, timeout=60)
        assert done.returncode == 78 and "root" in done.stderr
    assert queued(box, queue_id) == "hold"


@pytest.mark.parametrize("words", [["release"], ["release", "--waiting", "ABC"], ["recheck"],
                                   ["drop", "--yes"], ["list", "--limit", "0"], ["show"],
                                   ["show", "A", "B"]])
def test_wrong_use(box, words):
    done = run(box, *words)
    assert done.returncode in (64, 65) and done.stderr and not done.stdout


def test_many(own_box):
    """Many messages are listed, and released at once, each to its one recipient."""
    box = own_box()
    n = 30
    script = (f"for i in $(seq {n}); do printf 'From: boss@example.com\n\nx\n' | "
              f"/usr/sbin/sendmail -C {box.env['POSTFIX_CONFIG']} -i -f a@other.test -- "
              "t$i@dst.test; done")
    subprocess.run(["bash", "-c", script], check=True, timeout=600)
    rows = wait_for("all of them", lambda: len(held(box, "list")) == n and held(box, "list"))
    assert len(held(box, "list", "--limit", "20")) == 20
    assert f"{n - 20} more" in run(box, "list", "--limit", "20", json_too=False).stdout
    ids = [row["queue_id"] for row in rows]
    assert set(outcomes(held(box, "release", *ids)).values()) == {"released"}
    wait_for("all mail", lambda: len(box.sink.all()) >= n, 600)
    assert sorted(r for d in box.sink.all() for r in d.recipients) == sorted(
        f"t{i}@dst.test" for i in range(1, n + 1))
    assert held(box, "list") == []


def test_decided_on_the_dashboard(own_box, to):
    """httpd may not change the queue: a decision waits for root, whose result is
    shown."""
    box = own_box()
    company = box.company()
    domain = box.domain(company)
    admin = operator(box)
    ids = [forge(box, domain, f"{n}{to}") for n in range(4)]

    def rows(query=""):
        return {row["queue_id"]: row for row in admin.ok("GET", f"/admin/held{query}")["data"]}

    def decide(decision, *queue_ids):
        messages = [{"id": rows()[one]["id"]} for one in queue_ids]
        return admin.ok(
            "POST", "/admin/held/decide", json={"decision": decision, "messages": messages})

    # Nobody has read the queue yet, and what is decided waits.
    assert set(rows(f"?company_id={company}")) == set(ids)
    assert rows(f"?company_id={box.company()}") == {}
    assert set(rows()) == set(ids) and not any(row["read_at"] for row in rows().values())
    assert decide("drop", ids[0]) == {"decided": 1, "gone": 0}
    assert rows()[ids[0]]["decision"] == "drop" and queued(box, ids[0]) == "hold"
    gone = admin.ok("GET", "/admin/held")["data"][0]["id"]
    box.start("held")
    wait_for("the drop", lambda: ids[0] not in rows() and queued(box, ids[0]) is None)
    wait_for("the others to be read", lambda: all(row["read_at"] for row in rows().values()))
    one = rows()[ids[1]]
    assert one["sender"] == "a@other.test" and one["recipients"] == [f"1{to}"]
    assert "header" not in one
    assert f"boss@{domain}" in admin.ok("GET", f"/admin/held/{one['id']}")["header"]
    # The rules are asked, and still refuse it; with an exemption they do not.
    decide("recheck", ids[1])
    wait_for("the answer", lambda: "still refuse" in rows()[ids[1]]["answer"])
    assert rows()[ids[1]]["decision"] is None and queued(box, ids[1]) == "hold"
    box.cli("exempt", "add", domain, "--sender", f"boss@{domain}")
    decide("recheck", ids[1])
    decide("release", ids[2], ids[3])
    wait_for("nothing to be held", lambda: not rows())
    for n in (1, 2, 3):
        box.sink.find(to=f"{n}{to}")
    assert admin.ok("POST", "/admin/held/decide", json={
        "decision": "drop", "messages": [{"id": gone}]}) == {"decided": 0, "gone": 1}
    # Who did it: one entry for each message, though root's process did the work.
    entries = admin.ok("GET", "/admin/audit?action=held")["data"]
    assert sorted(e["action"] for e in entries) == [
        "held.drop", "held.recheck", "held.recheck", "held.release", "held.release"]
    assert {e["actor_name"] for e in entries} == {box.env["POSTERN_ADMIN_LOGIN"]}
    # At the command it is written down as well.
    other = box.domain(box.company())
    held(box, "drop", "--yes", forge(box, other, to))
    assert admin.ok("GET", "/admin/audit?action=held")["data"][0]["actor"] == "command"
    # Only operators who may change something decide.
    for client, status in ((by_token(box, unique("viewer"), role="viewer"), 403),
                           (by_token(box, unique("member"), box.company()), 403)):
        assert client.status("POST", "/admin/held/decide", json={
            "decision": "drop", "messages": [{"id": gone}]}) == status


def test_whoever_owns_the_database_gets_no_more(own_box, to):
    """Whatever the user postern writes into the rows and into maildrop, root only
    reads, releases and removes held messages, and the process that parses them is not
    root."""
    box = own_box()
    box.postconf("transport_maps=inline:{ {defer.test = retry:4.3.5 later} }")
    box.reload_postfix()
    domain = box.domain(box.company())
    admin = operator(box)
    os.chmod(box.dir, 0o755)
    subprocess.run(["chown", "-R", "nobody", box.dir / "store"], check=True, timeout=60)
    one = forge(box, domain, to)
    theirs = wait_for("another's message", plain(
        box, "sendmail", "a@other.test", f"x-{to.split('@')[0]}@defer.test").queue_id)
    wait_for("it to wait", lambda: queued(box, theirs) == "deferred")
    # postcat -q looks in maildrop first, where the user postern may make files.
    (file,) = (box.dir / "queue/deferred").rglob(theirs)
    (box.dir / "queue/maildrop" / one).symlink_to(file)
    late = 4102444800 * 10**6  # in the year 2100
    for queue_id in (theirs, "ALL", f"{one}\n{theirs}", f"../deferred/{theirs}", "no\nsuch"):
        box.query("INSERT INTO held (id, queue_id, held_us, reason, domain, header_from, decision,"
                  f" decided_us) VALUES ('{uuid.uuid4()}', '{queue_id}', {late}, 'no_ticket', '',"
                  " '', 'drop', 1)")
    box.start("held")

    def rows():
        return {row["queue_id"]: row for row in admin.ok("GET", "/admin/held")["data"]}

    wait_for("the rows to be done with", lambda: set(rows()) == {one} and rows()[one]["read_at"])
    header = admin.ok("GET", f"/admin/held/{rows()[one]['id']}")["header"]
    assert f"boss@{domain}" in header and "@defer.test" not in header
    assert queued(box, theirs) == "deferred" and queued(box, one) == "hold"
    helper = box.pid("held")
    children = Path(f"/proc/{helper}/task/{helper}/children").read_text().split()
    ids = {line.split()[0]: line.split()[1:] for line in Path(
        f"/proc/{children[0]}/status").read_text().splitlines() if line[:3] in ("Uid", "Cap")}
    assert set(ids["Uid:"]) == {str(pwd.getpwnam("nobody").pw_uid)}
    assert int(ids["CapEff:"][0], 16) == int(ids["CapPrm:"][0], 16) == 0
    admin.ok("POST", "/admin/held/decide", json={
        "decision": "release", "messages": [{"id": rows()[one]["id"]}]})
    wait_for("the release", lambda: not rows())
    box.sink.find(to=to)


@pytest.mark.parametrize("verb", ["recheck", "release"])
def test_killed_at_any_step(own_box, verb):
    """No message is lost or doubled, however often and wherever the command is
    killed."""
    box = own_box()
    ids = {forge(box, "example.com", f"t{i}@dst.test"): f"t{i}@dst.test" for i in range(5)}
    box.cli("domain", "set", "example.com", "--policy", "shared")
    command = [box.env["POSTERN_CLI"], "-c", box.config, "--json", "held", verb, *ids]
    for call in ("vfork", "clone3", "clone", "wait4", "connect", "sendto", "recvfrom", "pwrite64",
                 "fdatasync", "unlink", "memfd_create"):
        for nth in (1, 2, 4):
            subprocess.run(
                ["strace", "-qq", "-o", "/dev/null", "-e", f"trace={call}",
                 "-e", f"inject={call}:signal=SIGKILL:when={nth}", *command],
                stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=120)
    assert set(outcomes(json.loads(done.stdout)).values()) <= {"released", "failed"}
    for to in ids.values():
        box.sink.find(to=to)
    wait_for("an empty queue", lambda: not any(queued(box, i) for i in ids))
    assert len(box.sink.all()) == len(ids)
