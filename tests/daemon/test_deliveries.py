"""Where an email goes by aliases and content filters, and what is told of each
recipient: what the remote server has, against GET, its events and the command."""

import re
import subprocess
import threading
from pathlib import Path

import pytest
from harness import wait_for
from harness.admin import operator
from harness.fates import Fates, address
from harness.sandbox import BUILD, TREE
from harness.smtp_filter import SmtpFilter


@pytest.fixture
def fates(own_box):
    made = Fates(own_box())
    yield made
    made.remote.close()


# What GET says of a state, and the last event of each recipient on the form API.
WORDS = {"removed": "failed", "discarded": "failed", "handed_on": "queued"}
FORM = {"delivered": "delivered", "bounced": "failed", "expired": "failed",
        "removed": "failed", "discarded": "failed", "deferred": "failed"}  # fmt: skip


def told(fates, email_id, *states):
    """All that tell of an email say the same, once no line of it comes any more
    between two questions."""
    fates.wait(email_id, *states)
    wait_for(f"the same of {email_id}", lambda: compare(fates, email_id, states))


def compare(fates, email_id, states):
    httpd = fates.box.httpd()
    found = [one["state"] for one in httpd.read(email_id)["recipients"]]
    assert found == [WORDS.get(state, state) for state in states]
    shown = fates.box.cli("email", "show", email_id)
    assert [one["state"] for one in shown["recipients"]] == list(states)
    events = shown["events"]
    listed = httpd.request("GET", f"/emails/{email_id}/events?limit=100").json()["data"]
    form = httpd.request(
        "GET", "/v3/example.com/events?limit=300",
        headers={"Authorization": None}, auth=("api", httpd.key),
    ).json()["items"]  # fmt: skip
    form = [i for i in form if i["message"]["headers"]["message-id"] == message_id(fates, email_id)]

    def delivered(rows, name):
        return sorted(row["recipient"] for row in rows if row[name] == "delivered")

    # A page has a hundred.
    same = len(listed) == min(len(events), 100) and delivered(events, "type") == delivered(
        form, "event"
    )
    if len(events) <= 100:
        same &= delivered(listed, "type") == delivered(events, "type")
    for one, state in zip(shown["recipients"], states):
        mine = {row["type"] for row in events if row["recipient"] == one["address"]}
        forms = {row["event"] for row in form if row["recipient"] == one["address"]}
        same &= state not in FORM or (state in mine and FORM[state] in forms)
    return same


def message_id(fates, email_id):
    [(found,)] = fates.rows("SELECT message_id FROM email WHERE id = ?", email_id)
    return found.strip("<>")


def kinds(fates, email_id):
    return sorted(kind for kind, _, _ in fates.events(email_id))


def add_service(fates, *lines):
    with (fates.box.dir / "postfix/master.cf").open("a") as file:
        file.write("\n".join([*lines, ""]))


def aliases(fates, text):
    """Of local(8), for host.test."""
    path = fates.box.dir / "aliases"
    path.write_text(text)
    path.chmod(0o644)
    fates.box.dir.chmod(0o755)
    fates.box.postconf(f"alias_maps = texthash:{path}")
    fates.box.postconf("mydestination = host.test")
    fates.route("host.test", "local:")


