"""Several hosts that share a store on a server, each with its own Postfix."""

import base64
import itertools
import os
import random
import re
import signal
import socket
import subprocess
import threading
import time
from collections import Counter
from urllib.parse import urlsplit

import pytest
import requests
from harness import Sandbox, wait_for
from harness.admin import operator
from harness.documented import section_of
from harness.httpd import Httpd
from harness.postgresql import Standby
from harness.receiver import Receiver
from harness.sandbox import accepts, free_port, new_email, unique
from harness.submit import plain
from test_metrics import read
from test_restarts import queue_ids
from test_store_server import break_off

pytestmark = pytest.mark.submission("sendmail")

DAEMONS = ("httpd", "milter", "events", "webhook")


class Host(Sandbox):
    """A sandbox whose store is that of the first one."""

    def __init__(self, first, *options):
        self.first = first
        join = ("--store", "postgresql", *(("--join", first.dir) if first else ()))
        super().__init__(*join, *options, parts=("webhook",))
        self.name = self.dir.name
        self.admin = None

    def query(self, sql):
        return self.first.query(sql) if self.first else super().query(sql)

    def kill_postfix(self):
        os.kill(int((self.dir / "queue/pid/master.pid").read_text()), signal.SIGKILL)

    def kill_for_good(self, part):
        self.kill_watch(part)
        self.kill(part)

    def kill_watch(self, part):
        watch = self.dir / "run" / f"{part}.watch"
        if watch.exists():
            os.kill(int(watch.read_text()), signal.SIGKILL)
            watch.unlink()  # another process may get its id

    def kill_daemons(self):
        """For good."""
        for part in (*DAEMONS, "held", "auth"):
            self.kill_watch(part)
        for part in DAEMONS:
            self.kill(part)

    def start_all(self):
        for part in (*DAEMONS, "postfix"):
            self.start(part)


@pytest.fixture(scope="module")
def hosts(request):
    """Three, whose programs hand mail to Postfix in both ways."""
    made = []
    try:
        for method in ("smtp", "sendmail", "smtp"):
            made.append(Host(made[0] if made else None, "--submission", method))
        yield made
    finally:
        for host in reversed(made):
            host.failed = request.session.testsfailed > 0
            host.close()


def states(host):
    """Of all hosts, by name; nothing while the database of a busy machine is slow. By HTTP, since
    tests that wait ask again and again."""
    host.admin = host.admin or operator(host)
    answer = host.admin.request("GET", "/admin/hosts")
    assert answer.status_code in (200, 503), answer.text
    return {one["name"]: one["state"] for one in answer.json().get("data", [])}


def deliveries(hosts, to):
    return [mail for host in hosts for mail in host.sink.now(to=to)]


def is_known(one):
    """Whether the log was read after all that is told of the email."""
    return (one["status_as_of"] or "") > one["recipients"][0]["updated_at"]


def test_every_host_has_every_email(hosts):
    """And says which host has it; what another one's Postfix does with it is told, too, and up
    to when that is known."""
    sent = {}
    for host in hosts:
        one = new_email()
        sent[host.httpd().send(one)] = (host, one["to"])
    for email_id, (owner, to) in sent.items():
        owner.sink.find(to=to)
        for host in hosts:
            wait_for(
                "the delivery to be told",
                lambda: host.httpd().read(email_id)["last_event"] == "delivered",
            )
            assert host.cli("email", "show", email_id)["host"] == owner.name
            wait_for("the host's log to be read", lambda: is_known(host.httpd().read(email_id)))
    for host in hosts:
        assert host.httpd().request("GET", "/emails").json()["status_as_of"]
    # The newest first, of all hosts alike.
    newest = operator(hosts[0]).ok("GET", "/admin/events?kind=delivered&limit=100")["data"]
    assert {one["email_id"]: one["host"] for one in newest if one["email_id"] in sent} == {
        email_id: owner.name for email_id, (owner, _) in sent.items()
    }
    assert hosts[0].query("SELECT count(*) FROM outbox") == "0"


