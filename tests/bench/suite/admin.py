"""The admin listener with a store of 1,000,000 emails: how long its searches and
the overview take, and what ten open dashboards cost the clients of the API."""

import contextlib
import http.client
import json
import random
import socket
import statistics
import threading
import time
import uuid
from urllib.parse import urlencode

from harness import wait_for

from . import get, http as api, items, store
from .mail import Mail
from .process import TICKS, cpu_seconds
from .rounds import Row, compare, number, play, table

EMAILS = 1_000_000
COUNT = 200  # requests of a kind
AIM_MS = 100

DAY_US = 24 * 3600 * 1_000_000
DAYS = 90
DOMAINS = 200
COMPANIES = 20
SENDERS = 5000
RECIPIENTS = 300_000
HOT = "everybody@hot.test"  # gets a tenth of all emails

DASHBOARDS = 10
CONNECTIONS = 16
COST_S = 30  # of a measurement with dashboards, and of one without
# What pages of the dashboard ask for when something has changed, and after how
# many seconds at the earliest, as httpd/web/pages/ has it.
PAGES = {
    "overview": [
        (2, ["/admin/emails?limit=10"]),
        (15, ["/admin/stats?step=hour&since=1d",
              "/admin/attention", "/admin/health", "/admin/hosts"]),
        (60, ["/admin/stats?step=hour&since=1d&by=domain"]),
    ],
    "emails": [(2, ["/admin/emails?limit=50"])],
}  # fmt: skip


def company(n):
    return str(uuid.UUID(int=n + 1, version=4))


def domain(n):
    return f"d{n % DOMAINS}.example"


def recipient(n):
    return HOT if n % 10 == 5 else f"to{n % RECIPIENTS}@r{n % 50}.test"


def sender(n):
    return f"user{n % SENDERS}@{domain(n)}"


# Functions for SQL, which get the number of an email.
FUNCTIONS = {
    "company_of": lambda n: company(n % COMPANIES),
    "key_of": lambda n: str(uuid.UUID(int=10**6 + n % 100, version=4)),
    "domain_of": domain,
    "sender_of": sender,
    "recipient_of": recipient,
    "subject_of": lambda n: f"Invoice {n} of {['May', 'June', 'July'][n % 3]}",
}


def columns(numbers):
    """Emails of ninety days, of which some bounced, wait or were refused."""
    begin = int(time.time() * 1e6) - DAYS * DAY_US
    step = DAYS * DAY_US // len(numbers)
    created = f"{begin} + (n - {numbers.start}) * {step}"
    return {
        # One of them is the sandbox's own, whose the key is.
        "company_id": f"iif(n % {COMPANIES} = 0, company_id, company_of(n))",
        "key_id": "key_of(n)",
        "domain": "domain_of(n)",
        "sender": "sender_of(n)",
        "header_from": "sender_of(n)",
        "subject": "subject_of(n)",
        "created_us": created,
        "decided_us": f"{created} + 20000",
        "queue_id": "printf('%X', 1099511627776 + n)",
        "state": "CASE WHEN n % 500 = 3 THEN 'refused' ELSE 'sent' END",
        "refusal": "CASE WHEN n % 500 = 3 THEN 'key_invalid' END",
        "last_event": "CASE WHEN n % 500 = 3 THEN 'failed'"
        " WHEN n % 100 < 2 THEN 'bounced' WHEN n % 1000 = 10"
        " THEN 'delivery_delayed' ELSE 'delivered' END",
    }


def finish(db, emails):
    """Tags, and the counts of events by hour and domain."""
    bounds = (emails.start, emails.stop)
    db.execute(
        "INSERT INTO email_tag (email, tag, company_id)"
        " SELECT seq, 'newsletter', company_id FROM email"
        " WHERE seq >= ? AND seq < ? AND seq % 20 = 0", bounds
    )  # fmt: skip
    db.execute(
        "INSERT INTO event_count (company_id, hour_us, domain, kind, count)"
        " SELECT company_id, created_us - created_us % 3600000000, domain,"
        " k.kind, count(*) FROM email,"
        " (SELECT 'accepted' AS kind UNION SELECT 'delivered') k"
        " WHERE seq >= ? AND seq < ? GROUP BY 1, 2, 3, 4"
        " ON CONFLICT DO UPDATE SET count = count + excluded.count", bounds
    )  # fmt: skip