def filter_by_pipe(fates, body, *options):
    """A content filter: gets SENDER and RECIPIENTS, message, and send()."""
    host, port = fates.box.add_smtpd(
        "content_filter=", "receive_override_options=no_milters", *options
    ).split(":")
    script = fates.box.dir / "filter"
    script.write_text(
        "#!/usr/bin/python3\nimport os, smtplib, sys, time\n"
        "SENDER, RECIPIENTS = sys.argv[1], sys.argv[2:]\n"
        "message = sys.stdin.buffer.read()\n"
        "def send(*to):\n"
        f"    with smtplib.SMTP('{host}', {port}) as peer:\n"
        "        peer.sendmail(SENDER, to, message)\n"
        "def later():\n"
        "    if os.fork():\n"
        "        os._exit(0)\n"
        "    os.setsid()\n"
        "    for fd in (0, 1, 2):\n"
        "        os.close(fd)\n"
        "        os.open('/dev/null', os.O_RDWR)\n"
        "    time.sleep(3)\n" + body
    )
    script.chmod(0o755)
    fates.box.dir.chmod(0o755)
    add_service(
        fates,
        "filter unix - n n - 10 pipe flags=Rq user=nobody"
        f" argv={script} ${{sender}} ${{recipient}}",
    )
    fates.box.postconf("content_filter = filter:dummy")


def filter_by_smtp(fates, on_message):
    back = fates.box.add_smtpd("content_filter=", "receive_override_options=no_milters")
    server = SmtpFilter(back, on_message)
    fates.box.postconf(f"content_filter = smtp:[127.0.0.1]:{server.port}")


def give_back(recipients, send):
    return send(*recipients)


def give_back_later(recipients, send):
    threading.Timer(2, lambda: send(*recipients)).start()
    return "2.0.0 Ok"


def test_alias_that_is_deferred_and_then_expires(fates):
    """One of two is delivered: that is not the end of it."""
    fates.box.postconf(
        "virtual_alias_maps = inline:{ {team@remote.test = fine@remote.test,"
        " later@remote.test} }"
    )
    fates.reload()
    email_id = fates.send(address("team"))
    told(fates, email_id, "deferred")
    assert fates.remote.taken == [address("fine")]
    fates.box.postconf("maximal_queue_lifetime = 2s")
    fates.reload()
    wait_for(
        "Postfix to give it up",
        lambda: fates.states(email_id) == ["expired"] or fates.box.flush(),
    )
    told(fates, email_id, "expired")
    assert {"delivered", "deferred", "expired"} <= set(kinds(fates, email_id))


def test_fifty_members(fates):
    """Every line is an event."""
    members = [address(f"m{i}") for i in range(49)] + [address("later")]
    fates.box.postconf(
        f"virtual_alias_maps = inline:{{ {{all@remote.test = {' '.join(members)}}} }}"
    )
    fates.box.postconf("virtual_alias_expansion_limit = 100")
    fates.reload()
    email_id = fates.send(address("all"))
    told(fates, email_id, "deferred")
    wait_for("all members", lambda: len(fates.remote.taken) == 49)
    wait_for("their events", lambda: kinds(fates, email_id).count("delivered") == 49)
    fates.remote.answers["later"] = b"250 2.1.5 Ok\r\n"
    told(fates, email_id, "delivered")
    assert len(fates.remote.taken) == 50


def test_aliases_of_aliases(fates):
    """Virtual ones, behind them those of local(8), which lead to others."""
    aliases(fates, "outer: inner@host.test, fine@remote.test\ninner: ok@remote.test, unknown@remote.test\n"
                   "good: fine@remote.test, ok@remote.test\n".replace(": ", " "))  # fmt: skip
    fates.box.postconf(
        "virtual_alias_maps = inline:{ {v@remote.test = outer@host.test},"
        " {g@remote.test = good@host.test, fine@remote.test} }"
    )
    fates.reload()
    email_id = fates.send(address("v"), address("g"))
    told(fates, email_id, "bounced", "delivered")


@pytest.mark.parametrize("when", ["", "later()\n"])
def test_filter_by_pipe_and_alias(fates, when):
    """What the alias leads to decides, also where the filter gives the email back
    when its own message is gone."""
    filter_by_pipe(fates, when + "send(*RECIPIENTS)\n")
    fates.box.postconf(
        "virtual_alias_maps = inline:{ {team@remote.test = fine@remote.test,"
        " unknown@remote.test} }"
    )
    fates.reload()
    email_id = fates.send(address("team"), address("ok"))
    told(fates, email_id, "bounced", "delivered")
    assert sorted(set(fates.remote.taken)) == [address("fine"), address("ok")]