def test_host_of_a_refusal(hosts):
    """The same message is refused at one host and then at another: the queue id is the latter's."""
    for host in hosts[:2]:
        sent = plain(host, "smtp", "boss@example.com", "x@dst.test")
        assert sent.reply[0] == 550
        (row,) = hosts[2].cli("email", "list", "--refused")
        assert (row["host"], row["queue_id"]) == (host.name, sent.queue_id())


def test_link_to_an_attachment(hosts):
    """Leads to it at every host, and so does the message, though it is large."""
    content = os.urandom(100_000)
    files = [{"filename": "a.bin", "content": base64.b64encode(content).decode()}]
    sent = hosts[0].httpd().send(new_email(attachments=files))
    [listed] = hosts[1].httpd().request("GET", f"/emails/{sent}/attachments").json()["data"]
    path = urlsplit(listed["download_url"]).path
    for host in hosts:
        assert host.httpd().request("GET", path).content == content


def test_hosts_are_listed(hosts):
    wait_for("all hosts to be well",
             lambda: states(hosts[0]) == {host.name: "well" for host in hosts})
    stopped = hosts[2]
    stopped.stop("webhook")
    try:
        wait_for("the problem", lambda: states(hosts[0]).get(stopped.name) == "trouble")
        listed = {one["name"]: one for one in hosts[1].cli("hosts")}
        assert "postern-webhook: no heartbeat since" in listed[stopped.name]["problem"]
        assert "in the last 15 seconds" in hosts[0].cli("hosts", "remove", stopped.name, ok=False)
        assert hosts[0].cli("status")["hosts"] == f"3, 2 well; {stopped.name} trouble"
        metrics = read(operator(hosts[0]))
        for host in hosts:
            assert metrics("postern_heartbeat_timestamp_seconds", host=host.name,
                           program="postern-milter")
    finally:
        stopped.start("webhook")
    wait_for("the host to be well", lambda: states(hosts[0]).get(stopped.name) == "well")


def fill_outbox(host, n):
    """Emails that are accepted while its Postfix is away; their recipients by id."""
    host.kill_postfix()
    sent = {}
    while len(sent) < n:
        batch = [new_email() for _ in range(min(50, n - len(sent)))]
        answer = host.httpd().batch(batch)
        assert answer.status_code == 200, answer.text
        for one, made in zip(batch, answer.json()["data"]):
            sent[made["id"]] = one["to"]
    return sent


def recorded(host, sent):
    """Those that its milter has let pass, which only its Postfix can have."""
    ids = ", ".join(f"'{email_id}'" for email_id in sent)
    found = host.query(f"SELECT id FROM email WHERE state = 'sent' AND id IN ({ids})").split()
    return {email_id: sent[email_id] for email_id in found}


@pytest.mark.parametrize("which, removed", [(0, True), (1, False)], ids=["smtp", "sendmail"])
def test_host_dies_with_a_full_outbox(hosts, which, removed):
    """The others send all of it but what its Postfix has. When it comes back it sends nothing
    again, though its maildrop has messages; nor when an admin has removed it meanwhile, after
    which what its Postfix had counts as sent."""
    dead = hosts[which]
    others = [host for host in hosts if host is not dead]
    sent = fill_outbox(dead, 60)
    scheduled = new_email(scheduled_at="in 1 day")
    later = dead.httpd().send(scheduled)
    content = base64.b64encode(os.urandom(700_000)).decode()
    large = new_email(attachments=[{"filename": "a.bin", "content": content}])
    sent[dead.httpd().send(large)] = large["to"]
    dead.kill_daemons()
    own = recorded(dead, sent)
    assert len(own) < len(sent)
    try:
        wait_for("all to be delivered", lambda: all(
            deliveries(others, to) for email_id, to in sent.items() if email_id not in own))
        assert (dead.name, "lost") in {(one["name"], one["state"]) for one in others[0].cli("hosts")}
        assert others[0].query(
            f"SELECT count(*) FROM outbox o JOIN email e ON e.seq = o.email "
            f"WHERE e.id = '{later}' AND o.host <> '{dead.name}'") == "1"
        if removed:
            others[0].cli("hosts", "remove", dead.name)
            assert dead.name not in {one["name"] for one in others[0].cli("hosts")}
            wait_for("all of its outbox to be taken over", lambda: others[0].query(
                f"SELECT count(*) FROM outbox WHERE host = '{dead.name}'") == "0")
    finally:
        dead.start_all()
    wait_for("the host to be well", lambda: states(others[0]).get(dead.name) == "well")
    dead.flush()
    wait_for("its maildrop to be empty", lambda: dead.waiting() == 0)
    new = new_email()
    dead.httpd().send(new)
    dead.sink.find(to=new["to"])
    wait_for("the large one", lambda: deliveries(hosts, large["to"]))
    [mail] = deliveries(hosts, large["to"])
    assert mail.attachments()[0][3] == base64.b64decode(content)
    for email_id, to in sent.items():
        if not removed or email_id not in own:
            wait_for("the delivery", lambda: deliveries(hosts, to))
        assert len(deliveries(hosts, to)) <= 1
        assert dead.httpd().read(email_id)["to"] == [to]