def fill(mail, count):
    mail.box.httpd().send(items.email(2000))
    return store.fill(
        mail.database, count, chosen=columns, functions=FUNCTIONS,
        address="recipient_of(new)", finish=finish,
    )  # fmt: skip


def kinds(emails):
    """Targets of each kind, by its name."""
    others = [n for n in emails if n % COMPANIES != 0]
    pick = lambda: random.choice(emails)  # noqa: E731
    other = lambda: random.choice(others)  # noqa: E731

    def search(**words):
        return "/admin/emails?" + urlencode(words)

    def page(n, **words):
        return search(after=store.email_id(n), limit=100, **words)

    old = emails.start + len(emails) // 50
    return {
        "emails, first page": lambda: search(limit=100),
        "emails, any page": lambda: page(pick()),
        "emails of a company, any page": lambda: page(
            (n := other()), company_id=company(n % COMPANIES)
        ),
        "by recipient": lambda: search(to=recipient(pick())),
        "by a recipient of a tenth of all": lambda: search(to=HOT, limit=100),
        "the same, deep": lambda: page(old, to=HOT),
        "by sender": lambda: search(**{"from": sender(pick())}),
        "by a sender that there is not": lambda: search(
            **{"from": f"nobody@{domain(pick())}"}
        ),
        "by subject, which most have": lambda: search(subject="invoice"),
        "by subject, which none has": lambda: search(subject="receipt"),
        "by state: bounced": lambda: search(status="bounced", limit=100),
        "by state: bounced, deep": lambda: page(old, status="bounced"),
        "by state: refused": lambda: search(status="refused"),
        "by state: queued, of which none is": lambda: search(status="queued"),
        "by tag": lambda: search(tag="newsletter", limit=100),
        "by time: an hour": lambda: search(
            since=moment(emails, n := pick()), until=moment(emails, n, 3600)
        ),
        "by recipient, sender and time": lambda: search(
            to=HOT, since=moment(emails, n := pick()), until=moment(emails, n, 86400),
            **{"from": sender(n)},
        ),
        "by key": lambda: search(key_id=FUNCTIONS["key_of"](pick()), limit=100),
        "by key, which has none": lambda: search(key_id=company(10**7)),
        "words: an id": lambda: search(q=store.email_id(pick())),
        "words: a queue id": lambda: search(q=f"{2**40 + pick():X}"),
        "words: an address": lambda: search(q=recipient(pick())),
        "words: a part of a subject": lambda: search(q=f"ice {pick()}"),
        "words: what is nowhere": lambda: search(q="receipt"),
        "one email": lambda: f"/admin/emails/{store.email_id(pick())}",
        "statistics of a day, by hour": lambda: "/admin/stats?step=hour&since=1d",
        "statistics of 7 days, by hour": lambda: "/admin/stats?step=hour&since=7d",
        "statistics of 30 days": lambda: "/admin/stats",
        "the same, by domain": lambda: "/admin/stats?by=domain",
        "statistics of 90 days": lambda: f"/admin/stats?since={DAYS}d",
        "statistics of a domain": lambda: f"/admin/stats?domain={domain(pick())}",
        "statistics of a company": lambda: (
            f"/admin/stats?company_id={company(other() % COMPANIES)}"
        ),
        "refusals": lambda: "/admin/refusals",
        "attention": lambda: "/admin/attention",
        "health": lambda: "/admin/health",
        "metrics": lambda: "/metrics",
    }  # fmt: skip


def moment(emails, n, after_s=0):
    at = time.time() - DAYS * 86400 * (emails.stop - n) / len(emails) + after_s
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def token_of(mail):
    login = f"bench-{uuid.uuid4().hex[:8]}"
    mail.box.cli("user", "add", login, "--no-password", "--role", "viewer")
    return mail.box.cli("token", "create", login, "--name", "bench")["token"]


def address_of(mail):
    return mail.box.env["POSTERN_ADMIN_URL"].removeprefix("http://")


