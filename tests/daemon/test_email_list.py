"""GET /emails: the sent folder, in pages."""

import pytest
from harness import wait_for
from harness.httpd import check_problem
from harness.sandbox import unique

pytestmark = pytest.mark.store

UNKNOWN_ID = "3c0d6a52-6c7b-4a0a-9b1c-2b5b7f5a8f11"

ITEM = set(
    """object id from to cc bcc reply_to subject created_at last_event message_id
    scheduled_at""".split()
)


class Company:
    """A company of its own with two domains, and what it has sent."""

    def __init__(self, box):
        self.box = box
        self.id = box.company()
        self.domains = [box.domain(self.id), box.domain(self.id)]
        self.httpd = self.client()
        self.sent = []  # newest first

    def client(self, **spec):
        return self.box.httpd(self.box.new_key(self.id, **spec)["token"])

    def send(self, domain=0, **fields):
        email = {
            "from": f"Ann <hello@{self.domains[domain]}>",
            "to": unique("to") + "@dst.test",
            "subject": "x",
            "text": "secret text",
            **fields,
        }
        self.sent.insert(0, self.httpd.send(email))
        return self.sent[0]


def ids(httpd, query=""):
    """The ids of a page, and whether there are more."""
    answer = httpd.request("GET", "/emails" + query)
    assert answer.status_code == 200, answer.text
    page = answer.json()
    assert set(page) == {"object", "has_more", "data", "status_as_of"}
    assert page["object"] == "list"
    return [item["id"] for item in page["data"]], page["has_more"]


@pytest.fixture(scope="module")
def company(box):
    """Has sent seven emails."""
    company = Company(box)
    for _ in range(7):
        company.send()
    return company


def test_nothing_sent(box):
    assert ids(Company(box).httpd) == ([], False)


def test_item(box):
    company = Company(box)
    email_id = company.send(
        cc=["c@dst.test"], bcc="Bob <b@dst.test>", reply_to="r@dst.test",
        tags=[{"name": "a", "value": "b"}],
    )
    wait_for(
        "its delivery",
        lambda: company.httpd.read(email_id)["last_event"] == "delivered",
    )
    whole = company.httpd.read(email_id)
    [item] = company.httpd.request("GET", "/emails").json()["data"]
    assert set(item) == ITEM
    assert item == {name: whole[name] for name in ITEM}
    assert set(whole) == ITEM | {"html", "text", "tags", "recipients", "status_as_of"}


@pytest.mark.parametrize(
    "query, part, more",
    [
        ("", slice(0, 7), False),
        ("?", slice(0, 7), False),
        ("?limit=100", slice(0, 7), False),
        ("?limit=7", slice(0, 7), False),
        ("?limit=6", slice(0, 6), True),
        ("?limit=2&after={0}", slice(1, 3), True),
        ("?limit=2&after={4}", slice(5, 7), False),
        ("?after={6}", slice(7, 7), False),
        ("?limit=2&before={6}", slice(4, 6), True),
        ("?limit=2&before={2}", slice(0, 2), False),
        ("?before={0}", slice(0, 0), False),
    ],
)
def test_pages(company, query, part, more):
    query = query.format(*company.sent)
    assert ids(company.httpd, query) == (company.sent[part], more)


def test_spelling_of_a_cursor(company):
    last = company.sent[1].upper().replace("-", "%2d")
    assert ids(company.httpd, f"?after={last}&limit=1")[0] == [company.sent[2]]


def test_default_limit(box):
    company = Company(box)
    for _ in range(21):
        company.send()
    assert ids(company.httpd) == (company.sent[:20], True)