def test_filter_that_splits_drops_and_adds(fates):
    """Each has its own end; what did not come back is never delivered."""
    filter_by_pipe(
        fates,
        "for one in RECIPIENTS:\n"
        "    if not one.startswith('lost'):\n"
        "        send(one)\n"
        "send(RECIPIENTS[0].replace('@', '-copy@'))\n",
    )
    fates.reload()
    email_id = fates.send(address("fine"), address("unknown"), address("lost"), address("later"))
    fates.wait(email_id, "delivered", "bounced", "handed_on", "deferred")
    fates.remote.answers["later"] = b"250 2.1.5 Ok\r\n"
    # All messages are gone, and what was added may be what became of it.
    told(fates, email_id, "delivered", "bounced", "unknown", "delivered")


@pytest.mark.parametrize("how", ["smtp", "smtp-later", "smtp-twice", "pipe-later"])
def test_filter_and_aliases(fates, how):
    """Virtual aliases and those of local(8), all behind the filter, whether it names
    what it gives back or not."""
    aliases(fates, "list ok@remote.test, later@remote.test\n")
    fates.box.postconf(
        "virtual_alias_maps = inline:{ {team@remote.test = fine@remote.test,"
        " unknown@remote.test} }"
    )
    if how == "smtp":
        filter_by_smtp(fates, give_back)
    elif how == "smtp-later":
        filter_by_smtp(fates, give_back_later)
    elif how == "smtp-twice":
        filter_by_smtp(fates, lambda to, send: send(*to) and send(*to))
    else:
        filter_by_pipe(fates, "later()\nsend(*RECIPIENTS)\n")
    fates.reload()
    email_id = fates.send(address("team"), "list@host.test", address("ok"))
    told(fates, email_id, "bounced", "deferred", "delivered")
    fates.remote.answers["later"] = b"550 5.1.1 Nobody\r\n"
    wait_for(
        "Postfix to try again",
        lambda: fates.states(email_id)[1] == "bounced" or fates.box.flush(),
    )
    told(fates, email_id, "bounced", "bounced", "delivered")
    assert set(fates.remote.taken) == {address("fine"), address("ok")}


def test_smtp_filter_that_splits_drops_and_adds(fates):
    """It names one of the messages that it gives back, for all recipients."""

    def split(recipients, send):
        for one in recipients:
            if one != address("lost"):
                send(one)
        return send(address("added"))

    filter_by_smtp(fates, split)
    fates.reload()
    email_id = fates.send(address("fine"), address("unknown"), address("lost"), address("later"))
    wait_for("all others", lambda: len(fates.remote.taken) == 2)
    fates.remote.answers["later"] = b"250 2.1.5 Ok\r\n"
    wait_for(
        "Postfix to try again",
        lambda: fates.states(email_id)[3] == "delivered" or fates.box.flush(),
    )
    told(fates, email_id, "delivered", "bounced", "unknown", "delivered")