class Admin:
    """A client of the admin listener with one connection."""

    def __init__(self, mail):
        self.connection = http.client.HTTPConnection(address_of(mail), timeout=60)
        self.headers = {"Authorization": f"Bearer {token_of(mail)}"}

    def get(self, target):
        self.connection.request("GET", target, headers=self.headers)
        answer = self.connection.getresponse()
        body = answer.read()
        assert answer.status == 200, body
        return json.loads(body)

    def search(self, words):
        """All pages of a search; how many emails it found."""
        found, after = 0, {}
        while after is not None:
            page = self.get("/admin/emails?" + urlencode({"q": words, "limit": 100, **after}))
            found += len(page["data"])
            behind = page["next"] or (page["has_more"] and page["data"][-1]["id"])
            after = {"after": behind} if behind else None
        return found


def wait_until_indexed(admin):
    """A search of emails that are not in the text index takes longer."""
    unread = lambda: admin.get("/admin/emails?q=receipt")["unread_percent"]  # noqa: E731
    wait_for("the text index", lambda: unread() == 0, patience_s=3600)


def whole_searches(mail, admin, emails, options):
    """A line for each search that goes through all emails, page by page."""
    rounds = max(1, int(20 * options.scale))
    old = emails.start + len(emails) // 50
    for name, words, least in (
        ("words: what is nowhere, all pages", "receipt", 0),
        ("words: a part of an old subject, all pages", f"ice {old}", 1),
    ):
        took_ms = []
        before = cpu_seconds(mail.box.pid("httpd"))
        for _ in range(rounds):
            began = time.monotonic()
            assert admin.search(words) >= least, words
            took_ms.append((time.monotonic() - began) * 1000)
        cpu = (cpu_seconds(mail.box.pid("httpd")) - before) * 1000 / rounds
        yield (
            f"| {name} | | {number(statistics.median(took_ms))}"
            f" | {number(max(took_ms))} | {number(cpu)} |"
        )


def latencies(mail, emails, options):
    """A line for each kind of request."""
    admin = Admin(mail)
    wait_until_indexed(admin)
    client = admin.headers["Authorization"]
    count = max(1, int(COUNT * options.scale))
    yield "| request | aim | p50, ms | p99, ms | CPU, ms |"
    yield "|---|---|---|---|---|"
    for name, target in kinds(emails).items():
        file = items.write(
            mail.path("admin"),
            [items.request("GET", target(), client) for _ in range(count)],
        )
        before = cpu_seconds(mail.box.pid("httpd"))
        found = api.load(address_of(mail), file, 1, count)
        cpu = (cpu_seconds(mail.box.pid("httpd")) - before) * 1000 / count
        p50, p99 = (found[f"{p}_us"] / 1000 for p in ("p50", "p99"))
        marks = "**" if p99 > AIM_MS else ""
        yield (
            f"| {name} | ≤ {AIM_MS} | {number(p50)} | {marks}{number(p99)}{marks}"
            f" | {number(cpu)} |"
        )
    yield from whole_searches(mail, admin, emails, options)


