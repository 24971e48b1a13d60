"""The audit log: what keys with the scope managing change is in it."""

from harness.sandbox import unique


def entries(box, *words):
    return box.cli("audit", "list", *words)


def test_changes_of_a_key(box):
    company = box.company()
    own = box.new_key(company, scope="managing")
    httpd = box.httpd(own["token"])
    name = unique("d") + ".example"
    before = len(entries(box, "--company", company))

    domain = httpd.request("POST", "/domains", json={"name": name}).json()["id"]
    key = httpd.request("POST", "/api-keys", json={"name": "one"}).json()
    httpd.request("PATCH", f"/api-keys/{key['id']}", json={"name": "two"})
    httpd.request("DELETE", f"/api-keys/{key['id']}")
    httpd.request("DELETE", f"/domains/{domain}")
    # What is refused, or not there, changes nothing.
    httpd.request("DELETE", f"/domains/{domain}")
    httpd.request("POST", "/domains", json={"name": "no dots"})

    found = entries(box, "--company", company)
    found = found[: len(found) - before]
    assert [(e["action"], e["object_name"]) for e in found] == [
        ("domain.remove", name),
        ("key.revoke", "two"),
        ("key.rename", "one"),
        ("key.create", "one"),
        ("domain.ask", name),
    ]
    for entry in found:
        assert entry["actor"] == "key"
        assert entry["actor_id"] == own["id"]
        assert entry["origin"] == "127.0.0.1"
        assert entry["company_id"] == company
    assert found[2]["before"]["name"] == "one"
    assert found[2]["after"]["name"] == "two"
    assert key["token"] not in str(found)