def test_host_stands_still(hosts):
    """A host that only seems to be lost goes on where the others left off."""
    still = hosts[0]
    sent = fill_outbox(still, 30)
    os.kill(still.pid("httpd"), signal.SIGSTOP)
    own = recorded(still, sent)
    try:
        wait_for("all to be delivered", lambda: all(
            deliveries(hosts[1:], to) for email_id, to in sent.items() if email_id not in own))
    finally:
        os.kill(still.pid("httpd"), signal.SIGCONT)
        still.start("postfix")
    wait_for("the log to say so", lambda: "outbox_was_taken_over" in still.log("httpd"))
    new = new_email()
    still.httpd().send(new)
    wait_for("the new one to be delivered", lambda: deliveries(hosts, new["to"]))
    for to in sent.values():
        wait_for("the delivery", lambda: deliveries(hosts, to))
        assert len(deliveries(hosts, to)) == 1


def test_idempotency_key(hosts):
    """One email, whoever is asked, at the same time or later."""
    for _ in range(10):
        one, key = new_email(), {"Idempotency-Key": unique("key")}
        answers = []

        def post(host):
            answers.append(host.httpd().post(one, headers=key))

        threads = [threading.Thread(target=post, args=(host,)) for host in hosts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        taken = {a.json()["id"] for a in answers if a.status_code == 200}
        assert len(taken) == 1, [a.text for a in answers]
        assert {a.status_code for a in answers} <= {200, 409}
        for host in hosts:
            assert host.httpd().post(one, headers=key).json()["id"] in taken
        wait_for("the delivery", lambda: deliveries(hosts, one["to"]))
        assert len(deliveries(hosts, one["to"])) == 1


@pytest.fixture
def endpoint():
    receiver = Receiver()
    yield receiver
    receiver.close()


def hook(host, endpoint):
    return host.cli("webhook", "add", "--company", company_of(host), "--endpoint", endpoint.url,
                    "--events", "email.delivered")["id"]


def company_of(host):
    return host.query("SELECT company_id FROM domain WHERE name = 'example.com'")


def test_each_webhook_event_is_sent_once(hosts, endpoint):
    """Although every host has a postern-webhook; by another one when the one that sends dies."""
    made = hook(hosts[0], endpoint)

    def send(n):
        return {host.httpd().send(new_email()) for host in hosts for _ in range(n)}

    def told(ids):
        return ids <= {one.event["data"]["email_id"] for one in list(endpoint.deliveries)}

    try:
        sent = send(3)
        wait_for("all to be told", lambda: told(sent))
        # Emails of tests before may be delivered now.
        ids = [one.event["data"]["email_id"] for one in list(endpoint.deliveries)]
        assert sorted(one for one in ids if one in sent) == sorted(sent)
        wait_for("the end of the lease",
                 lambda: hosts[0].query("SELECT count(*) FROM webhook_lease") == "0")
        endpoint.answer = lambda delivery, request: 500
        more = send(2)
        wait_for("a lease", lambda: hosts[0].query("SELECT count(*) FROM webhook_lease") == "1")
        holder = hosts[0].query("SELECT host FROM webhook_lease")
        [holder] = [host for host in hosts if host.name == holder]
        holder.stop("webhook")
        try:
            endpoint.answer = lambda delivery, request: 200
            wait_for("all to be told by another", lambda: hosts[0].query(
                f"SELECT count(*) FROM webhook_event WHERE webhook_id = '{made}' AND due_us > 0"
            ) == "0" and told(more))
            assert holder.name != hosts[0].query("SELECT coalesce(min(host), '') FROM webhook_lease")
        finally:
            holder.start("webhook")
    finally:
        hosts[0].cli("webhook", "remove", made)


class Clients:
    """Threads that send one email after another, each with a key, through host after host until
    one answers 200. What they wait for takes a minute at times: they are not in a hurry."""

    def __init__(self, hosts, n=3, may_repeat=(503,)):
        self.hosts = hosts
        self.may_repeat = may_repeat
        self.sent = {}  # id by recipient
        self.refused = 0
        self.broken = []
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self._run) for _ in range(n)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        for thread in self.threads:
            thread.join()

    def _run(self):
        clients = itertools.cycle([host.httpd() for host in self.hosts])
        for _ in range(random.randrange(len(self.hosts))):
            next(clients)
        while not self.stopping.is_set() and not self.broken:
            self._send(new_email(), clients)
            self.stopping.wait(0.3)

    def _send(self, one, clients):
        key = {"Idempotency-Key": unique("key")}
        deadline = time.monotonic() + 180
        for client in clients:
            try:
                answer = client.session.post(
                    client.url + "/emails", json=one, headers=key, timeout=120)
            except requests.RequestException:
                answer = None
            if answer is not None and answer.status_code == 200:
                self.sent[one["to"]] = answer.json()["id"]
                return
            self.refused += 1
            if answer is not None and answer.status_code not in (409, *self.may_repeat):
                self.broken.append(answer.text)
                return
            if time.monotonic() > deadline:
                self.broken.append("nobody answers")
                return
            time.sleep(0.05)

    def wait_for(self, n=8):
        """Waits until n more emails are accepted."""
        goal = len(self.sent) + n
        wait_for(f"{n} emails to be accepted", lambda: len(self.sent) >= goal or self.broken)
        assert self.broken == []


