"""How many of a kind a company may have, and that what it had goes in steps."""

import threading
import uuid

import pytest
import requests
from harness import Sandbox, wait_for
from harness.admin import by_token, operator
from harness.httpd import check_problem
from harness.sandbox import unique

LIMITS = ["keys=3", "domains=2", "pending_domains=2", "exemptions=2", "users=3", "tokens=2"]
LIMITS += ["suppressions=300"]


@pytest.fixture(scope="module")
def small_box():
    options = [word for limit in LIMITS for word in ("--set", f"limits.{limit}")]
    with Sandbox(*options) as box:
        yield box


@pytest.fixture
def company(small_box):
    return small_box.company()


@pytest.fixture
def httpd(small_box, company):
    return small_box.httpd(small_box.new_key(company)["token"])


def refused(answer, setting):
    check_problem(answer, 422, "validation_error")
    assert f"limits.{setting}" in answer.json()["message"]


def test_keys_over_the_api(small_box, company, httpd):
    made = [httpd.request("POST", "/api-keys", json={"name": f"k{i}"}) for i in range(2)]
    assert [answer.status_code for answer in made] == [201, 201]
    refused(httpd.request("POST", "/api-keys", json={"name": "one more"}), "keys")
    # Nothing was made, and who revokes one may make another.
    assert len(httpd.request("GET", "/api-keys").json()["data"]) == 3
    for _ in range(5):
        gone = made.pop().json()["id"]
        assert httpd.request("DELETE", f"/api-keys/{gone}").status_code == 200
        made.append(httpd.request("POST", "/api-keys", json={"name": "again"}))
        assert made[-1].status_code == 201
    # Of the revoked ones as many are remembered.
    rows = small_box.query(
        f"SELECT count(*) FROM api_key WHERE company_id = '{company}' AND revoked_us > 0"
    )
    assert int(rows) <= 4
    # The command may go beyond.
    small_box.new_key(company)
    refused(httpd.request("POST", "/api-keys", json={"name": "one more"}), "keys")


def test_many_suppressions_at_once(small_box, company):
    """They are stored and removed in steps, yet all or none, and as one change."""
    domain = small_box.domain(company)
    key = small_box.new_key(company, domain=domain)["token"]
    httpd = small_box.httpd(key)
    table = f"FROM suppression WHERE company_id = '{company}'"

    def count(rows=table):
        return int(small_box.query(f"SELECT count(*) {rows}"))

    def add(entries):
        url = f"{small_box.env['POSTERN_URL']}/v3/{domain}/bounces"
        return requests.post(url, auth=("api", key), json=entries, timeout=60)

    many = [{"address": f"a{i}@many.test"} for i in range(250)]
    assert add([*many, {"address": "none"}]).status_code == 400 and count() == 0
    assert add(many).json()["message"].startswith("250 addresses") and count() == 250
    more = [{"address": f"b{i}@many.test"} for i in range(51)]
    assert "limits.suppressions" in add(many + more).text and count() == 250
    assert add(many + more[:50]).status_code == 200 and count() == 300
    assert count(f"FROM audit WHERE company_id = '{company}' AND action = 'suppression.add'") == 2

    small_box.cli("suppression", "add", "of.all@many.test", "--company", company)
    batch = [item["address"] for item in many[:99]]

    def remove(emails):
        return httpd.request("POST", "/suppressions/batch/remove", json={"emails": emails})

    assert remove([*batch, "of.all@many.test"]).status_code != 200 and count() == 301
    assert len(remove(batch).json()["data"]) == 99 and count() == 202
    ids = small_box.query(f"SELECT id {table}").split()
    operator(small_box).ok(
        "POST", "/admin/suppressions/remove", json={"suppressions": [{"id": i} for i in ids]}
    )
    assert count() == 0
    removals = f"FROM audit WHERE company_id = '{company}' AND action = 'suppression.remove'"
    assert count(removals) == 2

    # A file is imported as far as there is room, which the audit log has as well.
    file = "address\n" + "".join(f"c{i}@many.test\n" for i in range(350))
    url = f"{small_box.env['POSTERN_URL']}/v3/{domain}/bounces/import"
    answer = requests.post(url, auth=("api", key), files={"file": ("file", file)}, timeout=60)
    assert "limits.suppressions" in answer.text and count() == 300
    imports = f"FROM audit WHERE company_id = '{company}' AND action = 'suppression.import'"
    assert count(imports) == 1