@pytest.mark.store("sqlite")
@pytest.mark.parametrize(
    "query, message",
    [
        ("limit=0", "The `limit` parameter must be a number between 1 and 100."),
        ("limit=101", "`limit`"),
        ("limit=ten", "`limit`"),
        ("limit=", "`limit`"),
        ("limit=1&limit=1", "The `limit` parameter must be given only once."),
        ("after=x", "The `after` parameter must be a valid UUID."),
        ("before=x", "The `before` parameter must be a valid UUID."),
        (f"after={UNKNOWN_ID}&before={UNKNOWN_ID}", "together"),
        ("after=%zz", "`after`"),
        ("limit=1&%6fther=%41", "The `other` parameter is not known here."),
        ("to%00=a@b.test", "name of a parameter"),
        ("%ff=1", "parameter is not known here."),
        ("to=", "The `to` must be an email address."),
        ("to=a@b.test'--", "`to`"),
        ("to=a@b.test&to=b@b.test", "The `to` parameter must be given only once."),
        ("from=example.com", "The `from` must be an email address."),
        ("subject=", "The `subject` must be text, and not be empty."),
        ("subject=%ff", "`subject`"),
        ("subject=" + 256 * "x", "The `subject` parameter is too long"),
        ("tag=", "`tag`"),
        ("status=opened", "The `status` must be one of scheduled, queued, sent, "),
        ("status=sent'", "`status`"),
        ("since=yesterday", "The `since` parameter must be a time like"),
        ("until=2026-02-30", "`until`"),
        ("until=-1", "`until`"),
        ("until=0", "`until`"),
        (
            f"after={UNKNOWN_ID}",
            "The `after` parameter is not the id of an item of this list.",
        ),
        (
            f"before={UNKNOWN_ID}",
            "The `before` parameter is not the id of an item of this list.",
        ),
    ],
)
def test_bad_parameters(httpd, query, message):
    answer = httpd.request("GET", "/emails?" + query)
    check_problem(answer, 422, "invalid_parameter", message)


class TestFilters:
    """One row for each; store_email_search is tested for itself."""

    @pytest.fixture(scope="class")
    def company(self, box):
        company = Company(box)
        company.send(subject="First of all", to=["Ann <Ann+1@dst.test>"])
        company.send(1, subject="Second & 50%_'", cc=["ann+1@dst.test"])
        company.send(subject="Third", tags=[{"name": "kind", "value": "big"}])
        return company

    @pytest.mark.parametrize(
        "query, part",
        [
            ("to=ann%2b1@DST.test", slice(1, 3)),
            ("to=ann+1@dst.test&limit=1&before={2}", slice(1, 2)),
            ("to=Ann+<ann+1@dst.test>", slice(1, 3)),
            ("subject=of+ALL", slice(2, 3)),
            ("subject=50%25_'", slice(1, 2)),
            ("subject=_", slice(1, 2)),
            ("subject=' OR 1=1 --", slice(0, 0)),
            ("tag=kind", slice(0, 1)),
            ("tag=kind:big", slice(0, 1)),
            ("tag=big", slice(0, 0)),
            ("status=bounced", slice(0, 0)),
            ("since=2020-01-01", slice(0, 3)),
            ("since=2020-01-01T00:00:00%2b02:00&until=2100-01-01", slice(0, 3)),
            ("since=1h", slice(0, 3)),
            ("until=7d", slice(0, 0)),
            ("since=2999-01-01", slice(0, 0)),
        ],
    )
    def test_filter(self, company, query, part):
        query = "?" + query.format(*company.sent)
        assert ids(company.httpd, query)[0] == company.sent[part]

    def test_from(self, company):
        for domain, part in ((0, [0, 2]), (1, [1])):
            query = f"?from=hello@{company.domains[domain]}"
            wanted = [company.sent[n] for n in part]
            assert ids(company.httpd, query)[0] == wanted
            bound = company.client(domain=company.domains[1])
            assert ids(bound, query)[0] == (wanted if domain else [])

    def test_pages(self, company):
        query = "?since=2020-01-01&limit=1"
        first = ids(company.httpd, query)
        assert first == (company.sent[:1], True)
        assert ids(company.httpd, f"{query}&after={company.sent[1]}") == (
            company.sent[2:],
            False,
        )

    def test_stranger(self, box, company):
        stranger = Company(box)
        assert ids(stranger.httpd, "?to=ann%2b1@dst.test") == ([], False)
        answer = stranger.httpd.request(
            "GET", f"/emails?to=ann%2b1@dst.test&after={company.sent[0]}"
        )
        check_problem(answer, 422, "invalid_parameter", "`after`")