class Follower:
    """Reads the events of the domain, page by page, each at the next of these hosts."""

    def __init__(self, hosts):
        self.clients = itertools.cycle([host.httpd() for host in hosts])
        self.key = hosts[0].env["POSTERN_KEY"]
        self.events = []  # (event, email, id of the event)
        self.broken = []
        self.stopping = threading.Event()
        self.thread = threading.Thread(
            target=self._run, args=(f"/v3/example.com/events?begin={time.time()!r}&limit=10",))
        self.thread.start()

    def _run(self, path):
        for client in self.clients:
            if self.stopping.is_set():
                return
            try:
                answer = client.session.get(
                    client.url + path, headers={"Authorization": None}, auth=("api", self.key),
                    timeout=60)
            except requests.RequestException:
                continue
            if answer.status_code == 200:
                items = answer.json()["items"]
                self.events += [
                    (one["event"], one["message"]["headers"]["message-id"].split("@")[0], one["id"])
                    for one in items]
                path = urlsplit(answer.json()["paging"]["next"]).path
                if items:
                    continue
            elif answer.status_code != 503:
                self.broken.append(answer.text)
                return
            self.stopping.wait(0.5)

    def close(self):
        self.stopping.set()
        self.thread.join()


def kill_daemons(hosts, n):
    """At random, each of which comes back."""
    for _ in range(n):
        host, part = random.choice(hosts), random.choice(DAEMONS)
        wait_for("the part to be there", lambda: host.pid(part))
        old = host.pid(part)
        host.kill(part)
        host.wait_for_new(part, old)


