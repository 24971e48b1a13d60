"""Where an email goes by aliases and content filters, and what is told of each
recipient: what the remote server has, against GET, its events and the command.

tests/unit/test_tracker.c reads the log of each kind of delivery, in any order, with a reader that is
killed between any two lines. Here Postfix and all interfaces have a part in it."""

import json
import re
import signal
import subprocess
import threading
from pathlib import Path

import pytest
from harness import Sandbox, wait_for
from harness.admin import operator
from harness.crash import kill_all, workers_of
from harness.deliveries import Deliveries, address
from harness.remote import Remote
from harness.sandbox import BUILD, TREE
from harness.smtp_filter import SmtpFilter
from test_restarts import look_at_once


@pytest.fixture(scope="module")
def shared(request):
    with Sandbox(parts=["auth"]) as box:
        made = Deliveries(box)
        yield made
        made.remote.close()
        box.failed = request.session.testsfailed > 0


@pytest.fixture
def deliveries(shared):
    """Postfix and its settings are the test's, for as long as that takes."""
    files = [shared.box.dir / "postfix" / name for name in ("main.cf", "master.cf")]
    before, routes = [file.read_text() for file in files], dict(shared.routes)
    yield shared
    postsuper(shared, "-d", "ALL")
    for file, text in zip(files, before):
        file.write_text(text)
    shared.routes = routes
    for changed in (shared.remote.taken, shared.remote.answers, shared.remote.ends):
        changed.clear()
    shared.reload()


@pytest.fixture
def alone(own_box):
    """For what is alone in its sandbox, or reads another log."""
    made = Deliveries(own_box())
    yield made
    made.remote.close()


# What GET says of a state, and the last event of each recipient on the form API.
WORDS = {"removed": "failed", "discarded": "failed", "handed_on": "queued"}
FORM = {"delivered": "delivered", "bounced": "failed", "expired": "failed",
        "removed": "failed", "discarded": "failed", "deferred": "failed"}  # fmt: skip


def told(deliveries, email_id, *states):
    """Waits until the email has these states and all interfaces agree on it. What is deferred is
    tried again each second, and on a busy machine it takes longer to ask all of them."""
    deliveries.wait(email_id, *states)
    pids = list(workers_of(deliveries.box, "qmgr")) if "deferred" in states else []
    kill_all(pids, signal.SIGSTOP)
    try:
        wait_for(f"the same of {email_id}", lambda: compare(deliveries, email_id, states))
    finally:
        kill_all(pids, signal.SIGCONT)


def compare(deliveries, email_id, states):
    httpd = deliveries.box.httpd()
    found = [one["state"] for one in httpd.read(email_id)["recipients"]]
    assert found == [WORDS.get(state, state) for state in states]
    shown = deliveries.box.cli("email", "show", email_id)
    assert [one["state"] for one in shown["recipients"]] == list(states)
    events = shown["events"]
    listed = httpd.request("GET", f"/emails/{email_id}/events?limit=100").json()["data"]
    form = httpd.request(
        "GET", f"/v3/example.com/events?limit=300&message-id={message_id(deliveries, email_id)}",
        headers={"Authorization": None}, auth=("api", httpd.key),
    ).json()["items"]  # fmt: skip

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


def message_id(deliveries, email_id):
    [(found,)] = deliveries.rows("SELECT message_id FROM email WHERE id = ?", email_id)
    return found.strip("<>")


def kinds(deliveries, email_id):
    return sorted(kind for kind, _, _ in deliveries.events(email_id))


def add_service(deliveries, *lines):
    with (deliveries.box.dir / "postfix/master.cf").open("a") as file:
        file.write("\n".join([*lines, ""]))


def aliases(deliveries, text):
    """Sets aliases of local(8), for host.test."""
    path = deliveries.box.dir / "aliases"
    path.write_text(text)
    path.chmod(0o644)
    deliveries.box.dir.chmod(0o755)
    deliveries.box.postconf(f"alias_maps = texthash:{path}")
    deliveries.box.postconf("mydestination = host.test")
    deliveries.route("host.test", "local:")