def test_words_of_the_remote(fates):
    """A queue id in them is none of ours, and a line in them is none."""
    fates.box.stop("events")
    other = fates.send(address("unknown"))
    wait_for("its message", lambda: fates.queue_id(other))
    fates.remote.ends["liar"] = f"250 2.0.0 Ok: queued as {fates.queue_id(other)}\r\n".encode()
    fates.remote.answers["forger"] = (
        "550 5.1.1 x Nov 22 10:00:00 mail postfix/smtp[1]:"
        f" {fates.queue_id(other)}: to=<unknown@remote.test>, relay=r[127.0.0.1]:25,"
        " delay=1, delays=0/0/0/1, dsn=2.0.0, status=sent (250 ok\r\n"
    ).encode()
    # Words and codes of another end.
    for name, answer in {
        "sent": "550 2.0.0 Ok, status=sent (250 2.0.0 Ok: queued as ABCDEF0123)",
        "gone": "450 5.1.1 status=expired, returned to sender",
        "twice": "550-5.1.1 x\r\n550 2.1.5 to=<fine@remote.test>, dsn=2.0.0, status=sent (ok)",
    }.items():
        fates.remote.answers[name] = f"{answer}\r\n".encode()
    fates.remote.ends["bad"] = b"250 5.1.1 <bad@remote.test>: status=bounced (forwarded as ABCDEF0123)\r\n"
    liar = fates.send(*map(address, ("liar", "forger", "sent", "gone", "twice")))
    bad = fates.send(address("bad"))
    wait_for("the lies", lambda: len(fates.remote.taken) == 2)
    fates.box.start("events")
    told(fates, liar, "delivered", "bounced", "bounced", "deferred", "bounced")
    told(fates, bad, "delivered")
    told(fates, other, "bounced")


def test_service_with_a_name_of_its_own(fates):
    add_service(fates, "slow unix - - n - - smtp", "    -o syslog_name=postfix-slow")
    fates.route("slow.test", f"slow:[127.0.0.1]:{fates.remote.port}")
    fates.reload()
    email_id = fates.send("fine@slow.test", "unknown@slow.test")
    told(fates, email_id, "delivered", "bounced")


def test_formats_of_addresses(fates):
    for setting in ("info_log_address_format = internal", "smtputf8_enable = no"):
        fates.box.postconf(setting)
    fates.reload()
    email_id = fates.send('"a b"@remote.test', "fine@remote.test")
    told(fates, email_id, "delivered", "delivered")


def test_left_without_the_rules(fates):
    """main.cf is as it was before Postern, with a relay host: Postfix hands on
    what it has under its ticket. It is told, and that mail leaves so."""
    box = fates.box
    for setting in ("smtpd_milters =", "non_smtpd_milters =",
                    f"transport_maps = inline:{{ {{* = smtp:[127.0.0.1]:{fates.remote.port}}} }}"):  # fmt: skip
        box.postconf(setting)
    fates.reload()
    box.httpd().post(
        {"from": "hello@example.com", "to": [address("fine")], "text": "Hello"})  # fmt: skip
    wait_for("the ticket", lambda: fates.remote.taken)
    assert fates.remote.taken[0].endswith("@postern.invalid")
    wait_for(
        "its end",
        lambda: fates.rows("SELECT last_event FROM email") == [("failed",)],
    )
    (email_id,) = fates.rows("SELECT id FROM email")[0]
    [one] = box.httpd().read(email_id)["recipients"]
    assert one["state"] == "failed" and "taken" in one["message"]
    assert "without asking postern-milter" in subprocess.run(
        [box.env["POSTERN_CLI"], "-c", box.config, "email", "show", email_id],
        capture_output=True, text=True, check=True, timeout=60).stdout  # fmt: skip
    needs = {i["code"]: i for i in operator(box).ok("GET", "/admin/attention")["data"]}
    assert needs["left_without_rules"]["level"] == "problem"


def test_expired_under_its_ticket(fates):
    """The milter is not asked, and the lifetime of the message ends first: Postfix
    gives it up with words that name no recipient."""
    box = fates.box
    for setting in ("smtpd_milters =", "non_smtpd_milters =",
                    "maximal_queue_lifetime = 1s", "bounce_queue_lifetime = 1s"):  # fmt: skip
        box.postconf(setting)
    fates.reload()
    box.httpd().post(
        {"from": "hello@example.com", "to": [address("fine")], "text": "Hello"})  # fmt: skip

    def has_bounced():
        box.flush()
        return fates.rows("SELECT last_event FROM email") == [("bounced",)]

    wait_for("its end", has_bounced)
    (email_id,) = fates.rows("SELECT id FROM email")[0]
    assert not fates.remote.taken
    [one] = box.httpd().read(email_id)["recipients"]
    assert one["state"] == "expired"


