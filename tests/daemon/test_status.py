"""postern status fits on a screen, and says what is so."""

import subprocess

from harness.sandbox import BUILD, TREE


def status(box):
    done = subprocess.run([TREE / BUILD / "postern", "-c", box.config, "status"],
                          capture_output=True, text=True, timeout=120, check=True)
    return done.stdout


def test_all_runs(own_box, email, to):
    box = own_box()
    said = status(box)
    assert "Last email        none yet" in said
    box.httpd().send(email)
    assert box.sink.find(to=to)
    said = status(box)
    lines = said.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    for part in ("postern-httpd", "postern-milter", "postern-events", "Postfix"):
        assert any(line.startswith(part) and "running since" in line for line in lines), said
    found = box.cli("status")
    assert found["version"] in said
    assert found["last_email_at"] and found["outbox_emails"] is not None
    assert found["httpd_since"] and found["postfix_since"]


def test_what_is_away_is_told(own_box):
    box = own_box()
    box.stop("events")
    box.stop("postfix")
    said = status(box)
    assert "postern-events    not running" in said
    assert "Postfix           not running" in said
    found = box.cli("status")
    assert found["events_since"] is None and found["postfix_since"] is None