def alias(deliveries, row):
    """Sets a virtual alias."""
    deliveries.box.postconf(f"virtual_alias_maps = inline:{{ {{{row}}} }}")


def filter_by_pipe(deliveries, body, *options):
    """A content filter that gets SENDER, RECIPIENTS and the message, and has send()."""
    host, port = deliveries.box.add_smtpd(
        "content_filter=", "receive_override_options=no_milters", *options
    ).split(":")
    script = deliveries.box.dir / "filter"
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
    deliveries.box.dir.chmod(0o755)
    add_service(
        deliveries,
        "filter unix - n n - 10 pipe flags=Rq user=nobody"
        f" argv={script} ${{sender}} ${{recipient}}",
    )
    deliveries.box.postconf("content_filter = filter:dummy")


def filter_by_smtp(deliveries, on_message):
    back = deliveries.box.add_smtpd("content_filter=", "receive_override_options=no_milters")
    server = SmtpFilter(back, on_message)
    deliveries.box.postconf(f"content_filter = smtp:[127.0.0.1]:{server.port}")


def give_back(recipients, send):
    return send(*recipients)


def give_back_later(recipients, send):
    threading.Timer(2, lambda: send(*recipients)).start()
    return "2.0.0 Ok"


def test_alias_that_is_deferred_and_then_expires(deliveries):
    """The delivery to one of two members does not settle the recipient."""
    alias(deliveries, "team@remote.test = fine@remote.test, later@remote.test")
    deliveries.reload()
    email_id = deliveries.send(address("team"))
    told(deliveries, email_id, "deferred")
    assert deliveries.remote.taken == [address("fine")]
    deliveries.box.postconf("maximal_queue_lifetime = 2s")
    deliveries.reload()
    wait_for(
        "Postfix to give it up",
        lambda: deliveries.states(email_id) == ["expired"] or deliveries.box.flush(),
    )
    told(deliveries, email_id, "expired")
    assert {"delivered", "deferred", "expired"} <= set(kinds(deliveries, email_id))


def test_fifty_members(deliveries):
    """Every line is an event."""
    members = [address(f"m{i}") for i in range(49)] + [address("later")]
    deliveries.box.postconf(
        f"virtual_alias_maps = inline:{{ {{all@remote.test = {' '.join(members)}}} }}"
    )
    deliveries.box.postconf("virtual_alias_expansion_limit = 100")
    deliveries.reload()
    email_id = deliveries.send(address("all"))
    told(deliveries, email_id, "deferred")
    wait_for("all members", lambda: len(deliveries.remote.taken) == 49)
    wait_for("their events", lambda: kinds(deliveries, email_id).count("delivered") == 49)
    deliveries.remote.answers["later"] = b"250 2.1.5 Ok\r\n"
    told(deliveries, email_id, "delivered")
    assert len(deliveries.remote.taken) == 50


def test_aliases_of_aliases(deliveries):
    """Virtual aliases lead to aliases of local(8), which lead to others."""
    aliases(deliveries, "outer: inner@host.test, fine@remote.test\ninner: ok@remote.test, unknown@remote.test\n"
                   "good: fine@remote.test, ok@remote.test\n".replace(": ", " "))  # fmt: skip
    deliveries.box.postconf(
        "virtual_alias_maps = inline:{ {v@remote.test = outer@host.test},"
        " {g@remote.test = good@host.test, fine@remote.test} }"
    )
    deliveries.reload()
    for send in (deliveries.send, deliveries.send_by_smtp):
        told(deliveries, send(address("v"), address("g")), "bounced", "delivered")


