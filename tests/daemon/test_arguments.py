"""Whatever can be started refuses an argument that it does not know: it names the
argument, says 64 (EX_USAGE; argparse says 2), and does nothing else."""

import os
import re
import subprocess

import pytest
from harness.sandbox import TOOL

TREE = TOOL.parents[1]
BUILD = TREE / os.environ.get("BUILD", "build")
UNKNOWN = ("nonsense", "--nonsense", "-Z")

# What is right in front of the unknown word; {} is a folder of the test's own.
SCRIPTS = [
    ("tools/deps",),
    ("tools/deps", "build"),
    ("tools/check_format", "{}"),
    ("tools/check_format", "--fix", "{}"),
    ("tools/check_json", "{}"),
    ("tools/check_json", "--fix", "{}"),
    ("tools/check_layers", "{}"),
    ("tools/check_words", "{}"),
    ("tools/check_shell", "{}"),
    ("tools/demo",),
    ("tools/demo", "--serve"),
    ("tools/sandbox",),
    ("tools/sandbox", "up", "{}/box"),
    ("tools/sandbox", "down", "{}/box"),
    ("tools/sandbox", "run"),
    ("tools/sandbox", "flush", "{}/box"),
    ("tools/sandbox", "start", "{}/box"),
    ("tools/sandbox", "start", "{}/box", "httpd"),
    ("tools/sandbox", "help"),
    ("tools/api_doc", "{}/a", "{}/b"),
    ("tools/embed_schema",),
    ("tools/install/install", "{}/build", "{}/prefix", "{}/root"),
    ("tools/install/uninstall", "{}/prefix", "{}/root"),
    ("tools/install/package",),
    ("tools/install/package", "configure"),
    ("container/run",),
    ("postfix-conf/asking",),
    ("postfix-conf/setup",),
    ("postfix-conf/check",),
    ("postfix-conf/enable",),
    ("postfix-conf/disable",),
    ("tests/run",),
    ("tests/layers/run",),
    ("tests/man/run", "{}"),
    ("tests/milter/run", "{}"),
    ("tests/fuzz/run",),
    ("tests/fuzz/run", "fuzz", "{}", "1"),
    ("tests/kills", "1", "1", "1"),
    ("tests/stalls", "1"),
    ("tests/browser/run",),
    ("tests/browser/seed", "{}/database", "1"),
    ("tests/package/root",),
    ("tests/package/root", "bookworm"),
    ("tests/package/root", "bookworm", "test"),
    ("tests/package/buildpackage",),
    ("tools/sandbox.d/postgresql",),
    ("tools/sandbox.d/postgresql", "stop", "{}/pg"),
    ("tests/bench/run",),
    (".ci/run",),
]
# Of these, those that load much before they read their arguments; they have one row.
SLOW = {"tests/kills", "tests/stalls", "tests/browser/run", "tests/browser/seed", "tests/bench/run"}
# Executable files that nobody starts by hand: make reads the first one, and the sandbox starts
# the others.
OTHERS = {"debian/rules", "tools/sandbox.d/guard", "tools/sandbox.d/watch"}

PROGRAMS = [
    ("postern-httpd",),
    ("postern-milter",),
    ("postern-events",),
    ("postern-webhook",),
    ("postern-auth",),
    ("postern-httpd", "-c", "{}/postern.conf"),
    ("postern-milter", "-c", "{}/postern.conf"),
    ("postern-events", "-c", "{}/postern.conf"),
    ("postern-webhook", "-c", "{}/postern.conf"),
    ("postern-auth", "-c", "{}/postern.conf"),
    ("gen/gen_docs",),
    ("postern",),
]


def refuses(command, word, folder):
    """Whether it does, and what it said."""
    command = [str(part).replace("{}", str(folder)) for part in command]
    done = subprocess.run(
        [*command, word], capture_output=True, text=True, timeout=60, cwd=TREE,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    status = 2 if command[0].endswith("tests/bench/run") else os.EX_USAGE
    said = done.stdout + done.stderr
    named = re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])|invalid option.*{word[-1]}", said)
    return done.returncode == status and named and not list(folder.iterdir()), said


@pytest.mark.scripts
@pytest.mark.parametrize("command", SCRIPTS, ids=" ".join)
def test_script(command, tmp_path):
    """Those of a developer's in Python or JavaScript, which take long to start, get one word."""
    for word in UNKNOWN[:1] if command[0] in SLOW else UNKNOWN:
        right, said = refuses((TREE / command[0], *command[1:]), word, tmp_path)
        assert right, said


@pytest.mark.scripts
def test_no_script_is_left_out():
    """Of the files that belong to the tree, which are not those of a build in it."""
    done = subprocess.run(["git", "ls-files", "--stage"], cwd=TREE, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip("the tree is no checkout of git")
    found = {line.split("\t")[1] for line in done.stdout.splitlines() if line.startswith("100755")}
    assert found - OTHERS == {command[0] for command in SCRIPTS}


@pytest.mark.scripts
def test_two_words_that_are_known(tmp_path):
    """Each of them is right alone."""
    right, said = refuses((TREE / "tools/deps", "build"), "run", tmp_path)
    assert right, said


@pytest.mark.parametrize("word", UNKNOWN)
@pytest.mark.parametrize("command", PROGRAMS, ids=" ".join)
def test_program(command, word, tmp_path):
    right, said = refuses((BUILD / command[0], *command[1:]), word, tmp_path)
    assert right, said


@pytest.mark.parametrize("word", UNKNOWN[1:])
def test_intake(word):
    """It says 75: at any other status pipe(8) returns the message that it was started for."""
    done = subprocess.run(
        [BUILD / "postern-intake", word], capture_output=True, text=True, timeout=60,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 75 and word.lstrip("-") in done.stderr


def verbs():
    """Of each verb of postern its words, an x for each that it takes, and whether it takes
    any number of them. Of two that differ by an option alone, as `key revoke --company ID`
    does from `key revoke ID`, the one that takes more."""
    said = subprocess.run(
        [BUILD / "postern", "--help"], capture_output=True, text=True, check=True
    ).stdout
    found = {}
    for line in re.findall(r"^  postern (.*)", said, re.M):
        words = re.split(r" \[?--", line)[0].split()
        fixed = [word for word in words if word.islower()]
        taken = [word for word in words if not word.islower()]
        many = any("..." in word for word in taken)
        other = found.get(tuple(fixed), ([], False))
        found[tuple(fixed)] = max(other, ([*fixed, *("x" * len(taken))], many))
    return found.values()


@pytest.mark.parametrize("word", UNKNOWN)
@pytest.mark.parametrize("words, many", list(verbs()), ids=str)
def test_verb(words, many, word, tmp_path):
    if many and not word.startswith("-"):
        pytest.skip("it takes any number of words")
    right, said = refuses((BUILD / "postern", *words), word, tmp_path)
    assert right, said
