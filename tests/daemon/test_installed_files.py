"""Tests of what the installed files say and do."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.scripts

TOP = Path(__file__).resolve().parents[2]
TEMPLATE = TOP / "tools/install/postern.conf"


def test_the_template_shows_the_defaults(box, tmp_path):
    """Each commented line is a setting with its default."""
    conf = tmp_path / "postern.conf"
    text = re.sub(r"(?m)^#(\w+ = )", r"\1", TEMPLATE.read_text())
    assert text != TEMPLATE.read_text()
    conf.write_text(text)
    said = subprocess.run([box.env["POSTERN_CLI"], "-c", conf, "--json", "config"],
                          capture_output=True, text=True, timeout=60, check=True).stdout
    for row in json.loads(said):
        assert row["value"] == row["default"], row["name"]


def test_libpq_is_for_a_database_on_a_server(box, tmp_path):
    """A host with a database file does without it; the error names it where it is needed."""
    (libpq,) = Path("/usr/lib").glob("*/libpq.so.5")
    hide = 'mount --bind /dev/null "$0" && exec "$@"'

    def postern(conf):
        return subprocess.run(
            ["unshare", "--mount", "sh", "-c", hide, libpq.resolve(),
             box.env["POSTERN_CLI"], "-c", conf, "company", "list"],
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip

    with_file = tmp_path / "file.conf"
    with_file.write_text(f"[store]\ndatabase = {tmp_path / 'postern.db'}\n")
    subprocess.run([box.env["POSTERN_CLI"], "-c", with_file, "db", "migrate"], check=True,
                   capture_output=True, timeout=60)  # fmt: skip
    done = postern(with_file)
    assert done.returncode == 0, done.stderr
    on_server = tmp_path / "server.conf"
    on_server.write_text(f"[store]\nurl = postgresql:///x?host={tmp_path}\n")
    done = postern(on_server)
    assert done.returncode != 0
    assert "a database on a server needs libpq.so.5 (package libpq5 or libpq)" in done.stderr


def test_no_empty_folder_is_left(tmp_path):
    """A directory with somebody else's file stays."""
    kept = tmp_path / "usr/share/man/man1/other.1"
    gone = [tmp_path / "usr" / name for name in ("lib/systemd/system", "share/man/man8")]
    for folder in [kept.parent, *gone]:
        folder.mkdir(parents=True)
    kept.touch()
    subprocess.run([TOP / "tools/install/uninstall", "/usr", tmp_path], cwd=TOP, check=True,
                   timeout=60)
    assert kept.exists()
    assert not any(folder.exists() for folder in [*gone, gone[0].parent])


def test_nothing_is_removed_while_postfix_asks_the_milter(box, tmp_path):
    """Otherwise Postfix would defer all mail of the host."""
    program = tmp_path / "sbin/postern-milter"
    program.parent.mkdir()
    program.touch()
    done = subprocess.run(
        [TOP / "tools/install/uninstall", tmp_path], cwd=TOP,
        env={**os.environ, "MAIL_CONFIG": box.env["POSTFIX_CONFIG"]},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert "disable" in done.stderr
    assert program.exists()