def test_filter_that_splits_drops_and_adds(deliveries):
    """Each recipient has its own status; one that was not returned is never
    delivered."""
    filter_by_pipe(
        deliveries,
        "for one in RECIPIENTS:\n"
        "    if not one.startswith('lost'):\n"
        "        send(one)\n"
        "send(RECIPIENTS[0].replace('@', '-copy@'))\n",
    )
    deliveries.reload()
    email_id = deliveries.send(address("fine"), address("unknown"), address("lost"), address("later"))
    deliveries.wait(email_id, "delivered", "bounced", "handed_on", "deferred")
    deliveries.remote.answers["later"] = b"250 2.1.5 Ok\r\n"
    # All messages are gone, and what was added may be what became of it.
    told(deliveries, email_id, "delivered", "bounced", "unknown", "delivered")


@pytest.mark.parametrize("how", ["smtp", "smtp-twice", "pipe-later"])
def test_filter_and_aliases(deliveries, how):
    """Aliases behind the filter, whether it names the message that it returns or
    not."""
    aliases(deliveries, "list ok@remote.test, later@remote.test\n")
    alias(deliveries, "team@remote.test = fine@remote.test, unknown@remote.test")
    if how == "smtp":
        filter_by_smtp(deliveries, give_back)
    elif how == "smtp-twice":
        filter_by_smtp(deliveries, lambda to, send: send(*to) and send(*to))
    else:
        filter_by_pipe(deliveries, "later()\nsend(*RECIPIENTS)\n")
    deliveries.reload()
    recipients = (address("team"), "list@host.test", address("ok"))
    emails = [deliveries.send(*recipients), deliveries.send_by_smtp(*recipients)]
    for email_id in emails:
        told(deliveries, email_id, "bounced", "deferred", "delivered")
    deliveries.remote.answers["later"] = b"550 5.1.1 Nobody\r\n"
    for email_id in emails:
        wait_for(
            "Postfix to try again",
            lambda: deliveries.states(email_id)[1] == "bounced" or deliveries.box.flush(),
        )
        told(deliveries, email_id, "bounced", "bounced", "delivered")
    assert set(deliveries.remote.taken) == {address("fine"), address("ok")}


def test_two_filters(deliveries):
    """A program returns the email to a service that passes it to a server."""
    back = deliveries.box.add_smtpd("content_filter=", "receive_override_options=no_milters")
    server = SmtpFilter(back, give_back_later)
    filter_by_pipe(
        deliveries, "later()\nfor one in RECIPIENTS:\n    send(one)\n",
        f"content_filter=smtp:[127.0.0.1]:{server.port}")  # fmt: skip
    alias(deliveries, "team@remote.test = fine@remote.test, unknown@remote.test")
    deliveries.reload()
    email_id = deliveries.send(address("team"), address("ok"), address("later"))
    told(deliveries, email_id, "bounced", "delivered", "deferred")
    assert sorted(set(deliveries.remote.taken)) == [address("fine"), address("ok")]


@pytest.mark.submission("smtp")
def test_filter_that_gives_back_by_sendmail(deliveries):
    """The filter returns the email long after its own message is gone."""
    box = deliveries.box
    spool = box.dir / "spool"
    spool.mkdir()
    spool.chmod(0o777)
    filter_by_pipe(
        deliveries,
        "import json, tempfile\n"
        f"with tempfile.NamedTemporaryFile(dir='{spool}', prefix='new.', delete=False) as out:\n"
        "    out.write(json.dumps([SENDER, RECIPIENTS]).encode() + b'\\n' + message)\n"
        "os.rename(out.name, out.name.replace('new.', 'whole.'))\n")  # fmt: skip
    box.postconf("content_filter =")
    for setting in ("postern/unix/content_filter=filter:dummy",
                    "pickup/unix/receive_override_options=no_milters"):
        subprocess.run(["postconf", "-c", box.env["POSTFIX_CONFIG"], "-P", setting],
                       check=True, timeout=60)
    alias(deliveries, "team@remote.test = fine@remote.test, unknown@remote.test")
    deliveries.reload()
    email_id = deliveries.send(address("team"), address("ok"))
    [whole] = wait_for("the filter", lambda: list(spool.glob("whole.*")))
    told(deliveries, email_id, "handed_on", "handed_on")
    log = box.dir / "log/postfix.log"
    wait_for("its end", lambda: f"{deliveries.queue_id(email_id)}: removed" in log.read_text())
    head, _, message = whole.read_bytes().partition(b"\n")
    sender, recipients = json.loads(head)
    subprocess.run(
        ["sendmail", "-C", box.env["POSTFIX_CONFIG"], "-G", "-i", "-f", sender, "--", *recipients],
        input=message, check=True, timeout=60)  # fmt: skip
    told(deliveries, email_id, "bounced", "delivered")
    assert sorted(set(deliveries.remote.taken)) == [address("fine"), address("ok")]


