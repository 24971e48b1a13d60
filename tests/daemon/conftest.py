"""What the black-box tests share."""

import collections
import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from harness import FormClient, Sandbox
from harness.sandbox import METHOD, STORE, unique

CACHE = "POSTERN_SANDBOX_CACHE"

# Files whose tables are bytes for a parser that unit tests and fuzzers run with the same sanitizers,
# each with tables of its own. Of such a table the suite shared takes every fifth row, except for
# the tests in NOT_PARSED, whose rows are routes, domains and rights.
PARSED = {
    "test_attachments": ("test_mime_attachment", "fuzz_email_json"),
    "test_field_types": ("test_email_json", "fuzz_manage_json"),
    "test_form_errors": ("test_form_email", "fuzz_form_multipart"),
    "test_form_fields": ("test_form_email", "fuzz_addr"),
    "test_form_files": ("test_mime_attachment", "fuzz_form_multipart"),
    "test_form_hostile": ("test_form_multipart", "fuzz_form_multipart"),
    "test_form_mime": ("test_mime_edit", "fuzz_mime"),
    "test_form_multipart": ("test_form_multipart", "fuzz_form_multipart"),
    "test_form_options": ("test_form_email", "fuzz_form_urlencoded"),
    "test_form_transport": ("test_http_chunks", "fuzz_form_multipart"),
    "test_form_variables": ("test_form_macros", "fuzz_json_long"),
    "test_http": ("test_http_head", "fuzz_http_head"),
    "test_odd_addresses": ("test_addr", "fuzz_addr"),
    "test_send_errors": ("test_email_json", "fuzz_email_json"),
    "test_unicode": ("test_mime_header", "fuzz_email_json"),
}
NOT_PARSED = {"test_unknown_route", "test_wrong_method", "test_from_of_another_domain",
              "test_domain_of_tickets", "test_source_route", "test_get_with_a_body"}

# Files whose tests share a sandbox, and take so long that nothing else would be left to run beside
# them if they started in their turn.
LONGEST = {"test_probe"}


def pytest_configure(config):
    """To be terminated is to be interrupted: sandboxes go down first. They share
    what all begin with, also those of other processes."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if CACHE not in os.environ:
        os.environ[CACHE] = tempfile.mkdtemp(prefix="postern-cache.")
        config.add_cleanup(lambda: shutil.rmtree(os.environ.pop(CACHE)))
    config.addinivalue_line(
        "markers",
        "submission(method): it matters how mail gets into Postfix, so it runs"
        " for each method of submission, or for the named one only",
    )
    config.addinivalue_line(
        "markers",
        "scripts: of scripts, and of Postfix as they set it up, which are the same for"
        " every build",
    )
    config.addinivalue_line(
        "markers", "one_method: what is for one method of submission; set by itself"
    )
    config.addinivalue_line(
        "markers",
        "shared: leaves the parts of the sandbox alone, which is that of all such tests, and is not"
        " one of many rows that a parser reads; set by itself",
    )
    config.addinivalue_line(
        "markers",
        "store(engine): what depends on the engine of the store, so it runs for both; or, with a"
        " name, what is of that one alone, or the same for both",
    )
    config.addinivalue_line(
        "markers",
        "plain: what a sanitizer changes: memory, and much at once",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Leaves out what is for another method of submission, or another engine. Of processes side by
    side each takes one test after another, the slow ones first; those that share
    a sandbox of their file stay together."""
    others = [i for i in items if not fits(i)]
    items[:] = [i for i in items if fits(i)]
    rows = collections.Counter()
    for item in items:
        if methods_of(item):
            item.add_marker("one_method")
        if slowness(item) == 0 and "box" in item.fixturenames:
            table = item.nodeid.partition("[")[0]
            is_parsed = item.path.stem in PARSED and item.originalname not in NOT_PARSED
            if not is_parsed or rows[table] % 5 == 0:
                item.add_marker("shared")
            rows[table] += 1
    config.hook.pytest_deselected(items=others)
    if hasattr(config, "workerinput"):
        items.sort(key=slowness, reverse=True)
        for item in items:
            if has_box_of_file(item):
                item.add_marker(pytest.mark.xdist_group(item.path.stem))


def methods_of(item):
    """The methods of submission that the test is for, as often as a mark names some."""
    return [m.args for m in item.iter_markers("submission") if m.args]


def fits(item):
    engines = [m.args for m in item.iter_markers("store") if m.args]
    return all(METHOD in m for m in methods_of(item)) and all(STORE in e for e in engines)


def has_box_of_file(item):
    """Whether the test uses a fixture that is made once for its file."""
    fixtures = item._fixtureinfo.name2fixturedefs.values()
    return any(f[-1].scope == "module" for f in fixtures)


def slowness(item):
    if has_box_of_file(item):
        return 3 if item.path.stem in LONGEST else 2
    return 1 if "own_box" in item.fixturenames else 0


@pytest.fixture(scope="session")
def box(request):
    """The sandbox of all tests that leave its parts alone."""
    with Sandbox(parts=("webhook", "auth")) as sandbox:
        sandbox.put_behind_proxy()
        yield sandbox
        sandbox.failed = request.session.testsfailed > 0


@pytest.fixture
def own_box(request):
    """Makes a sandbox for one test: own_box("--set", "http.workers=1")."""
    made = []

    def make(*options, parts=()):
        made.append(Sandbox(*options, parts=parts))
        return made[-1]

    yield make
    for sandbox in made:
        sandbox.failed = request.node.rep_call_failed
        sandbox.close()


@pytest.fixture
def sendmail():
    """A name of sendmail(1) that a test may take away."""
    with tempfile.TemporaryDirectory(prefix="postern.") as folder:
        Path(folder).chmod(0o755)
        name = Path(folder) / "sendmail"
        name.symlink_to("/usr/sbin/sendmail")
        yield name


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if call.when == "call":
        item.rep_call_failed = report.failed


@pytest.fixture
def httpd(box):
    """A client with the key that may do all."""
    return box.httpd()


@pytest.fixture
def to():
    """A recipient that no other test uses."""
    return unique("to") + "@dst.test"


@pytest.fixture
def email(to):
    """The smallest email, to that recipient."""
    return {"from": "hello@example.com", "to": to, "text": "Hello"}


@pytest.fixture
def form(box):
    """A client of the form dialect with the key that may do all."""
    return FormClient(box)


@pytest.fixture
def fields(to):
    """The smallest form, to that recipient."""
    return {"from": "hello@example.com", "to": to, "text": "Hello"}