def check_sent_once(hosts, sent, dead=None):
    """And every host knows every email. A Postfix that was killed may deliver a message of its
    queue again."""
    clients = [host.httpd() for host in hosts]
    for to, email_id in sent.items():
        wait_for("the delivery", lambda: deliveries(hosts, to))
        assert len(queue_ids(deliveries(hosts, to))) == 1, to
        others = [host for host in hosts if host is not dead]
        assert len(deliveries(others, to)) <= 1, to
        for client in clients:
            answer = wait_for("the database", lambda: not_busy(client, email_id))
            assert answer.json()["to"] == [to]


def not_busy(client, email_id):
    """The answer, unless the database of a busy machine took longer than requests wait for it."""
    answer = client.session.get(f"{client.url}/emails/{email_id}", timeout=180)
    assert answer.status_code in (200, 503), answer.text
    return answer if answer.status_code == 200 else None


def test_daemons_die_under_load(hosts):
    """Clients that repeat with their keys, wherever, have each email sent once."""
    with Clients(hosts) as clients:
        kill_daemons(hosts, 8)
        clients.wait_for()
    assert clients.broken == []
    check_sent_once(hosts, clients.sent)


class LoadBalancer:
    """HAProxy as doc/SCALING.md has it, but for addresses and TLS."""

    def __init__(self, hosts, folder):
        self.url = f"http://127.0.0.1:{free_port()}"
        self.key = hosts[0].env["POSTERN_KEY"]
        self.control = folder / "control"
        config = folder / "haproxy.cfg"
        config.write_text(self._config(hosts))
        subprocess.run(["haproxy", "-c", "-f", config], check=True, capture_output=True, timeout=60)
        self.haproxy = subprocess.Popen(["haproxy", "-db", "-f", config])

    def _config(self, hosts):
        [shown] = section_of("doc/SCALING.md", "3. Two or three hosts behind a load balancer")[1]
        shown, n = re.subn("bind :443 .*", f"bind {urlsplit(self.url).netloc}", shown)
        shown, servers = re.subn(r"(?m)^ *server .*\n", "", shown)
        assert (n, servers) == (1, 2)
        lines = [f"    server {host.name} {urlsplit(host.url).netloc}\n" for host in hosts]
        # Of Debian's file what has to be there. A busy host is slow, and is not taken out for it.
        package = (f"global\n    stats socket {self.control}\n"
                   "defaults\n    timeout connect 5s\n    timeout client 120s\n    timeout server 120s\n"
                   "    timeout check 60s\n")
        return package + shown + "".join(lines)

    def httpd(self):
        return Httpd(self.url, self.key)

    def is_up(self, host):
        """What its checks say."""
        with socket.socket(socket.AF_UNIX) as control:
            try:
                control.connect(str(self.control))
            except (FileNotFoundError, ConnectionRefusedError):
                return None
            control.sendall(b"show stat\n")
            lines = control.makefile().read().splitlines()
        [row] = [line.split(",") for line in lines if line.startswith(f"postern,{host.name},")]
        return row[17] == "UP"

    def read(self, email_id, alive):
        """Gets the email from one of the hosts that are alive. On a busy machine a host answers 503
        when the database is slow, as JSON; HAProxy does only while it counts all of them as down."""
        client = self.httpd()

        def answer():
            was_up = any(self.is_up(host) for host in alive)
            got = client.session.get(f"{self.url}/emails/{email_id}", timeout=180)
            if got.status_code == 503 and got.headers["Content-Type"].startswith("text/html"):
                assert not (was_up and any(self.is_up(host) for host in alive)), got.text
            else:
                assert got.status_code in (200, 503), got.text
            return got.status_code == 200

        wait_for("an answer", answer)

    def close(self):
        self.haproxy.terminate()
        self.haproxy.wait(180)


@pytest.fixture
def balancer(hosts, tmp_path):
    made = LoadBalancer(hosts, tmp_path)
    try:
        yield made
    finally:
        made.close()