def test_waits_in_front_of_a_filter(deliveries):
    """One is removed, one expires, and one is requeued and goes on when the filter takes it."""
    opened = []
    filter_by_smtp(
        deliveries, lambda to, send: send(*to) if opened else "451 4.3.0 Not yet")  # fmt: skip
    alias(deliveries, "team@remote.test = fine@remote.test, later@remote.test")
    deliveries.reload()
    removed, requeued, expired = (deliveries.send(address("team"), address("ok")) for _ in range(3))
    for email_id in (removed, requeued, expired):
        told(deliveries, email_id, "deferred", "deferred")
    postsuper(deliveries, "-d", last_message(deliveries, removed))
    told(deliveries, removed, "removed", "removed")
    requeue(deliveries, requeued)
    told(deliveries, requeued, "deferred", "deferred")
    hold = last_message(deliveries, requeued)
    postsuper(deliveries, "-h", hold)
    expire(deliveries, expired)
    told(deliveries, expired, "expired", "expired")
    assert deliveries.remote.taken == []
    deliveries.box.postconf("maximal_queue_lifetime = 5d")
    deliveries.reload()
    opened.append(True)
    postsuper(deliveries, "-H", hold)
    wait_for(
        "Postfix to hand it on",
        lambda: address("ok") in deliveries.remote.taken or deliveries.box.flush(),
    )
    told(deliveries, requeued, "deferred", "delivered")
    deliveries.remote.answers["later"] = b"550 5.1.1 Nobody\r\n"
    wait_for(
        "Postfix to try again",
        lambda: deliveries.states(requeued)[0] == "bounced" or deliveries.box.flush(),
    )
    told(deliveries, requeued, "bounced", "delivered")
    assert sorted(deliveries.remote.taken) == [address("fine"), address("ok")]


def test_smtp_filter_that_splits_drops_and_adds(deliveries):
    """The filter names one of its returned messages for all recipients."""

    def split(recipients, send):
        for one in recipients:
            if one != address("lost"):
                send(one)
        return send(address("added"))

    filter_by_smtp(deliveries, split)
    deliveries.reload()
    email_id = deliveries.send(address("fine"), address("unknown"), address("lost"), address("later"))
    wait_for("all others", lambda: len(deliveries.remote.taken) == 2)
    deliveries.remote.answers["later"] = b"250 2.1.5 Ok\r\n"
    wait_for(
        "Postfix to try again",
        lambda: deliveries.states(email_id)[3] == "delivered" or deliveries.box.flush(),
    )
    told(deliveries, email_id, "delivered", "bounced", "unknown", "delivered")


