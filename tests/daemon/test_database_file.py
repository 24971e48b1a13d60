"""The database's file is moved away, replaced and put back under the daemons."""

import os
import shutil

import pytest
from harness import wait_for
from harness.admin import Admin
from harness.httpd import check_problem
from test_doctor import doctor_of_host, fault

UNKNOWN_ID = "3c0d6a52-6c7b-4a0a-9b1c-2b5b7f5a8f11"


def wait_for_status(httpd, status):
    wait_for(
        f"answers with {status}",
        lambda: httpd.get(UNKNOWN_ID).status_code == status,
    )


@pytest.fixture
def box(own_box):
    box = own_box(
        "--set", "http.workers=1",  # each looks for itself
        "--set", "admin.metrics=loopback",
    )
    wait_for_status(box.httpd(), 404)  # it has opened the file
    return box


@pytest.fixture
def file(box):
    return box.dir / "store/postern.db"


def check_refused(box, email):
    """Reads and writes are refused, and the log says why."""
    wait_for_status(box.httpd(), 503)
    check_problem(box.httpd().get(UNKNOWN_ID), 503, "application_error")
    check_problem(box.httpd().post(email), 503, "application_error")
    unknown = box.httpd("ps_" + "A" * 43)
    check_problem(unknown.get(UNKNOWN_ID), 503, "application_error")
    check_problem(box.httpd("no-key").get(UNKNOWN_ID), 401, "invalid_api_key")
    line = next(line for line in box.log("httpd").splitlines() if "event=database_gone" in line)
    assert "effect=" in line and "hint=" in line


def check_told(box):
    """Monitoring reports it, although nobody can log in."""
    admin = Admin(box)
    wait_for("a load balancer to know",
             lambda: admin.request("GET", "/readyz").status_code == 503)
    # After some seconds postern-events does not read the log either, and a line more says so.
    assert admin.request("GET", "/readyz").text.startswith("the store cannot be read or written\n")
    # Each worker looks for itself, and a request before that has 503.
    metrics = wait_for("metrics", lambda: (
        answer := admin.request("GET", "/metrics", own_page=False)).status_code == 200 and answer)
    assert 'postern_part_up{part="store"} 0\n' in metrics.text
    assert "postern_http_requests_total{" in metrics.text


@pytest.mark.store("sqlite")
def test_moved_away_and_back(box, file, email, to):
    os.rename(file, file.with_name("aside"))
    check_refused(box, email)
    check_told(box)
    os.rename(file.with_name("aside"), file)
    wait_for_status(box.httpd(), 404)
    wait_for("the log to tell", lambda: "database_back" in box.log("httpd"))
    wait_for("its email to be taken", lambda: box.httpd().post(email).status_code == 200)
    assert box.sink.find(to=to)


@pytest.mark.store("sqlite")
def test_replaced(box, file, email, to):
    """The daemons that have the old file open must end before the new one is used,
    because its write-ahead log is beside it."""
    email_id = box.httpd().send(email)
    backup = file.with_name("backup")
    box.cli("db", "backup", str(backup))
    shutil.chown(backup, file.owner(), file.group())
    backup.chmod(0o640)
    os.rename(backup, file)
    check_refused(box, email)
    for part in ("httpd", "milter"):
        box.stop(part)
    for part in ("milter", "httpd"):
        box.start(part)
    assert box.httpd().read(email_id)["id"] == email_id
    box.httpd().send({**email, "to": "b" + to})
    assert box.sink.find(to="b" + to)


@pytest.mark.store("sqlite")
@pytest.mark.parametrize("names", [["-wal"], ["-shm"], ["-wal", "-shm"]], ids="".join)
def test_its_log_is_removed(box, file, email, to, names):
    """Somebody takes what lies beside the database for temporary files. No email is answered 200
    that nobody else could read; what was answered before is there after a restart, in any order."""
    ids = [box.httpd().send(email), box.httpd().send({**email, "to": "b" + to})]
    for name in names:
        file.with_name(file.name + name).unlink()
    for _ in range(3):
        check_problem(box.httpd().post({**email, "to": "c" + to}), 503, "application_error")
    found = doctor_of_host(box)
    for part in ("httpd", "milter", "events"):
        fault(found, "database", f"postern-{part} (process {box.pid(part)}) has {file}{names[0]} open")
    for part in ("httpd", "milter", "events"):
        box.restart(part)
    assert box.cli("db", "check")["ok"]
    assert [box.httpd().read(email_id)["id"] for email_id in ids] == ids
    box.httpd().send({**email, "to": "d" + to})
    for at in ("", "b", "d"):
        assert box.sink.find(to=at + to)
    assert box.sink.now(to="c" + to) == []