def test_behind_a_load_balancer(hosts, balancer):
    """A host whose httpd is killed is not noticed by those that only read, and by those that
    send in no other way than that they repeat a request. One that is not ready gets no requests
    until it is."""
    wait_for("all to be up", lambda: all(balancer.is_up(host) for host in hosts))
    killed, unready, _ = hosts
    with Clients([balancer], may_repeat=(502, 503)) as clients:
        clients.wait_for()
        killed.kill_for_good("httpd")
        # It still accepts connections until the kernel has ended it.
        wait_for("its end", lambda: not accepts(urlsplit(killed.url).netloc))
        email_id = next(iter(clients.sent.values()))
        try:
            for _ in range(10):
                balancer.read(email_id, hosts[1:])
            wait_for("the checks to tell", lambda: not balancer.is_up(killed))
            clients.wait_for()
        finally:
            killed.start("httpd")
        wait_for("it to be back", lambda: balancer.is_up(killed))
        unready.stop("milter")
        try:
            wait_for("the checks to tell", lambda: not balancer.is_up(unready))
            clients.wait_for()
        finally:
            unready.start("milter")
        wait_for("it to be back", lambda: balancer.is_up(unready))
    assert clients.broken == []
    for host in hosts:
        host.flush()
    check_sent_once(hosts, clients.sent)


def test_everything_dies_under_load(hosts, endpoint):
    """Daemons, a host, the primary of the database, daemons again: each email that was answered
    200 is delivered once, each host tells each event once, and each is told to the webhook.
    The last test here: the hosts have another server afterwards."""
    standby = Standby(hosts[0])
    url = f"postgresql:///postern?host={standby.primary},{standby.folder}&user=postern"
    followers = []
    try:
        for host in hosts:
            host.set("store", "url", url)
            for part in DAEMONS:
                host.restart(part)
        hook(hosts[0], endpoint)
        followers = [Follower([host]) for host in hosts] + [Follower(hosts)]
        dead = random.choice(hosts)
        left = [host for host in hosts if host is not dead]
        with Clients(hosts) as clients:
            clients.wait_for()
            kill_daemons(hosts, 5)
            dead.kill_postfix()
            dead.kill_daemons()
            clients.wait_for()
            refused = clients.refused
            break_off(hosts[0])
            wait_for("requests to be refused", lambda: clients.refused > refused + 3)
            standby.promote()
            hosts[0].server = standby.folder
            clients.wait_for()
            kill_daemons(left, 5)
            wait_for("the host to be lost", lambda: states(left[0]).get(dead.name) == "lost")
            wait_for("its outbox to be taken over", lambda: hosts[0].query(
                f"SELECT count(*) FROM outbox o JOIN email e ON e.seq = o.email"
                f" WHERE o.host = '{dead.name}' AND e.state = 'staged'") == "0")
            clients.wait_for()
            dead.start_all()
            clients.wait_for()
        assert clients.broken == []
        for host in hosts:
            host.flush()
        check_sent_once(hosts, clients.sent, dead)
        ids = set(clients.sent.values())
        for follower in followers:
            wait_for("every delivery to be told", lambda: follower.broken or ids <= {
                email_id for event, email_id, _ in follower.events if event == "delivered"})
            assert follower.broken == []
            told = Counter(one[:2] for one in follower.events if one[1] in ids)
            twice = {one for one, times in told.items() if times > 1}
            assert [one for one in follower.events if one[:2] in twice] == []
            assert ids == {email_id for event, email_id in told if event == "accepted"}
        wait_for("the webhook to be told", lambda: ids <= {
            one.event["data"]["email_id"] for one in list(endpoint.deliveries)})
        wait_for("the outbox to be empty", lambda: hosts[0].query(
            "SELECT count(*) FROM outbox o JOIN email e ON e.seq = o.email"
            " WHERE e.scheduled_us = 0") == "0")
    finally:
        for follower in followers:
            follower.close()
        standby.stop()