# What a remote server says with a lie in it, and what comes of it; a lie has no code.
LIES = {
    "connection": ({b"CONN": "220 {lie}\r\n"}, "delivered"),
    "connection refused": ({b"CONN": "554 5.7.1 {lie}\r\n"}, "deferred"),
    "EHLO": ({b"EHLO": "250-{lie}\r\n250-8BITMIME {lie}\r\n250 DSN {lie}\r\n"}, "delivered"),
    "EHLO refused": ({b"EHLO": "550 5.0.0 {lie}\r\n", b"HELO": "550 {lie}\r\n"}, "bounced"),
    "MAIL": ({b"MAIL": "250 {lie}\r\n"}, "delivered"),
    "MAIL refused": ({b"MAIL": "550 2.0.0 {lie}\r\n"}, "bounced"),
    "MAIL later": ({b"MAIL": "450 5.1.1 {lie}\r\n"}, "deferred"),
    "RCPT refused": ({b"RCPT": "550-2.1.5 {lie}\r\n550 2.1.5 {lie}\r\n"}, "bounced"),
    "DATA refused": ({b"DATA": "554 2.0.0 {lie}\r\n"}, "bounced"),
    "DATA later": ({b"DATA": "451 {lie}\r\n"}, "deferred"),
    "end": ({b"END": "250 5.7.1 {lie}\r\n"}, "delivered"),
    "end refused": ({b"END": "550-2.0.0 {lie}\r\n550 2.0.0 {lie}\r\n"}, "bounced"),
    "end later": ({b"END": "450 2.0.0 {lie}\r\n"}, "deferred"),
    "QUIT": ({b"QUIT": "221 {lie}\r\n"}, "delivered"),
}
LIE = {
    "handed on": "Ok: queued as {id}",
    "forwarded": "forwarded as {id}",
    "another end": "status=sent (250 2.0.0 Ok) {id}: to=<unknown@remote.test>, relay=none, delay=1,"
    " delays=0/0/0/1, dsn=2.0.0, status=sent (250 2.0.0 Ok)",
    "another line": "Nov 22 10:00:00 mail postfix/smtp[1]: {id}: to=<unknown@remote.test>,"
    " relay=r[192.0.2.1]:25, delay=1, delays=0/0/0/1, dsn=2.0.0, status=sent (250 ok)",
    "removed": "x\x00\x07 postfix/qmgr[1]: {id}: removed",
    "expired": "postfix/qmgr[1]: {id}: from=<hello@example.com>, status=expired, returned to sender",
}


def test_lies_of_the_remote(deliveries):
    """Lies in any reply change neither the server's own email nor the one whose queue
    id it names. Each lie in each reply is that of a server of its own."""
    deliveries.box.stop("events")
    # Once is enough: what is put off waits.
    deliveries.box.postconf("minimal_backoff_time = 300s", "maximal_backoff_time = 300s")
    servers = {(lie, reply): Remote() for lie in LIE for reply in LIES}
    domains = {key: f"r{i}.test" for i, key in enumerate(servers)}
    deliveries.route_all({
        domain: f"smtp:[127.0.0.1]:{servers[key].port}" for key, domain in domains.items()})
    deliveries.reload()
    named = {lie: deliveries.send(address("unknown")) for lie in LIE}
    for (lie, reply), server in servers.items():
        wait_for("its message", lambda lie=lie: deliveries.queue_id(named[lie]))
        text = LIE[lie].format(id=deliveries.queue_id(named[lie]))
        server.replies = {
            verb: line.format(lie=text).encode() for verb, line in LIES[reply][0].items()}
    sent = {key: deliveries.send(f"fine@{domain}") for key, domain in domains.items()}
    log = deliveries.box.dir / "log/postfix.log"

    def all_are_tried():
        lines = log.read_text(errors="replace")
        return all(f"to=<fine@{domain}>" in lines for domain in domains.values())

    wait_for("all attempts", all_are_tried)
    deliveries.box.start("events")
    for (lie, reply), email_id in sent.items():
        state = LIES[reply][1]
        deliveries.wait(email_id, state)
        assert bool(servers[lie, reply].taken) == (state == "delivered"), (lie, reply)
    for email_id in named.values():
        told(deliveries, email_id, "bounced")
    for server in servers.values():
        server.close()


def test_service_with_a_name_of_its_own(deliveries):
    add_service(deliveries, "slow unix - - n - - smtp", "    -o syslog_name=postfix-slow")
    deliveries.route("slow.test", f"slow:[127.0.0.1]:{deliveries.remote.port}")
    deliveries.reload()
    email_id = deliveries.send("fine@slow.test", "unknown@slow.test")
    told(deliveries, email_id, "delivered", "bounced")