def test_domains_over_the_api(httpd):
    names = [unique("d") + ".example" for _ in range(3)]
    for name in names[:2]:
        assert httpd.request("POST", "/domains", json={"name": name}).status_code == 201
    refused(httpd.request("POST", "/domains", json={"name": names[2]}), "pending_domains")
    listed = httpd.request("GET", "/domains").json()["data"]
    assert {one["name"] for one in listed} == set(names[:2])


def test_over_the_admin_interface(small_box, company):
    admin = operator(small_box)
    owner = by_token(small_box, unique("owner"), company)

    def post(client, target, **body):
        return client.request("POST", target, json=body)

    mine = {"company_id": company, "policy": "exclusive"}
    for _ in range(2):
        name = unique("d") + ".example"
        assert post(admin, "/admin/domains", name=name, **mine).status_code == 201
        assert post(owner, "/admin/domains", name=unique("d") + ".example").status_code == 201
    refused(post(admin, "/admin/domains", name="more.example", **mine), "domains")
    refused(post(owner, "/admin/domains", name="more.example"), "pending_domains")
    # Nor by activating what was asked for.
    asked = owner.ok("GET", "/admin/domains")["data"]
    waiting = next(one["id"] for one in asked if one["pending"])
    answer = admin.request(
        "PATCH", f"/admin/domains/{waiting}", json={"active": True, "policy": "learn"}
    )
    refused(answer, "domains")
    assert admin.ok("GET", f"/admin/domains/{waiting}")["pending"]

    for value in ("ann", "bob"):
        answer = post(admin, "/admin/exemptions", domain=name, kind="login", value=value)
        assert answer.status_code == 201
    answer = post(admin, "/admin/exemptions", domain=name, kind="login", value="eve")
    refused(answer, "exemptions")

    for _ in range(2):
        assert post(admin, "/admin/users", login=unique("u"), company_id=company).status_code == 201
    refused(post(admin, "/admin/users", login=unique("u"), company_id=company), "users")

    for i in range(3):
        assert post(owner, "/admin/keys", name=f"k{i}").status_code == 201
    refused(post(owner, "/admin/keys", name="more"), "keys")

    # One of them is what the owner comes in by.
    assert post(owner, "/admin/tokens", name="t").status_code == 201
    refused(post(owner, "/admin/tokens", name="t"), "tokens")


def test_pages_of_the_admin_lists(small_box, company):
    owner = by_token(small_box, unique("owner"), company)
    for i in range(3):
        owner.ok("POST", "/admin/keys", 201, json={"name": f"Key {i}"})
    seen, after = [], ""
    while True:
        page = owner.ok("GET", f"/admin/keys?limit=1{after}")
        seen += [key["name"] for key in page["data"]]
        if not page["has_more"]:
            break
        after = f"&after={page['data'][-1]['id']}"
    assert seen == ["Key 2", "Key 1", "Key 0"]
    found = owner.ok("GET", "/admin/keys?search=kEY+1")
    assert [key["name"] for key in found["data"]] == ["Key 1"]
    assert found["next"] is None
    assert owner.status("GET", f"/admin/keys?after={uuid.uuid4()}") == 422
    for wrong in ("limit=0", "limit=101", "after=x", "before=x", "page=1"):
        assert owner.status("GET", f"/admin/keys?{wrong}") == 422, wrong


MANY = 9000