class Dashboards:
    """Open pages, each of another user: each has a stream of changes, and asks
    again for what it shows when something has changed, as httpd/web/live.js has
    it."""

    GAP_MAX_S, GAP_FACTOR = 15, 150

    def __init__(self, mail, n):
        self.tokens = [token_of(mail) for _ in range(n)]
        self.address = address_of(mail)
        self.answers = []  # target and status of each

    def __enter__(self):
        self.over = threading.Event()
        self.answers.clear()
        self.streams = [self._stream(token) for token in self.tokens]
        self.threads = []
        pages = list(PAGES) * len(self.tokens)
        for token, stream, page in zip(self.tokens, self.streams, pages):
            parts = [(threading.Event(), token, *part) for part in PAGES[page]]
            self.threads += [
                threading.Thread(target=self._serve, args=part) for part in parts
            ]
            self.threads.append(
                threading.Thread(target=self._listen, args=(stream, parts))
            )
        for thread in self.threads:
            thread.start()
        shown = sum(
            len(targets)
            for _, page in zip(self.tokens, pages)
            for _, targets in PAGES[page]
        )
        wait_for("the pages", lambda: len(self.answers) >= shown)
        return self

    def __exit__(self, *_):
        self.over.set()
        for stream in self.streams:
            stream.fp.raw._sock.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join()
        failed = [answer for answer in self.answers if answer[1] != 200]
        assert not failed, failed

    def _connection(self, token):
        headers = {"Authorization": f"Bearer {token}"}
        return http.client.HTTPConnection(self.address, timeout=60), headers

    def _stream(self, token):
        connection, headers = self._connection(token)
        connection.request("GET", "/admin/live", headers=headers)
        answer = connection.getresponse()
        assert answer.status == 200, answer.status
        return answer

    def _show(self, connection, headers, targets):
        for target in targets:
            connection.request("GET", target, headers=headers)
            answer = connection.getresponse()
            answer.read()
            self.answers.append((target, answer.status))

    def _listen(self, stream, parts):
        line = b"data:"
        while line:
            if line.startswith(b"data:"):
                for changed, *_ in parts:
                    changed.set()
            line = stream.readline()
        for changed, *_ in parts:
            changed.set()

    def _serve(self, changed, token, gap_s, targets):
        connection, headers = self._connection(token)
        while True:
            changed.wait()
            changed.clear()
            if self.over.is_set():
                break
            began = time.monotonic()
            self._show(connection, headers, targets)
            gap = (time.monotonic() - began) * self.GAP_FACTOR
            self.over.wait(max(gap_s, min(self.GAP_MAX_S, gap)))
        connection.close()


@contextlib.contextmanager
def one_email_a_second(mail):
    """Something changes all the time, or the pages ask for nothing."""
    over = threading.Event()

    def send():
        client = mail.box.httpd()
        while True:
            client.send(items.email(2000))
            if over.wait(1):
                break

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def cost(mail, emails, options):
    """The rates of the API with dashboards over those without, and the CPU time of
    postern-httpd for the same requests: that of the dashboards is in it. While
    nothing but GET is measured, an email a second comes in, with dashboards and
    without."""
    share = min(1, options.scale)
    open_pages = max(len(PAGES), int(DASHBOARDS * share))
    dashboards = Dashboards(mail, open_pages)
    gets = get.requests(mail, [n for n in emails if n % COMPANIES == 0])
    posts = api.json_file(mail, 2000)

    def post(count):
        return api.send(mail, mail.address, posts, CONNECTIONS, count)["taken"]

    def read(count):
        return api.load(mail.address, gets, CONNECTIONS, count)["rate"]

    def read_with_mail(count):
        with one_email_a_second(mail):
            return read(count)

    def lasting(work, tried, first):
        """The work with as many requests as take COST_S, at least the first ones."""
        first = max(CONNECTIONS, int(first * share))
        count = max(first, int(tried(first) * COST_S * options.scale))
        return lambda: work(count)

    works = {
        "POST /emails": lasting(post, post, CONNECTIONS * 10),
        "GET /emails/{id}": lasting(read_with_mail, read, CONNECTIONS * 500),
    }

    def measured(work):
        before = cpu_seconds(mail.box.pid("httpd"))
        rate = work()
        spent = cpu_seconds(mail.box.pid("httpd")) - before
        return {"rate": rate, "cpu": max(spent, 1 / TICKS)}  # what can be seen

    def watched(work):
        with dashboards:
            return measured(work)

    for name, work in works.items():
        played = play(
            {"with": lambda: watched(work), "without": lambda: measured(work)},
            options.rounds,
        )
        row = f"{name}, {open_pages} dashboards open"
        yield compare(played, Row(f"{row}, a second", "rate", "with", "without", 0.97))
        yield compare(
            played,
            Row(f"{row}, CPU s of httpd", "cpu", "with", "without", 1.03, at_most=True),
        )


def run(options):
    count = max(1000, int(EMAILS * min(1, options.scale)))
    with Mail("--submission", options.submission) as mail:
        emails = fill(mail, count)
        yield f"{count:,} emails"
        yield ""
        yield from latencies(mail, emails, options)
        yield ""
        yield from table(cost(mail, emails, options))