# Local parts that the log may write in another way.
FORMS = ['"a b"', '"a\\"b"', '"a>, relay=x"', '"a@b"', "Fine.Upper", "a+tag", "a=b", "{a}", "o'a",
         '"(c)"', '"a..b"', "a%b", "#a!b"]


@pytest.mark.parametrize("setting", ["internal", "external"])
def test_formats_of_addresses(deliveries, setting):
    """Each recipient has its own status, however Postfix's log writes addresses. Without SMTPUTF8
    it writes question marks."""
    deliveries.box.postconf(f"info_log_address_format = {setting}", "smtputf8_enable = no",
                            "strict_smtputf8 = no")
    deliveries.reload()
    recipients = [f"{local}@remote.test" for local in FORMS]
    email_id = deliveries.send(*recipients, address("unknown"))
    told(deliveries, email_id, *["delivered"] * len(FORMS), "bounced")
    assert sorted(deliveries.remote.taken) == sorted(recipients)
    log = deliveries.box.dir / "log/postfix.log"
    before = log.stat().st_size
    email_id = deliveries.send("j\u00f6rg@remote.test", address("unknown"))
    told(deliveries, email_id, "delivered", "bounced")
    assert b"j??rg@remote.test" in log.read_bytes()[before:]


@pytest.mark.submission
def test_left_without_the_rules(alone):
    """main.cf is as before Postern, with a relay host: Postfix passes on messages under
    their tickets, and that is reported."""
    box = alone.box
    for setting in ("smtpd_milters =", "non_smtpd_milters =",
                    f"transport_maps = inline:{{ {{* = smtp:[127.0.0.1]:{alone.remote.port}}} }}"):  # fmt: skip
        box.postconf(setting)
    alone.reload()
    box.httpd().post(
        {"from": "hello@example.com", "to": [address("fine")], "text": "Hello"})  # fmt: skip
    wait_for("the ticket", lambda: alone.remote.taken)
    assert alone.remote.taken[0].endswith("@postern.invalid")
    wait_for(
        "its end",
        lambda: alone.rows("SELECT last_event FROM email") == [("failed",)],
    )
    (email_id,) = alone.rows("SELECT id FROM email")[0]
    look_at_once(box, [address("fine")])
    wait_for("the outbox", lambda: alone.rows("SELECT count(*) FROM outbox") == [(0,)])
    assert len(alone.remote.taken) == 1
    metrics = operator(box).request("GET", "/metrics").text
    assert "\npostern_left_without_rules_total 1\n" in metrics
    [one] = box.httpd().read(email_id)["recipients"]
    assert one["state"] == "failed" and "taken" in one["message"]
    assert "without asking postern-milter" in subprocess.run(
        [box.env["POSTERN_CLI"], "-c", box.config, "email", "show", email_id],
        capture_output=True, text=True, check=True, timeout=60).stdout  # fmt: skip
    needs = {i["code"]: i for i in operator(box).ok("GET", "/admin/attention")["data"]}
    assert needs["left_without_rules"]["level"] == "problem"