def test_another_company_sees_nothing(box, company):
    """Nor does a cursor tell whether an email is there."""
    stranger = Company(box)
    stranger.send()
    assert ids(stranger.httpd) == (stranger.sent, False)
    answers = [
        stranger.httpd.request("GET", f"/emails?after={cursor}")
        for cursor in (company.sent[0], UNKNOWN_ID)
    ]
    for answer in answers:
        check_problem(answer, 422, "invalid_parameter")
    assert answers[0].content == answers[1].content


def test_restricted_key_lists_its_domain_only(box):
    company = Company(box)
    sent = [company.send(domain) for domain in (0, 1, 0, 1, 0)][::-1]
    for n, own in ((0, sent[0::2]), (1, sent[1::2])):
        httpd = company.client(domain=company.domains[n])
        assert ids(httpd) == (own, False)
        assert ids(httpd, f"?limit=1&after={own[0]}") == (own[1:2], n == 0)
        check_problem(
            httpd.request("GET", f"/emails?after={sent[1 - n]}"),
            422,
            "invalid_parameter",
        )


@pytest.mark.store("sqlite")
@pytest.mark.parametrize(
    "scope, message",
    [
        ("sending", "This API key is restricted to only send emails."),
        ("managing", "This API key is not allowed to make this request."),
        ("sending,managing", "This API key is not allowed to make this request."),
    ],
)
def test_key_that_may_not_list(company, scope, message):
    answer = company.client(scope=scope).request("GET", "/emails")
    check_problem(answer, 403, "restricted_api_key", message)


def test_reading_key(company):
    assert ids(company.client(scope="reading"))[0] == company.sent


@pytest.mark.submission("sendmail")  # by SMTP nothing is taken without the milter
def test_what_waits_is_listed(own_box, to):
    """What was taken is there from then on, and tells how far it is."""
    box = own_box("--set", "submission.record_wait=0s")
    httpd = box.httpd()
    sent = httpd.send({"from": "a@example.com", "to": to, "text": "x"})
    box.sink.find(to=to)
    box.stop("milter")
    waiting = httpd.send({"from": "a@example.com", "to": to, "text": "x"})
    assert ids(httpd) == ([waiting, sent], False)
    assert httpd.request("GET", f"/emails?after={waiting}").json()["data"][0]["id"] == sent
    assert httpd.read(waiting)["last_event"] == "queued"
    shown = httpd.request("GET", f"/emails/{waiting}?state=any").json()
    assert (shown["state"], shown["reason"]) == ("waiting", None)
    assert shown["last_event"] == "queued"
    assert [r["state"] for r in shown["recipients"]] == ["queued"]
    shown = httpd.request("GET", f"/emails/{sent}?state=any").json()
    assert (shown["state"], shown["reason"]) == ("sent", None)
    check_problem(
        httpd.request("GET", f"/emails/{sent}?state=sent"),
        422,
        "invalid_parameter",
        "The `state` parameter must be `any`, if it is given.",
    )
    sending = box.httpd(box.env["POSTERN_SENDING_KEY"])
    assert "state" not in sending.request("GET", f"/emails/{waiting}?state=any").json()


@pytest.mark.store("sqlite")
def test_a_body_that_nobody_needs(company):
    answer = company.httpd.request("GET", "/emails", json={})
    assert answer.status_code == 200


@pytest.mark.store("sqlite")
@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_wrong_method(httpd, method):
    answer = httpd.request(method, "/emails", json={})
    check_problem(answer, 405, "method_not_allowed")
    assert set(answer.headers["Allow"].split(", ")) == {"GET", "POST"}