def postsuper(fates, option, queue_id):
    subprocess.run(
        ["postsuper", "-c", fates.box.env["POSTFIX_CONFIG"], option, queue_id],
        check=True, capture_output=True, timeout=60)  # fmt: skip


def where(fates, part):
    """Has `team` lead to one who takes and one who defers, behind that part."""
    if part == "alias":
        aliases(fates, "team fine@remote.test, later@remote.test\n")
        fates.reload()
        return "team@host.test"
    if part == "filter":
        filter_by_pipe(fates, "send(*RECIPIENTS)\n")
    if part == "smtp-filter":
        filter_by_smtp(fates, give_back)
    fates.box.postconf(
        "virtual_alias_maps = inline:{ {team@remote.test = fine@remote.test,"
        " later@remote.test} }"
    )
    fates.reload()
    return address("team")


def last_message(fates, email_id):
    """The queue id of the message that waits."""

    def waiting():
        fates.box.flush()
        queue = [one.name for one in (fates.box.dir / "queue/deferred").rglob("*") if one.is_file()]
        known = [row[0] for row in fates.rows(
            "SELECT h.queue_id FROM hop h JOIN email e ON e.seq = h.email WHERE e.id = ?"
            " AND h.closed_us = 0", email_id)]  # fmt: skip
        return [name for name in queue if name in known]

    return wait_for("the message that waits", waiting)[0]


def wait_for_deferral(fates, email_id):
    fates.wait(email_id, "deferred", "delivered")
    wait_for("the other member", lambda: address("fine") in fates.remote.taken)


@pytest.mark.parametrize("part", ["parent", "alias", "filter", "smtp-filter"])
def test_removed_by_an_admin(fates, part):
    email_id = fates.send(where(fates, part), address("ok"))
    wait_for_deferral(fates, email_id)
    postsuper(fates, "-d", last_message(fates, email_id))
    told(fates, email_id, "removed", "delivered")


@pytest.mark.parametrize("part", ["parent", "alias", "filter", "smtp-filter"])
def test_requeued(fates, part):
    """Twice; then it is taken."""
    email_id = fates.send(where(fates, part), address("ok"))
    wait_for_deferral(fates, email_id)
    for _ in range(2):
        before = last_message(fates, email_id)
        postsuper(fates, "-r", before)
        # pickup looks for what was requeued.
        wait_for(
            "the new id",
            lambda: fates.box.flush() or last_message(fates, email_id) != before,
        )
    told(fates, email_id, "deferred", "delivered")
    fates.remote.answers["later"] = b"250 2.1.5 Ok\r\n"
    wait_for(
        "Postfix to deliver it",
        lambda: address("later") in fates.remote.taken or fates.box.flush(),
    )
    told(fates, email_id, "delivered", "delivered")
    assert sorted(set(fates.remote.taken)) == sorted(map(address, ("fine", "later", "ok")))


@pytest.mark.parametrize("part", ["alias", "filter", "smtp-filter"])
def test_expired_behind(fates, part):
    email_id = fates.send(where(fates, part), address("ok"))
    wait_for_deferral(fates, email_id)
    fates.box.postconf("maximal_queue_lifetime = 2s")
    fates.reload()
    wait_for(
        "Postfix to give it up",
        lambda: fates.states(email_id)[0] == "expired" or fates.box.flush(),
    )
    told(fates, email_id, "expired", "delivered")


def whole_log(box, start):
    """Its lines from there, once all that came into the queue has left it."""
    log = box.dir / "log/postfix.log"

    def lines():
        text = log.read_text()[start:]
        begun = re.findall(r": (\w+): from=.*\(queue active\)", text)
        left = re.findall(r": (\w+): removed", text)
        return begun and set(begun) == set(left) and not box.waiting() and text.splitlines(keepends=True)

    return wait_for("the queue to be empty", lines)