@pytest.mark.submission
def test_expired_under_its_ticket(alone):
    """Postfix does not ask the milter and gives the message up, in a line that names no
    recipient."""
    box = alone.box
    for setting in ("smtpd_milters =", "non_smtpd_milters =",
                    "maximal_queue_lifetime = 1s", "bounce_queue_lifetime = 1s"):  # fmt: skip
        box.postconf(setting)
    alone.reload()
    box.httpd().post(
        {"from": "hello@example.com", "to": [address("fine")], "text": "Hello"})  # fmt: skip

    def has_bounced():
        box.flush()
        return alone.rows("SELECT last_event FROM email") == [("bounced",)]

    wait_for("its end", has_bounced)
    (email_id,) = alone.rows("SELECT id FROM email")[0]
    assert not alone.remote.taken
    [one] = box.httpd().read(email_id)["recipients"]
    assert one["state"] == "expired"
    assert one["message"].startswith("expired, returned to sender")
    assert "did not ask postern-milter" in one["message"]
    assert "Postfix gave up before it could ask postern-milter" in subprocess.run(
        [box.env["POSTERN_CLI"], "-c", box.config, "email", "show", email_id],
        capture_output=True, text=True, check=True, timeout=60).stdout  # fmt: skip
    needs = {i["code"]: i for i in operator(box).ok("GET", "/admin/attention")["data"]}
    assert needs["expired_without_rules"]["level"] == "problem"


def postsuper(deliveries, option, queue_id):
    subprocess.run(
        ["postsuper", "-c", deliveries.box.env["POSTFIX_CONFIG"], option, queue_id],
        check=True, capture_output=True, timeout=60)  # fmt: skip


def where(deliveries, part):
    """Makes `team` lead to one member who accepts and one who defers, behind that
    part."""
    if part == "alias":
        aliases(deliveries, "team fine@remote.test, later@remote.test\n")
        deliveries.reload()
        return "team@host.test"
    if part == "filter":
        filter_by_pipe(deliveries, "send(*RECIPIENTS)\n")
    if part == "smtp-filter":
        filter_by_smtp(deliveries, give_back)
    alias(deliveries, "team@remote.test = fine@remote.test, later@remote.test")
    deliveries.reload()
    return address("team")


def last_message(deliveries, email_id):
    """Returns the queue id of the waiting message."""

    def waiting():
        deliveries.box.flush()
        queue = [one.name for one in (deliveries.box.dir / "queue/deferred").rglob("*") if one.is_file()]
        known = [row[0] for row in deliveries.rows(
            "SELECT h.queue_id FROM queue_message h JOIN email e ON e.seq = h.email WHERE e.id = ?"
            " AND h.closed_us = 0", email_id)]  # fmt: skip
        return [name for name in queue if name in known]

    return wait_for("the message that waits", waiting)[0]


def requeue(deliveries, email_id):
    before = last_message(deliveries, email_id)
    postsuper(deliveries, "-r", before)
    # pickup looks for what was requeued.
    wait_for(
        "the new id",
        lambda: deliveries.box.flush() or last_message(deliveries, email_id) != before,
    )


def expire(deliveries, email_id):
    deliveries.box.postconf("maximal_queue_lifetime = 2s")
    deliveries.reload()
    wait_for(
        "Postfix to give it up",
        lambda: deliveries.states(email_id)[0] == "expired" or deliveries.box.flush(),
    )


@pytest.mark.parametrize("part", ["parent", "alias", "filter", "smtp-filter"])
def test_removed_requeued_and_expired(deliveries, part):
    """Of three emails an admin removes one, requeues another twice, which is then delivered, and the
    third expires."""
    team = where(deliveries, part)
    removed, requeued, expired = (deliveries.send(team, address("ok")) for _ in range(3))
    for email_id in (removed, requeued, expired):
        deliveries.wait(email_id, "deferred", "delivered")
    postsuper(deliveries, "-d", last_message(deliveries, removed))
    told(deliveries, removed, "removed", "delivered")
    for _ in range(2):
        requeue(deliveries, requeued)
    told(deliveries, requeued, "deferred", "delivered")
    hold = last_message(deliveries, expired)
    postsuper(deliveries, "-h", hold)
    deliveries.remote.answers["later"] = b"250 2.1.5 Ok\r\n"
    wait_for(
        "Postfix to deliver it",
        lambda: address("later") in deliveries.remote.taken or deliveries.box.flush(),
    )
    told(deliveries, requeued, "delivered", "delivered")
    del deliveries.remote.answers["later"]
    postsuper(deliveries, "-H", hold)
    expire(deliveries, expired)
    told(deliveries, expired, "expired", "delivered")
    assert sorted(deliveries.remote.taken) == sorted(
        [address("later"), *[address("fine"), address("ok")] * 3])