def fill(box, company, domain):
    """Makes keys that are restricted to the domain, and exemptions for it."""
    [(domain_id,)] = box.sql("SELECT id FROM domain WHERE name = ?", domain)
    numbers = "WITH RECURSIVE n(i) AS (SELECT ? UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
    # Each row counts in one row of company_count, of which PostgreSQL keeps all versions of a
    # transaction, and looks at each of them again.
    for first in range(1, MANY, MANY // 10):
        last = first + MANY // 10 - 1
        box.sql(
            f"{numbers} INSERT INTO api_key (id, company_id, domain_id, name, hash, scopes,"
            f" created_us) SELECT substr(lower(hex({box.random_bytes})), 1, 32), ?, ?, 'many',"
            f" {box.random_bytes}, 1, i FROM n", first, last, company, domain_id)
        box.sql(
            f"{numbers} INSERT INTO exemption (id, company_id, domain_id, kind, value, created_us)"
            f" SELECT substr(lower(hex({box.random_bytes})), 1, 32), ?, ?, 'login', 'u' || i, i"
            " FROM n", first, last, company, domain_id)
    return domain_id


def counted(box, what):
    return int(box.query(f"SELECT count(*) FROM {what}"))


def test_removal_in_steps_survives_a_kill(own_box):
    """After half of the removal the domain still exists; the next removal finishes. The
    audit log has each removed object once."""
    box = own_box()
    company = box.company()
    domain = box.domain(company)
    httpd = box.httpd(box.new_key(company)["token"])
    domain_id = fill(box, company, domain)

    def remove():
        try:
            httpd.request("DELETE", f"/domains/{domain_id}")
        except requests.RequestException:
            pass

    other = box.httpd(box.new_key(company)["token"])
    removing = threading.Thread(target=remove)
    removing.start()
    left = f"api_key WHERE domain_id = '{domain_id}'"
    wait_for("a step", lambda: counted(box, left) < MANY)
    # Others write meanwhile.
    assert other.request("POST", "/api-keys", json={"name": "another"}).status_code == 201
    pid = box.pid("httpd")
    box.kill("httpd")
    removing.join()
    box.wait_for_new("httpd", pid)
    assert 0 < counted(box, left) < MANY
    assert httpd.request("GET", f"/domains/{domain_id}").status_code == 200
    assert httpd.request("DELETE", f"/domains/{domain_id}").status_code == 200
    assert httpd.request("GET", f"/domains/{domain_id}").status_code == 404
    assert counted(box, left) == 0
    assert counted(box, f"exemption WHERE domain_id = '{domain_id}'") == 0
    removed = "audit WHERE action = '{}.remove'"
    assert counted(box, removed.format("domain")) == 1
    assert counted(box, removed.format("key")) == MANY
    assert counted(box, removed.format("exemption")) == MANY


def test_the_command_lists_and_removes_many(own_box):
    box = own_box()
    company = box.company()
    domain = box.domain(company)
    fill(box, company, domain)
    keys = box.cli("key", "list", "--company", company)
    assert len(keys) == len({key["id"] for key in keys}) == MANY
    assert len(box.cli("exempt", "list", domain)) == MANY
    removed = box.cli("company", "remove", company)
    assert (removed["domains"], removed["keys"]) == (1, MANY)
    assert counted(box, "api_key WHERE name = 'many'") == 0
    assert counted(box, "audit WHERE action = 'company.remove'") == 1


def test_attention_is_grouped(own_box):
    box = own_box()
    admin = operator(box)
    company = box.company()
    httpd = box.httpd(box.new_key(company)["token"])
    httpd.request("POST", "/domains", json={"name": "one.example"})

    def pending():
        needs = admin.ok("GET", "/admin/attention")["data"]
        return [need for need in needs if need["code"] == "pending"]

    [need] = pending()
    assert "one.example" in need["text"] and need["count"] == 1
    for i in range(40):
        httpd.request("POST", "/domains", json={"name": f"d{i}.example"})
    [need] = pending()
    assert need["count"] == 41 and len(need["examples"]) == 3
    assert "41 domains" in need["text"]
