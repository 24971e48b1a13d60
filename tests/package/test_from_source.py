"""The other ways to install that doc/INSTALL.md shows: by `make install`, upgraded and removed
as doc/RUNNING.md says, and the RPM, which is built. In a Debian where tools/deps has
installed what compiling needs, beside a Postfix that is set up by an admin; one story.
"""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from installed import (POSTFIX_FILES, SUITE, UNITS, commands, delivered, follow, remains, send,
                       start_machine, states)
from machine import TOP, wait_for

# It compiles everything twice.
pytestmark = pytest.mark.skipif(
    SUITE != "bookworm" or not os.environ.get("SOURCE"),
    reason="make test-package SOURCE=yes, in Debian 12")

# Faster to compile, and from a cache that outlives the machine; both Makefile and rpmbuild leave the
# choice to the admin.
FAST = "export CFLAGS=-O0 PATH=/usr/lib/ccache:$PATH CCACHE_DIR=/var/cache/ccache; "
COMPILES = 1200  # seconds; more than two busy cores need without the cache
# Debian lacks Fedora's macros for systemd, and does not know which of its packages are the
# BuildRequires.
MACROS = """
%optflags -O0
%_unitdir /usr/lib/systemd/system
%_sysusersdir /usr/lib/sysusers.d
%_tmpfilesdir /usr/lib/tmpfiles.d
"""
RPM = 'rpmbuild() { command rpmbuild --nodeps "$@"; }; '


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    tree = tmp_path_factory.mktemp("clone") / "postern"
    subprocess.run(["git", "-c", f"safe.directory={TOP}", "clone", "-q", TOP, tree], check=True,
                   timeout=60)
    cache = Path(os.environ.get("POSTERN_TEST_ROOTS", "/var/tmp/postern-test-roots")) / "ccache"
    cache.mkdir(parents=True, exist_ok=True)
    machine = start_machine("source", f"--bind={tree}:/root/postern",
                            f"--bind={cache}:/var/cache/ccache")  # fmt: skip
    yield machine
    machine.stop()
    shutil.rmtree(tree)


def first_email(machine, subject):
    """By the commands of README.md that come after the installation."""
    (setup,) = [command for command in commands("README.md", "Install it beside Postfix")
                if "postern setup" in command]
    said = machine.said(setup)
    assert "Yes: delivered to you@example.net." in said
    machine.names["KEY"] = re.search(r"\bps_\S+", said)[0]
    assert send(machine, subject).endswith(" 200")
    wait_for("it to arrive", lambda: delivered(machine, f"Subject: {subject}"))
    assert states(machine) == ["active"] * len(UNITS)


def test_from_source(machine):
    follow(machine, "doc/INSTALL.md", "From source", before=FAST, limit=COMPILES)
    assert machine.bytes(*POSTFIX_FILES) == machine.original
    assert machine.said("command -v postern postern-httpd").splitlines() == [
        "/usr/local/bin/postern", "/usr/local/sbin/postern-httpd"]
    first_email(machine, "from source")


def test_the_upgrade(machine):
    """Without a newer version: what git pulled has to be compiled and installed again."""
    follow(machine, "doc/RUNNING.md", "Upgrade it",
           before=f"{FAST} git() {{ [ \"$*\" = pull ]; }}; ", limit=COMPILES)  # fmt: skip
    assert states(machine) == ["active"] * len(UNITS)
    wait_for("httpd", lambda: send(machine, "upgraded").endswith(" 200"))
    wait_for("it to arrive", lambda: delivered(machine, "Subject: upgraded"))


def test_removed(machine):
    machine.run("rm -r /var/lib/postern/setup")  # the copies of main.cf and master.cf
    follow(machine, "doc/RUNNING.md", "Remove it", before=FAST)
    assert machine.bytes(*POSTFIX_FILES) == machine.original
    assert remains(machine) == []
    assert not machine.holds("getent passwd postern || getent group postern")


def test_staged_for_a_package(machine):
    (staged,) = re.findall(r"`(make install .*DESTDIR=DIRECTORY)`",
                           (TOP / "doc/INSTALL.md").read_text())
    machine.run(FAST + staged)
    machine.staged = machine.said("cd DIRECTORY && find -type f | sort").splitlines()
    assert "./usr/share/postern/package" in machine.staged
    machine.run("rm -r DIRECTORY")
    assert remains(machine) == []


def test_the_rpm(machine):
    machine.run("cat >~/.rpmmacros", input=MACROS)
    # One after the other in one shell: they have a variable.
    machine.run(FAST + RPM + "set -e\n" + "\n".join(commands("doc/INSTALL.md", "RPM")),
                limit=COMPILES)
    assert machine.said("ls ~/rpmbuild/RPMS/*/*.rpm").endswith(".x86_64.rpm")