def whole_log(box, start):
    """Returns the log from there, once everything in the queue has left it."""
    log = box.dir / "log/postfix.log"

    def lines():
        text = log.read_text()[start:]
        begun = re.findall(r": (\w+): from=.*\(queue active\)", text)
        left = re.findall(r": (\w+): removed", text)
        return begun and set(begun) == set(left) and not box.waiting() and text.splitlines(keepends=True)

    return wait_for("the queue to be empty", lines)


@pytest.mark.parametrize("part", ["alias", "filter"])
def test_message_that_the_log_does_not_tell_of(alone, part):
    """The log lacks the message that carries the email on: the email never becomes
    delivered."""
    box = alone.box
    team = where(alone, part)
    box.stop("events")
    log, copy = box.dir / "log/postfix.log", box.dir / "log/copy.log"
    start = log.stat().st_size
    alone.remote.answers["later"] = b"250 2.1.5 Ok\r\n"
    email_id = alone.send(team)
    wait_for("both members", lambda: len(alone.remote.taken) == 2)
    lines = whole_log(box, start)
    first = alone.queue_id(email_id)
    copy.write_text("".join(line for line in lines if f" {first}: " in line))
    copy.chmod(0o644)
    box.set("events", "log_file", str(copy))
    box.start("events")
    told(alone, email_id, "handed_on")
    said = show(box, email_id)
    assert said.startswith(
        f"Not yet: this host has handed the email on to an alias or a filter for {team}.")
    assert f"{team}: handed on within this host" in said
    # What the queue has no more is not known after ten minutes.
    alone.write("UPDATE email_recipient SET state = 'unknown'")
    assert show(box, email_id).startswith(
        "Not known: it left Postfix's queue, but its log does not say what became of it for"
        f" {team}.")


def show(box, email_id):
    """Returns `postern email show` as people read it, without its line breaks."""
    done = subprocess.run([box.env["POSTERN_CLI"], "-c", box.config, "email", "show", email_id],
                          capture_output=True, text=True, check=True, timeout=60)
    return " ".join(done.stdout.split())


@pytest.mark.parametrize("second", ["unknown", "fine"])
def test_filter_that_gives_back_twice(deliveries, second):
    """The worse of both counts."""
    filter_by_pipe(
        deliveries,
        f"send(*RECIPIENTS)\nRECIPIENTS[0] = RECIPIENTS[0].replace('other', '{second}')\n"
        "send(*RECIPIENTS)\n",
    )
    deliveries.reload()
    email_id = deliveries.send(address("fine"), address("ok"), address("unknown"))
    told(deliveries, email_id, "delivered", "delivered", "bounced")
    wait_for("both", lambda: len(deliveries.remote.taken) == 4)
    told(deliveries, email_id, "delivered", "delivered", "bounced")


def waits(pid):
    """True if the reader has stored everything and waits: rt_sigtimedwait(2) on x86_64
    or arm64."""
    return Path(f"/proc/{pid}/syscall").read_text().split()[0] in ("128", "137")


def test_reader_killed_between_any_two_lines(alone):
    """Lines that are read again change nothing."""
    box = alone.box
    team = where(alone, "filter")
    box.stop("events")
    log, copy = box.dir / "log/postfix.log", box.dir / "log/copy.log"
    start = log.stat().st_size
    alone.remote.answers["later"] = b"550 5.1.1 Nobody\r\n"
    email_id = alone.send(team, address("ok"))

    wait_for("all recipients", lambda: sorted(alone.remote.taken) == [address("fine"), address("ok")])
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
        states = alone.states(email_id)
        assert "delivered" not in states[:1]
    told(alone, email_id, "bounced", "delivered")
    found = kinds(alone, email_id)
    assert (found.count("delivered"), found.count("bounced")) == (2, 1)
