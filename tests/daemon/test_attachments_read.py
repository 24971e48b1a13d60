"""Attachments, read back while messages are kept; and the message itself, by admins."""

import base64
import os
import signal
import subprocess
import urllib.parse

import pytest
import requests
from harness import wait_for
from harness.admin import operator
from harness.form import File, queued_id
from harness.httpd import check_problem
from harness.sandbox import unique
from test_doctor import doctor, fault, faults

FILES = [
    ("invoice ä.pdf", os.urandom(70_000), {"content_type": "application/pdf"}),
    ("a.txt", b"text\r\nwith NUL \0 in it\n", {}),
    ("logo.png", bytes(range(256)), {"content_id": "logo@x"}),
    ("empty.bin", b"", {}),
    ("a\"; b='%2e'*\\!#$&+^`|{}~.txt", b"x", {}),
]


def new_email(files=FILES, **fields):
    return {
        "from": "hello@example.com", "to": unique("to") + "@dst.test", "text": "x", "html": "<p>x</p>",
        "attachments": [
            {"filename": name, "content": base64.b64encode(data).decode(), **more} for name, data, more in files
        ],
        **fields,
    }


def listed(httpd, email_id, query=""):
    answer = httpd.request("GET", f"/emails/{email_id}/attachments{query}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_read_back(box, httpd):
    """Attachments can be downloaded before and after the email is delivered, also by a
    link without a key."""
    later = httpd.send(new_email(scheduled_at="in 1 hour"))
    now = httpd.send(new_email())
    for email_id in (later, now):
        items = listed(httpd, email_id)["data"]
        assert len(items) == len(FILES) and {i["filename"] for i in items} == {name for name, _, _ in FILES}
        by_name = {item["filename"]: item for item in items}
        for name, data, more in FILES:
            item = by_name[name]
            assert item["size"] == len(data)
            assert item["content_disposition"] == ("inline" if "content_id" in more else "attachment")
            assert item["content_id"] == more.get("content_id")
            one = httpd.request("GET", f"/emails/{email_id}/attachments/{item['id']}").json()
            assert one["object"] == "attachment" and one["filename"] == name
            assert one["content_type"] == item["content_type"] == more.get("content_type", item["content_type"])
            got = requests.get(one["download_url"], timeout=60)
            assert got.status_code == 200 and got.content == data
            assert got.headers["Content-Type"] == "application/octet-stream"
            saved_as = urllib.parse.quote(name, safe="!#$&+^`|")
            assert got.headers["Content-Disposition"] == f"attachment; filename*=UTF-8''{saved_as}"
            size = requests.head(one["download_url"], timeout=60).headers["Content-Length"]
            assert size == str(len(data))
    httpd.request("POST", f"/emails/{later}/cancel")


def test_pages(box, httpd):
    email_id = httpd.send(new_email())
    ids = [item["id"] for item in listed(httpd, email_id)["data"]]
    first = listed(httpd, email_id, "?limit=3")
    assert [i["id"] for i in first["data"]] == ids[:3] and first["has_more"]
    rest = listed(httpd, email_id, f"?after={ids[2]}")
    assert [i["id"] for i in rest["data"]] == ids[3:] and not rest["has_more"]
    before = listed(httpd, email_id, f"?limit=2&before={ids[3]}")
    assert [i["id"] for i in before["data"]] == ids[1:3] and before["has_more"]
    check_problem(httpd.request("GET", f"/emails/{email_id}/attachments?after={email_id}"), 422, "invalid_parameter")


def test_more_than_a_page(box, httpd):
    """Without `limit` the list has all of them, as client libraries expect."""
    email_id = httpd.send(new_email([(f"{n}.txt", b"x", {}) for n in range(21)]))
    found = listed(httpd, email_id)
    assert [i["filename"] for i in found["data"]] == [f"{n}.txt" for n in range(21)]
    assert not found["has_more"]


def test_none(box, httpd):
    email_id = httpd.send(new_email([]))
    assert listed(httpd, email_id)["data"] == []


def test_whose(box, httpd):
    """Attachments of others are not found. A changed link, or the link of another file,
    is not valid."""
    email_id = httpd.send(new_email())
    item = listed(httpd, email_id)["data"][0]
    stranger = box.httpd(box.new_key(box.company())["token"])
    paths = [f"/emails/{email_id}/attachments", f"/emails/{email_id}/attachments/{item['id']}"]
    for path in paths:
        check_problem(stranger.request("GET", path), 404, "not_found", "Email not found")
    check_problem(httpd.request("GET", f"{paths[0]}/{email_id}"), 404, "not_found", "Attachment not found")
    check_problem(httpd.request("GET", f"{paths[0]}/x"), 422, "invalid_parameter")
    url = item["download_url"]
    head, link = url.rsplit("/", 1)
    mail, n, end, signature = link.split(".")
    for wrong in (f"{mail}.{n}.{int(end) + 1}.{signature}", f"{mail}.1.{end}.{signature}",
                  f"{mail}.{n}.{end}.{'0' * 64}", f"{mail}.{n}.{end}", "x", f"{link}0"):
        assert requests.get(f"{head}/{wrong}", timeout=60).status_code == 404
    assert requests.get(url, timeout=60).status_code == 200


def test_link_goes_with_its_company(box):
    company = box.company()
    name = box.domain(company)
    mine = box.httpd(box.new_key(company)["token"])
    email_id = mine.send(new_email(**{"from": f"a@{name}"}))
    url = listed(mine, email_id)["data"][0]["download_url"]
    assert requests.get(url, timeout=60).status_code == 200
    box.cli("company", "remove", company)
    check_problem(requests.get(url, timeout=60), 404, "not_found", "The link is not valid any more")


def test_kept_no_longer(box, httpd):
    email_id = httpd.send(new_email())
    box.query(f"DELETE FROM message WHERE email = (SELECT seq FROM email WHERE id = '{email_id}')")
    answer = httpd.request("GET", f"/emails/{email_id}/attachments")
    check_problem(answer, 404, "not_found", "is not kept any more")


def test_what_is_no_text(box, httpd, form):
    """The text of a client's own message is shown as far as it is text, with nothing
    left out."""
    to = unique("to") + "@dst.test"
    lines = [b"From: hello@example.com", b"To: " + to.encode(), b"MIME-Version: 1.0",
             b"Content-Type: multipart/mixed; boundary=b", b"", b"--b", b"Content-Type: \xff/\xfe",
             b'Content-Disposition: attachment; filename="\xff.txt"', b"Content-ID: <\xff@x>", b"", b"one", b"--b--", b""]
    message = File("m", b"\n".join(lines), "message/rfc822")
    answer = form.post({"to": to, "message": message}, path="messages.mime")
    (item,) = listed(httpd, queued_id(answer).strip("<>").split("@")[0])["data"]
    assert item["content_id"].endswith("@x") and item["filename"].endswith(".txt")
    assert requests.get(item["download_url"], timeout=60).content == b"one"


def test_raw_to_the_last_byte(box, form):
    """Any bytes, also without a final line break, from the command and over HTTP."""
    to, body = unique("to") + "@dst.test", bytes(set(range(256)) - set(b"\r\n")) + b"\n\x1b[2J\n.\nno end"
    message = f"From: hello@example.com\nTo: {to}\nSubject: bytes\n\n".encode() + body
    email_id = queued_id(form.post(
        {"to": to, "message": File("m", message, "message/rfc822")}, path="messages.mime")).strip("<>").split("@")[0]
    shown = operator(box).request("GET", f"/admin/emails/{email_id}/raw?download=true").content
    assert shown.endswith(b"\n\n" + body)
    command = [box.env["POSTERN_CLI"], "-c", box.config, "email", "raw", email_id]
    assert subprocess.run(command, capture_output=True, check=True, timeout=60).stdout == shown
    assert base64.b64decode(box.cli("email", "raw", email_id)["base64"]) == shown
    assert box.cli("email", "raw", email_id)["message"] is None


def test_raw(box, httpd):
    """Admins see the message as it was sent, without the fields between httpd and the
    milter."""
    email = new_email()
    email_id = httpd.send(email)
    sent = box.sink.find(to=email["to"]).raw.decode()
    boss = operator(box)
    shown = boss.request("GET", f"/admin/emails/{email_id}/raw").text
    assert base64.b64encode(FILES[1][1]).decode() in shown and "X-Postern" not in shown
    assert shown.replace("\r\n", "\n").strip() in sent.replace("\r\n", "\n")
    assert box.cli("email", "raw", email_id)["message"].strip() == shown.strip()
    box.query(f"DELETE FROM message WHERE email = (SELECT seq FROM email WHERE id = '{email_id}')")
    assert "Comments: rebuilt" in boss.request("GET", f"/admin/emails/{email_id}/raw").text
    box.cli("email", "raw", email_id, ok=False)


@pytest.mark.submission("smtp")
def test_bound(own_box):
    """The oldest messages are removed with their files; doctor and the overview report
    it."""
    box = own_box()
    httpd, boss = box.httpd(), operator(box)
    ids = [httpd.send(new_email([("a", os.urandom(100_000), {})])) for _ in range(3)]
    small = httpd.send(new_email([]))
    wait_for("them to leave", lambda: box.query("SELECT count(*) FROM outbox") == "0")
    assert box.large_messages() == set(ids)
    told = lambda: "messages" in [one["code"] for one in boss.ok("GET", "/admin/attention")["data"]]
    assert not told()
    box.set("retention", "messages_max_bytes", "200K")
    box.kill("httpd", signal.SIGHUP)
    wait_for("the oldest to go", lambda: box.large_messages() == {ids[2]})
    assert listed(httpd, ids[2])["data"] and listed(httpd, small)["data"] == []
    for gone in ids[:2]:
        check_problem(httpd.request("GET", f"/emails/{gone}/attachments"), 404, "not_found", "is not kept any more")
    wait_for("the overview", told)
    assert fault(doctor(box), "messages", "more than retention.messages_max_bytes")
    box.set("retention", "messages_max_bytes", "1M")
    box.kill("httpd", signal.SIGHUP)
    # A day in which nothing had to go.
    box.query("UPDATE message_cut SET cut_us = cut_us - 86400000000")
    assert not faults(doctor(box), "messages")