@pytest.mark.parametrize("part", ["alias", "filter", "smtp-filter"])
def test_message_that_the_log_does_not_tell_of(fates, part):
    """The one that carries the email on: it is never said to be delivered."""
    box = fates.box
    team = where(fates, part)
    box.stop("events")
    log, copy = box.dir / "log/postfix.log", box.dir / "log/copy.log"
    start = log.stat().st_size
    fates.remote.answers["later"] = b"250 2.1.5 Ok\r\n"
    email_id = fates.send(team)
    wait_for("both members", lambda: len(fates.remote.taken) == 2)
    lines = whole_log(box, start)
    first = fates.queue_id(email_id)
    copy.write_text("".join(line for line in lines if f" {first}: " in line))
    copy.chmod(0o644)
    box.set("events", "log_file", str(copy))
    box.start("events")
    told(fates, email_id, "handed_on")
    said = show(box, email_id)
    assert said.startswith(
        f"Not yet: this host has handed the email on to an alias or a filter for {team}.")
    assert f"{team}: handed on within this host" in said
    # What the queue has no more is not known after ten minutes.
    fates.write("UPDATE email_recipient SET state = 'unknown'")
    assert show(box, email_id).startswith(
        "Not known: it left Postfix's queue, but its log does not say what became of it for"
        f" {team}.")


def show(box, email_id):
    """`postern email show`, as people read it, without its line breaks."""
    done = subprocess.run([box.env["POSTERN_CLI"], "-c", box.config, "email", "show", email_id],
                          capture_output=True, text=True, check=True, timeout=60)
    return " ".join(done.stdout.split())


@pytest.mark.parametrize("second", ["unknown", "fine"])
def test_filter_that_gives_back_twice(fates, second):
    """The worst of both counts."""
    filter_by_pipe(
        fates,
        f"send(*RECIPIENTS)\nRECIPIENTS[0] = RECIPIENTS[0].replace('other', '{second}')\n"
        "send(*RECIPIENTS)\n",
    )
    fates.reload()
    email_id = fates.send(address("fine"), address("ok"), address("unknown"))
    told(fates, email_id, "delivered", "delivered", "bounced")
    wait_for("both", lambda: len(fates.remote.taken) == 4)
    told(fates, email_id, "delivered", "delivered", "bounced")


def waits(pid):
    """Whether the reader has stored what there was, and waits for more or a signal:
    rt_sigtimedwait(2) on x86_64 or arm64."""
    return Path(f"/proc/{pid}/syscall").read_text().split()[0] in ("128", "137")


@pytest.mark.parametrize("part", ["alias", "filter", "smtp-filter"])
def test_reader_killed_between_any_two_lines(fates, part):
    """What is read again changes nothing."""
    box = fates.box
    team = where(fates, part)
    box.stop("events")
    log, copy = box.dir / "log/postfix.log", box.dir / "log/copy.log"
    start = log.stat().st_size
    fates.remote.answers["later"] = b"550 5.1.1 Nobody\r\n"
    email_id = fates.send(team, address("ok"))

    wait_for("all recipients", lambda: sorted(fates.remote.taken) == [address("fine"), address("ok")])
    lines = whole_log(box, start)
    copy.write_text("")
    copy.chmod(0o644)
    box.set("events", "log_file", str(copy))
    for line in lines:
        with copy.open("a") as file:
            file.write(line)
        reader = subprocess.Popen(
            [TREE / BUILD / "postern-events", "-c", box.config], stderr=subprocess.DEVNULL)  # fmt: skip
        wait_for("the line to be read", lambda: waits(reader.pid))
        reader.kill()
        reader.wait()
        states = fates.states(email_id)
        assert "delivered" not in states[:1]
    told(fates, email_id, "bounced", "delivered")
    found = kinds(fates, email_id)
    assert (found.count("delivered"), found.count("bounced")) == (2, 1)
