"""GET /v3/{domain}/events and the statistics, as clients of Mailgun use them.

A real moving log is in tests/clients/mailgun.test.mjs.
"""

import base64
import json
import time
from email.utils import formatdate, parsedate_to_datetime
from urllib.parse import quote, urlsplit

import pytest
from harness import wait_for
from harness.deliveries import Deliveries, address
from harness.form import uuid_of
from harness.sandbox import unique


class Log:
    """The events of a domain, read with a key."""

    def __init__(self, box, domain, key):
        self.httpd = box.httpd(key)
        self.domain = domain

    def ask(self, path, **options):
        return self.httpd.request(
            "GET",
            path,
            auth=("api", self.httpd.key),
            **{"headers": {"Authorization": None}, **options},
        )

    def page(self, query="", **options):
        answer = self.ask(f"/v3/{self.domain}/events{query}", **options)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def follow(self, page, name):
        """The page that a member of `paging` names, as the client follows it."""
        answer = self.ask(urlsplit(page["paging"][name]).path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def stats(self, query="", path=None):
        answer = self.ask(f"{path or f'/v3/{self.domain}/stats/total'}{query}")
        assert answer.status_code == 200, answer.text
        return answer.json()


def ids(page):
    return [item["id"] for item in page["items"]]


def post(box, key, domain, **fields):
    answer = box.httpd(key).request(
        "POST",
        f"/v3/{domain}/messages",
        headers={"Authorization": None},
        auth=("api", key),
        data={"from": f"Ann <hello@{domain}>", "text": "Hello", **fields},
    )
    assert answer.status_code == 200, answer.text
    return uuid_of(answer.json()["id"])


def test_what_pollers_read(own_box):
    """Ghost's members of an event, for all that becomes of emails."""
    deliveries = Deliveries(own_box())
    try:
        box = deliveries.box
        key, domain = box.env["POSTERN_KEY"], box.env["POSTERN_DOMAIN"]
        log = Log(box, domain, key)
        email_id = post(
            box, key, domain,
            to=[address("fine"), address("unknown"), address("later")],
            subject="What became", **{"o:tag": ["bulk-email", "second"], "v:email-id": "77"},
        )
        deliveries.wait(email_id, "delivered", "bounced", "deferred")
        page = log.page("?event=delivered+OR+failed&ascending=yes&limit=300")
        by = {item["recipient"]: item for item in page["items"]}
        fine, unknown, later = (by[address(l)] for l in ("fine", "unknown", "later"))
        for item in page["items"]:
            assert item["message"]["headers"]["message-id"] == f"{email_id}@{domain}"
            assert item["message"]["headers"]["subject"] == "What became"
            assert item["user-variables"] == {"email-id": "77"}
            assert item["tags"] == ["bulk-email", "second"]
            assert item["recipient-domain"] == "remote.test"
        assert fine["event"] == "delivered" and "severity" not in fine
        assert fine["delivery-status"]["code"] == 250
        assert (unknown["event"], unknown["severity"]) == ("failed", "permanent")
        assert unknown["delivery-status"]["code"] == 550
        assert unknown["delivery-status"]["enhanced-code"].startswith("5.")
        assert "550" in unknown["delivery-status"]["message"]
        assert (later["event"], later["severity"]) == ("failed", "temporary")
        assert later["delivery-status"]["code"] == 450
        wanted = {
            "event=failed&severity=permanent": ["unknown"],
            "severity=temporary": ["later"],
            "event=delivered": ["fine"],
            "event=opened+OR+clicked": [],
            "event=accepted": ["fine", "later", "unknown"],
            f"recipient={address('fine')}&event=delivered+OR+failed": ["fine"],
            f"recipient={address('fine')}+OR+{address('unknown')}"
            "&event=delivered+OR+failed": ["fine", "unknown"],
            "tags=bulk-email&event=delivered": ["fine"],
            "tags=bulk+OR+SECOND&event=delivered": ["fine"],
            "tags=bulk&event=delivered": [],
            "subject=became&event=delivered": ["fine"],
            "subject=%25&event=delivered": [],
            f"from=hello@{domain}&event=delivered": ["fine"],
            "from=ann&event=delivered": ["fine"],
            'subject="What became"&event=delivered': ["fine"],
            'subject="What OR became"&event=delivered': [],
            'subject="x OR y" OR became&event=delivered': ["fine"],
            "subject='x AND y' OR (z&event=delivered": [],
            f"to={address('later')}&event=delivered": ["fine"],
            f"message-id={email_id}@{domain}&event=delivered": ["fine"],
            f"message-id=%3c{email_id}@{domain}%3e&event=delivered": ["fine"],
            "message-id=x' OR '1'='1&event=delivered": [],
            "list=news@example.com": [],
        }
        for query, locals_ in wanted.items():
            found = {item["recipient"] for item in log.page("?" + query)["items"]}
            assert found == {address(local) for local in locals_}, query
        # The story goes on where `next` stands.
        end = log.follow(page, "next")
        assert [i for i in end["items"] if i["severity"] == "permanent"] == []
        deliveries.remote.answers["later"] = b"250 2.1.5 Ok\r\n"
        deliveries.wait(email_id, "delivered", "bounced", "delivered")
        more = log.follow(end, "next")
        assert more["items"][-1]["event"] == "delivered"
        assert more["items"][-1]["recipient"] == address("later")
        [day] = log.stats("?event=accepted&event=delivered&event=failed&duration=1h")[
            "stats"
        ][-1:]
        assert day["accepted"]["total"] == day["accepted"]["outgoing"] == 3
        assert day["delivered"]["total"] == 2
        assert day["failed"]["permanent"]["total"] == 1
        assert day["failed"]["temporary"]["total"] >= 1
    finally:
        deliveries.remote.close()


@pytest.fixture(scope="module")
def busy(box):
    """A domain with twelve delivered emails, and a stranger's with none."""
    company = box.company()
    domain, other = box.domain(company), box.domain(company)
    key = box.new_key(company)["token"]
    for n in range(12):
        post(box, key, domain, to=f"{unique('to')}@dst.test", subject=f"No. {n}")
    log = Log(box, domain, key)
    log.box, log.company, log.other = box, company, other
    wait_for(
        "all deliveries",
        lambda: len(log.page("?event=delivered")["items"]) == 12,
    )
    return log


@pytest.mark.parametrize("host", ["mail.example.com", "postern_api:8587", "[::1]:8587", ""])
def test_pages_are_on_the_host_that_was_asked(busy, host):
    """Clients send their key there. Names of containers may have underscores."""
    page = busy.page(headers={"Authorization": None, "Host": host})
    url = f"http://{host or 'localhost'}/v3/{busy.domain}/"
    assert all(page.startswith(url) for page in page["paging"].values())


@pytest.mark.parametrize("ascending", ["yes", "no"])
def test_paging(busy, ascending):
    whole = busy.page(f"?limit=300&ascending={ascending}")
    assert len(whole["items"]) == 24
    stamps = [item["timestamp"] for item in whole["items"]]
    assert stamps == sorted(stamps, reverse=ascending == "no")
    first = busy.page(f"?limit=5&ascending={ascending}")
    forward, page = [], first
    while page["items"]:
        forward.append(ids(page))
        page = busy.follow(page, "next")
    assert sum(forward, []) == ids(whole)
    assert [len(part) for part in forward] == [5, 5, 5, 5, 4]
    # Back again from behind the end; the pages end where others began.
    backward = []
    page = busy.follow(page, "previous")
    while page["items"]:
        backward.insert(0, ids(page))
        page = busy.follow(page, "previous")
    assert sum(backward, []) == ids(whole)
    assert ids(busy.follow(page, "next")) == forward[0]
    last = busy.follow(first, "last")
    assert ids(last) == ids(whole)[-5:]
    assert ids(busy.follow(last, "first")) == forward[0]
    assert ids(busy.follow(busy.follow(last, "previous"), "next")) == ids(last)


def test_time_range(busy):
    whole = busy.page("?limit=300&ascending=yes")["items"]
    middle = whole[12]["timestamp"]
    wanted = [i["id"] for i in whole if i["timestamp"] >= middle]
    assert ids(busy.page(f"?begin={middle!r}&ascending=yes")) == wanted
    assert ids(busy.page(f"?begin={middle!r}")) == wanted
    assert ids(busy.page(f"?begin={time.time() + 9}&end={middle!r}")) == wanted[::-1]
    until = [i["id"] for i in whole if i["timestamp"] <= middle]
    assert ids(busy.page(f"?end={middle!r}&ascending=yes")) == until
    assert ids(busy.page(f"?begin={middle!r}&ascending=no")) == until[::-1]
    an_hour_ago = quote(formatdate(time.time() - 3600))
    assert len(busy.page(f"?begin={an_hour_ago}&ascending=yes&limit=300")["items"]) == 24
    assert busy.page(f"?end={an_hour_ago}&ascending=yes")["items"] == []


def test_who_may(busy):
    path = f"/v3/{busy.domain}/events"
    token = urlsplit(busy.page()["paging"]["next"]).path
    box = busy.box
    stranger = Log(box, busy.domain, box.new_key(box.company())["token"])
    bound = Log(box, busy.domain, box.new_key(busy.company, domain=busy.other)["token"])
    sending = Log(box, busy.domain, box.new_key(busy.company, scope="sending")["token"])
    nobody = Log(box, busy.domain, "ps_none")
    for one in (path, token, f"/v3/{busy.domain}/stats/total"):
        for log, status in ((stranger, 404), (bound, 404), (sending, 403), (nobody, 401)):
            answer = log.ask(one)
            assert answer.status_code == status, (one, answer.text)
    # With a domain of its own, another's token shows its own events.
    theirs = box.domain(box.company())
    assert busy.ask(f"/v3/{theirs}/events").status_code == 404
    own = Log(box, busy.other, box.new_key(busy.company)["token"])
    assert own.ask(token.replace(busy.domain, busy.other)).json()["items"] == []
    # Reading alone will do, also for a domain that may not send.
    reading = box.new_key(busy.company, scope="reading", domain=busy.domain)["token"]
    assert len(Log(box, busy.domain, reading).page("?limit=300")["items"]) == 24
    total = Log(box, busy.domain, reading).stats(path="/v3/stats/total")["stats"]
    assert sum(step["delivered"]["total"] for step in total) == 12
    assert (
        sum(s["delivered"]["total"] for s in stranger.stats(path="/v3/stats/total")["stats"])
        == 0
    )


@pytest.mark.parametrize(
    "query, message",
    [
        ("limit=0", "'limit' parameter must be a number from 1 to 300"),
        ("limit=301", "'limit'"),
        ("limit=x", "'limit'"),
        ("ascending=maybe", "'ascending' parameter must be yes or no"),
        ("begin=soon", "'begin' parameter is not a valid time"),
        ("begin=7d", "'begin' parameter is not a valid time"),
        ("end=1e9", "'end' parameter is not a valid time"),
        ("begin=99999999999999999999", "'begin'"),
        ("event=delivered+OR+eaten", "there is no event 'eaten'"),
        ("event=NOT+delivered", "AND and NOT are not supported"),
        ("recipient=a@b.test+AND+c@d.test", "AND and NOT are not supported"),
        ('subject="a"+OR+NOT+"b"', "AND and NOT are not supported"),
        ('subject="a"+AND+"b"', "AND and NOT are not supported"),
        ("severity=fatal", "'severity' parameter must be temporary or permanent"),
        ("subject=%ff", "'subject' parameter is not UTF-8"),
        ("tags=" + 300 * "x", "too long"),
        ("event=failed&event=delivered", "only once"),
        ("attachment=a.pdf", "'attachment' parameter is not supported yet"),
        ("size=%3E1000", "'size' parameter is not supported yet"),
        ("recipients=a@b.test", "'recipients' parameter is not supported yet"),
    ],
)
def test_bad_queries(busy, query, message):
    answer = busy.ask(f"/v3/{busy.domain}/events?{query}")
    assert answer.status_code == 400
    assert message in answer.json()["message"]


@pytest.mark.parametrize(
    "token", ["x", "e30", "bnVsbA", "%00", "eyJsIjoxfQ", "W10", 5000 * "A"]
)
def test_bad_tokens(busy, token):
    answer = busy.ask(f"/v3/{busy.domain}/events/{token}")
    assert answer.status_code == 400, answer.text
    assert answer.json()["message"]


def test_tokens_count_nothing(busy):
    """They name an event as the page does, and have no number that goes up with the
    events of everybody."""
    page = busy.ask(f"/v3/{busy.domain}/events?limit=3").json()
    for name, item in (("next", page["items"][-1]), ("previous", page["items"][0])):
        token = page["paging"][name].rsplit("/", 1)[1]
        told = json.loads(base64.urlsafe_b64decode(token + "=="))
        assert told.pop("v") == item["id"]
        assert item["message"]["headers"]["message-id"].startswith(told.pop("m"))
        assert abs(told.pop("t") / 1e6 - item["timestamp"]) < 1e-3
        assert told == {"b": 0, "e": 0, "a": False, "l": 3, "p": name == "previous", "s": 0}


def test_token_with_extremes(busy):
    """Numbers that a client made up are no reason to fail."""
    some = "00000000-0000-4000-8000-000000000000"
    for b, e, t in ((0, 2**62, 2**62), (2**63 - 1, 0, 5), (5, 2**63 - 1, 2**63 - 1)):
        for p in (True, False):
            text = json.dumps({"b": b, "e": e, "a": p, "l": 300, "p": p, "m": some,
                               "v": some, "t": t, "s": 1 if p else -1})  # fmt: skip
            token = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
            answer = busy.ask(f"/v3/{busy.domain}/events/{token}")
            assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    "query, message",
    [
        ("event=eaten", "there is no event 'eaten'"),
        ("resolution=month", "'resolution' parameter must be hour or day"),
        ("duration=3", "'duration' parameter must be like 12h, 7d or 1m"),
        ("duration=", "'duration'"),
        ("duration=1001d", "more than 1000 steps"),
        ("start=now", "'start' parameter is not a valid time"),
        ("start=2000000000&end=1000000000", "'start' parameter must be before"),
        ("resolution=hour&start=1000000000", "more than 1000 steps"),
    ],
)
def test_bad_stats(busy, query, message):
    answer = busy.ask(f"/v3/{busy.domain}/stats/total?{query}")
    assert answer.status_code == 400
    assert message in answer.json()["message"]


