"""What container/Containerfile makes, as far as it runs without an engine: its files
and its entry point over the Debian of the package, in namespaces, with its health check."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
from installed import commands
from machine import TOP, wait_for

LINES = re.sub(r"\s*\\\n\s*", " ", (TOP / "container/Containerfile").read_text())
PACKAGES = TOP / os.environ.get("BUILD", "build") / "deb"
pytestmark = pytest.mark.skipif(os.environ.get("SUITE", "bookworm") != "bookworm",
                                reason="the image is one of Debian 12")


def instruction(word):
    """The rest of its lines."""
    return re.findall(rf"(?m)^ *{word} +(.*)$", LINES)


class Container:
    """Its root is the Debian of tests/package/root below a layer of its own, which is
    there as long as this: what it keeps on volumes stays when it is started again."""

    def __init__(self, root):
        self.folder = Path(tempfile.mkdtemp(dir="/dev/shm", prefix="postern-container."))
        for name in ("upper", "work", "root"):
            (self.folder / name).mkdir()
        layers = f"lowerdir={root},upperdir={self.folder}/upper,workdir={self.folder}/work"
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", layers, self.root], check=True)
        self.nspawn = None

    @property
    def root(self):
        return self.folder / "root"

    def close(self):
        self.kill()
        subprocess.run(["umount", self.root], check=True)
        shutil.rmtree(self.folder)

    def command(self, *words):
        return ["setpriv", "--pdeathsig", "TERM", "systemd-nspawn", "--quiet", "--register=no",
                "--keep-unit", "--private-network", "--resolv-conf=off", "--console=pipe",
                "--as-pid2", f"--machine=postern-container-{os.getpid()}",
                "--setenv=POSTFIX_myhostname=mail.example.com",
                "--setenv=POSTFIX_mydestination=dst.test",
                f"--directory={self.root}", *words]  # fmt: skip

    def build(self, command):
        done = subprocess.run(self.command("sh", "-c", command), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=180)
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self):
        self.nspawn = subprocess.Popen(
            self.command(*json.loads(instruction("ENTRYPOINT")[0])), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        (health,) = re.findall(r"CMD (.*)", LINES)
        wait_for("the container to be healthy", lambda: self.holds(health))

    def kill(self):
        """As when the host fails."""
        if self.nspawn and self.nspawn.poll() is None:
            os.kill(self.first(), signal.SIGKILL)
            self.nspawn.wait(timeout=60)

    def first(self):
        """The first process in it, as the host knows it."""
        path = Path(f"/proc/{self.nspawn.pid}/task/{self.nspawn.pid}/children")
        return int(wait_for("its first process", lambda: path.read_text().split())[0])

    def run(self, command):
        assert self.nspawn.poll() is None, "the container has ended"
        return subprocess.run(
            ["nsenter", "-t", str(self.first()), "-a", "env", "-i", "HOME=/root",
             "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "bash", "-c", command],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180,
        )  # fmt: skip

    def holds(self, command):
        return self.run(command).returncode == 0

    def said(self, command):
        done = self.run(command)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()


@pytest.fixture(scope="module")
def container():
    root = subprocess.run([TOP / "tests/package/root", "bookworm", "test"], check=True,
                          capture_output=True, text=True).stdout.strip()  # fmt: skip
    container = Container(root)
    try:
        (container.root / "packages").mkdir()
        for path in PACKAGES.glob("postern_*.deb"):
            shutil.copy(path, container.root / "packages")
        # This Debian has Postfix, with its users, and what is to be fetched.
        users = next(line for line in instruction("RUN") if line.startswith("groupadd"))
        container.build(users.partition("&& groupadd -r -g 588")[0])
        container.build("apt-get install -y /packages/postern_*.deb && rm -rf /var/lib/postern/*")
        for line in instruction("COPY"):
            words = shlex.split(line)
            if not words[0].startswith("--") and words != [".", "/src"]:
                to = container.root / words[1].lstrip("/")
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(TOP / words[0], to)
        container.start()
        yield container
    finally:
        container.close()


def send(container, key, subject):
    body = json.dumps({"from": "shop@example.com", "to": "root@dst.test", "subject": subject,
                       "text": "Hello."})
    return json.loads(container.said(
        f"curl -fsS -H 'Authorization: Bearer {key}' -H 'Content-Type: application/json' "
        f"-d {shlex.quote(body)} http://127.0.0.1:8587/emails"))["id"]


def delivered(container, email):
    wait_for("its delivery status", lambda: '"last_event": "delivered"' in container.said(
        f"postern --json email show {email}"))  # fmt: skip


def test_an_email_goes_out_and_is_known_after_a_crash(container):
    company = json.loads(container.said("postern --json company add Acme"))["id"]
    container.said(f"postern domain add example.com --company {company} --policy exclusive")
    key = json.loads(container.said(
        f"postern --json key create --company {company} --name it "
        "--scope sending,reading"))["token"]
    email = send(container, key, "in a container")
    delivered(container, email)
    assert container.said("id -u postern") == "587"
    assert container.said("postconf -h myhostname") == "mail.example.com"
    container.kill()
    container.start()
    assert email in container.said(f"postern --json email show {email}")
    delivered(container, send(container, key, "after the crash"))


def test_it_ends_when_one_of_its_daemons_does(container):
    """So that its engine starts it anew."""
    container.said("pkill -KILL postern-events")
    assert container.nspawn.wait(timeout=180) != 0
    container.start()
    assert container.holds("pgrep postern-events")


@pytest.mark.skipif(not shutil.which("podman"), reason="podman is not installed")
def test_the_documented_commands(tmp_path):
    """With an engine, in its own words: built, run, healthy; an email is known after a crash, and to
    a new container on the same volumes. CONTAINERS_CONF may name settings of podman."""
    build, run, company = commands("doc/INSTALL.md", "A container")
    volumes = ("postern-queue", "postern-data", "postern-log")
    tree = tmp_path / "postern"
    subprocess.run(["git", "-c", f"safe.directory={TOP}", "clone", "-q", TOP, tree], check=True)

    def said(command, check=True):
        done = subprocess.run(["sh", "-ec", command], cwd=tree, capture_output=True, text=True,
                              timeout=1800)
        assert done.returncode == 0 or not check, done.stdout + done.stderr
        return done.stdout

    def inside(command):
        return said(f"podman exec postern {command}")

    def is_healthy():
        return wait_for("it to be healthy", lambda: "healthy\n" == said(
            "podman healthcheck run postern && echo healthy", check=False)[-8:])

    assert not said("podman ps -aq --filter name=^postern$"), "there is a container of that name"
    said(build)
    try:
        said(run)
        is_healthy()
        created = json.loads(inside("postern --json company list") or "[]")
        assert created == [] and "Acme" in said(company)
        (acme,) = json.loads(inside("postern --json company list"))
        inside(f"postern domain add example.com --company {acme['id']} --policy exclusive")
        key = json.loads(inside(f"postern --json key create --company {acme['id']} --name it"))
        body = json.dumps({"from": "shop@example.com", "to": "root@mail.example.com",
                           "subject": "in a container", "text": "Hello."})
        email = json.loads(said(
            f"curl -fsS -H 'Authorization: Bearer {key['token']}' -H 'Content-Type: application/"
            f"json' -d {shlex.quote(body)} http://127.0.0.1:8587/emails"))["id"]

        def last_event():
            return json.loads(inside(f"postern --json email show {email}"))["last_event"]

        wait_for("its delivery status", lambda: last_event() not in ("queued", "sent"))
        event = last_event()
        said("podman kill --signal KILL postern && podman start postern")
        is_healthy()
        assert last_event() == event
        said("podman rm -f postern")
        said(run)
        is_healthy()
        assert last_event() == event
    finally:
        said("podman rm -f postern", check=False)
        said(f"podman volume rm {' '.join(volumes)}", check=False)