@pytest.mark.parametrize("query, steps", [
    ("duration=1000d", 1001), ("duration=1000h&resolution=hour", 1001),
])  # fmt: skip
def test_longest_stats(busy, query, steps):
    assert len(busy.stats(f"?event=delivered&{query}")["stats"]) == steps


def test_stats_by_hour(busy):
    stats = busy.stats("?event=delivered&event=opened&duration=3h&resolution=hour")
    assert stats["resolution"] == "hour"
    assert len(stats["stats"]) == 4
    times = [parsedate_to_datetime(s["time"]).timestamp() for s in stats["stats"]]
    assert [b - a for a, b in zip(times, times[1:])] == [3600, 3600, 3600]
    assert sum(s["delivered"]["total"] for s in stats["stats"]) == 12
    assert stats["stats"][0]["opened"] == {"total": 0}


def test_rare_events_among_many(own_box):
    """A page is full although it has to pass over many others, and nobody takes
    an empty one for the end."""
    box = own_box()
    key, domain = box.env["POSTERN_KEY"], box.env["POSTERN_DOMAIN"]
    log = Log(box, domain, key)
    for _ in range(2):
        post(box, key, domain, to=f"{unique('to')}@dst.test")
    wait_for("two", lambda: len(log.page("?event=delivered")["items"]) == 2)
    box.sql(
        "WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL"
        " SELECT n + 1 FROM number WHERE n < 24000)"
        " INSERT INTO event (seq, key, email, n, domain, kind, attempt, occurred_us, recorded_us,"
        f" source, company_id) SELECT seq + number.n, substr({box.random_bytes}, 1, 16), email, v.n,"
        " domain, iif(number.n % 6000 <> 0, 'deferred', 'bounced'), 1, occurred_us,"
        " recorded_us + number.n, 'log', company_id FROM number, event v"
        " WHERE seq = (SELECT max(seq) FROM event)"
    )
    box.sql("UPDATE event_last SET seq = (SELECT max(seq) FROM event)")
    page = log.page("?event=failed&severity=permanent&limit=3&ascending=yes")
    assert len(page["items"]) == 3
    page = log.follow(page, "next")
    assert len(page["items"]) == 1
    assert log.follow(page, "next")["items"] == []
    page = log.page("?event=failed&severity=permanent&limit=3")
    assert len(page["items"]) == 3
