"""What /metrics tells: in the right form, of what was done, to who may read it,
and whatever becomes of the other programs."""

import json
import re
import shutil
import smtplib
import subprocess
import uuid
from urllib.parse import urlsplit

import pytest
import yaml
from harness import wait_for
from harness.admin import Admin, by_token
from harness.sandbox import METHOD, TREE, unique
from prometheus_client.parser import text_string_to_metric_families

KINDS = {"counter", "gauge", "histogram", "summary"}
# What the values of labels are made of: no address, no id, nothing of a client.
LABELS = {
    "action": r"[a-z_]+",
    "code": r"[1-5][0-9][0-9]|other",
    "host": r"[A-Za-z0-9._-]+",
    "kind": r"[a-z_]+",
    "le": r"[0-9.e+-]+|\+Inf",
    "listener": r"api|admin",
    "method": r"[A-Z]+|other|smtp|sendmail",
    "name": r"[A-Za-z0-9._-]+",
    "outcome": r"[a-z]+",
    "part": r"[a-z]+",
    "program": r"postern-(httpd|milter|events|webhook)",
    "reason": r"[a-z_]+",
    "route": r"(/[a-z0-9{}._-]*)+|other",
    "state": r"[a-z]+",
    "version": r"[0-9.]+\S*",
}


class Numbers:
    """One reading of /metrics."""

    def __init__(self, text):
        self.text = text
        self.families = {f.name: f for f in text_string_to_metric_families(text)}
        self.samples = {
            (s.name, frozenset(s.labels.items())): s.value
            for f in self.families.values()
            for s in f.samples
        }

    def __call__(self, sample, **labels):
        """Returns the number; 0 if there is none yet."""
        return self.samples.get((sample, frozenset(labels.items())), 0)

    def names(self):
        return {name for name, _ in self.samples}


@pytest.fixture(scope="module")
def viewer(box):
    return by_token(box, unique("prometheus"), None, "viewer")


def read(client):
    answer = client.request("GET", "/metrics")
    assert answer.status_code == 200, answer.text
    kind = answer.headers["content-type"]
    assert kind == "text/plain; version=0.0.4; charset=utf-8"
    return Numbers(answer.text)


def send(box, **fields):
    return box.httpd().send(
        {"from": "hello@example.com", "to": unique() + "@dst.test", "subject": "x",
         "text": "x", **fields}
    )


def test_form(box, viewer):
    send(box)
    box.httpd().get("none")
    numbers = read(viewer)
    assert numbers.text.endswith("\n")
    seen = set()
    for line in numbers.text.splitlines():
        if line.startswith("# TYPE"):
            name, kind = line.split()[2:]
            assert kind in KINDS and name not in seen
            assert (kind == "counter") == name.endswith("_total"), name
            seen.add(name)
        elif line.startswith("# HELP"):
            assert line.endswith("."), line
    for family in numbers.families.values():
        assert family.name.startswith(("postern_", "process_")), family.name
        assert family.documentation
        assert not re.search(r"_(ms|us|millis|kb|mib|percent)(_|$)", family.name)
        for sample in family.samples:
            for label, value in sample.labels.items():
                assert re.fullmatch(LABELS[label], value), sample
    # None is told twice.
    lines = [l.rsplit(" ", 1)[0] for l in numbers.text.splitlines() if l[0] != "#"]
    assert len(lines) == len(set(lines))


def test_promtool(viewer):
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("there is no promtool here")
    subprocess.run([promtool, "check", "metrics"], input=read(viewer).text, text=True,
                   check=True, timeout=60)


def test_requests(box, viewer):
    name = "postern_http_requests_total"
    took = "postern_http_request_duration_seconds"
    route = {"listener": "api", "method": "GET", "route": "/emails/{}"}
    before = read(viewer)
    for _ in range(3):
        assert box.httpd().get(str(uuid.uuid4())).status_code == 404
    assert box.httpd("none").request("GET", "/emails/x").status_code in (400, 401, 403)
    with box.httpd().raw() as raw:
        raw.send(b"GET /emails HTTP/1.0\r\nbad head\r\n\r\n")
        assert raw.answer().status == 400
    with box.httpd().raw() as raw:
        raw.send(b"GET /" + unique().encode() + b" HTTP/1.1\r\nHost: x\r\n\r\n")
        assert raw.answer().status == 404
    after = read(viewer)
    assert after(name, **route, code="404") - before(name, **route, code="404") >= 3
    for number, status in ((1, "400"), (1, "404")):
        labels = {"listener": "api", "method": "other", "route": "other", "code": status}
        assert after(name, **labels) - before(name, **labels) >= number
    assert after(took + "_count", **route) - before(took + "_count", **route) >= 3
    assert after(took + "_sum", **route) > before(took + "_sum", **route)
    # The buckets of a histogram only rise, up to all.
    buckets = [s for s in after.families[took].samples
               if s.name == took + "_bucket" and route.items() <= s.labels.items()]
    values = [s.value for s in buckets]
    assert values == sorted(values) and buckets[-1].labels["le"] == "+Inf"
    assert values[-1] == after(took + "_count", **route)
    own = {"listener": "admin", "method": "GET", "route": "/metrics", "code": "200"}
    assert after(name, **own) > before(name, **own)


@pytest.mark.submission
def test_an_email(box, viewer):
    before = read(viewer)
    send(box)
    send(box)

    def moved(sample, by=1, **labels):
        after = read(viewer)
        return after(sample, **labels) - before(sample, **labels) >= by

    assert moved("postern_submissions_total", 2, method=METHOD, outcome="queued")
    assert moved("postern_emails_total", 2, outcome="sent")
    assert moved("postern_store_commits_total", program="postern-httpd")
    assert moved("postern_store_jobs_total", 2)
    for sample, labels in (
        ("postern_milter_verdicts_total", {"action": "record"}),
        ("postern_store_commits_total", {"program": "postern-milter"}),
        ("postern_store_fsync_duration_seconds_count", {"program": "postern-milter"}),
        ("postern_delivery_events_total", {"kind": "accepted"}),
        ("postern_delivery_events_total", {"kind": "delivered"}),
        ("postern_log_lines_total", {}),
        ("postern_store_commits_total", {"program": "postern-events"}),
    ):
        wait_for(f"{sample} {labels} to move", lambda: moved(sample, **labels))
    now = read(viewer)
    assert now("postern_milter_in_charge") == 1
    assert now("postern_log_read_to_end_timestamp_seconds") > 0
    assert box.on_server or now("postern_store_size_bytes") > 0
    for program in ("postern-httpd", "postern-milter", "postern-events"):
        assert now("postern_up", program=program) == 1
        assert now("process_resident_memory_bytes", program=program) > 1e6
        assert now("process_open_fds", program=program) > 2
        assert now("process_start_time_seconds", program=program) > 1.7e9
    for part in ("store", "postfix", "milter", "submission", "outbox", "settings"):
        assert now("postern_part_up", part=part) == 1


def test_a_refusal_and_a_test(box, viewer):
    before = read(viewer)
    host, port = box.env["POSTFIX_SMTP"].split(":")
    with smtplib.SMTP(host, int(port), timeout=60) as smtp, pytest.raises(
        smtplib.SMTPDataError
    ):
        smtp.sendmail("hello@example.com", "a@dst.test",
                      "From: hello@example.com\r\nSubject: x\r\n\r\nx\r\n")

    def stopped():
        now = read(viewer)
        name = "postern_milter_stopped_total"
        refused = "postern_milter_verdicts_total"
        return (
            now(name, reason="no_ticket") > before(name, reason="no_ticket")
            and now(refused, action="refuse") > before(refused, action="refuse")
        )

    wait_for("the refusal to be counted", stopped)


def test_who_may_read(own_box):
    box = own_box()
    assert Admin(box).status("GET", "/metrics") == 401
    owner = by_token(box, unique("owner"), box.company())
    assert owner.status("GET", "/metrics") == 403
    viewer = by_token(box, unique("v"), None, "viewer")
    assert viewer.status("GET", "/metrics") == 200
    # Without a token only where a setting says so, and never to a page of
    # another site.
    box.set("admin", "metrics", "loopback")
    box.restart("httpd")
    anybody = Admin(box)
    wait_for("httpd", lambda: answers(anybody))
    assert anybody.status("GET", "/metrics") == 200
    assert anybody.status("GET", "/admin/health") == 401
    foreign = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.test"}
    assert anybody.status("GET", "/metrics", headers=foreign) == 401
    # Nor to one whose name was made to mean this host (DNS rebinding), which to
    # the browser is its own site.
    port = urlsplit(box.env["POSTERN_ADMIN_URL"]).port
    for host, status in [
        (f"evil.test:{port}", 421),
        ("127.0.0.1.evil.test", 421),
        ("localhost.evil.test", 421),
        ("[::1].evil.test", 400),
        (f"localhost:{port}", 200),
        (f"[::1]:{port}", 200),
        ("127.0.0.2", 200),
    ]:
        answer = anybody.request(
            "GET", "/metrics", own_page=False, headers={"Host": host}
        )
        assert answer.status_code == status, host
    # Behind a proxy everybody comes from this host.
    box.set("admin", "url", "https://admin.example")
    box.restart("httpd")
    wait_for("httpd", lambda: answers(anybody))
    assert anybody.status("GET", "/metrics") == 401


def answers(client):
    try:
        return client.session.get(client.url + "/healthz", timeout=60).ok
    except OSError:
        return False


def values_of(box, program):
    return box.dir / f"store/postern.db-metrics-{program}"


def test_other_programs_come_and_go(own_box):
    box = own_box()
    viewer = by_token(box, unique("v"), None, "viewer")
    verdicts = ("postern_milter_verdicts_total", {"action": "record"})

    def up(program):
        return read(viewer)("postern_up", program=program)

    def records():
        return read(viewer)(verdicts[0], **verdicts[1])

    send(box)
    wait_for("the verdict", lambda: records() == 1)
    # What a program has counted before it ended is still told.
    box.stop("milter")
    now = read(viewer)
    assert now("postern_up", program="postern-milter") == 0
    assert now(verdicts[0], **verdicts[1]) == 1
    assert "does not run" in now.text
    assert ("process_open_fds", frozenset({("program", "postern-milter")})) not in now.samples
    ready = viewer.request("GET", "/readyz")
    assert ready.status_code == 503 and "postern-milter" in ready.text
    # A new one counts from 0.
    box.start("milter")
    wait_for("the milter", lambda: up("postern-milter"))
    assert records() == 0
    send(box)
    wait_for("the verdict", lambda: records() == 1)
    # One that is killed is seen to be gone, too, until the next one is there.
    old = box.pid("events")
    box.stop("events")
    assert up("postern-events") == 0
    box.start("events")
    wait_for("events", lambda: box.pid("events") not in (None, old))
    wait_for("events", lambda: up("postern-events"))


@pytest.mark.parametrize("damage", ["junk", "cut", "empty", "gone", "long", "folder"])
def test_a_damaged_file(own_box, damage):
    box = own_box()
    viewer = by_token(box, unique("v"), None, "viewer")
    wait_for("the milter", lambda: read(viewer)("postern_up", program="postern-milter"))
    box.stop("milter")
    path = values_of(box, "milter")
    if damage == "junk":
        path.write_bytes(b"postern_up 1\n" * 40)
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:70])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "long":
        with path.open("r+b") as file:
            file.truncate(2**40)
    else:
        path.unlink()
    if damage == "folder":
        path.mkdir()
    now = read(viewer)
    assert now("postern_up", program="postern-milter") == 0
    assert "postern_milter_verdicts_total" not in now.names()
    assert ("missing" if damage == "gone" else "damaged") in now.text
    # The milter works all the same, and makes it anew.
    box.start("milter")
    send(box)
    if damage == "folder":
        assert read(viewer)("postern_up", program="postern-milter") == 0
        path.rmdir()
    wait_for("the milter", lambda: read(viewer)("postern_up", program="postern-milter"))


DOC = TREE / "doc"
# What Prometheus adds to every sample, and what a query may make of one.
ADDED = {"instance", "job", "le"}
SELECTOR = re.compile(r"\b((?:postern|process)_[a-z0-9_]+)(?:\{([^}]*)\})?")
GROUPED = re.compile(r"\b(?:by|on|without|ignoring) \(([^)]*)\)")


def check_query(numbers, query):
    """The metrics and labels that the query names exist."""
    names = {}
    for family in numbers.families.values():
        for sample in family.samples:
            names.setdefault(sample.name, set()).update(sample.labels)
        if not family.samples:  # of which nothing happened yet
            total = "_total" if family.type == "counter" else ""
            names.setdefault(family.name + total, set()).update(LABELS)
    known = ADDED | set().union(*names.values())
    found = SELECTOR.findall(query)
    assert found, query
    for name, matchers in found:
        assert name in names, (name, query)
        for label in re.findall(r"([a-z_]+)\s*[!=]~?", matchers):
            assert label in names[name] | ADDED, (name, label)
    for labels in GROUPED.findall(query):
        assert set(re.findall(r"[a-z_]+", labels)) <= known, query


def test_rules(box, viewer):
    """Each alert uses existing metrics, and says what to do."""
    path = DOC / "prometheus-rules.yml"
    groups = yaml.safe_load(path.read_text())["groups"]
    send(box)
    numbers = read(viewer)
    names = set()
    for rule in (rule for group in groups for rule in group["rules"]):
        check_query(numbers, rule["expr"])
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert rule["annotations"]["summary"] and rule["annotations"]["description"]
        names.add(rule["alert"])
    assert len(names) == sum(len(group["rules"]) for group in groups)


def test_rules_fire(tmp_path):
    """Some alerts, as Prometheus evaluates them."""
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("there is no promtool here")
    rules = DOC / "prometheus-rules.yml"
    subprocess.run([promtool, "check", "rules", rules], check=True, timeout=60)

    def fires(alert, minute, labels, *series):
        """At that minute with these labels, or not, and not half an hour before."""
        text = ",".join(f'{k}="{v}"' for k, v in (labels or {}).items())
        alerts = f'ALERTS{{alertname="{alert}",alertstate="firing"}}'
        samples = [{"labels": alerts.replace("}", f",{text}}}"), "value": 1}]
        return {
            "interval": "1m",
            "input_series": [{"series": s, "values": v} for s, v in series],
            "promql_expr_test": [
                {"expr": alerts, "eval_time": f"{minute - 30}m", "exp_samples": []},
                {"expr": alerts, "eval_time": f"{minute}m",
                 "exp_samples": samples if labels else []},
            ],
        }

    requests = 'postern_http_requests_total{instance="a",listener="api",code="%s"}'
    events = 'postern_delivery_events_total{instance="a",kind="%s"}'
    tests = [
        fires("PosternProgramDown", 60,
              {"severity": "critical", "instance": "a", "program": "postern-milter"},
              ('postern_up{instance="a",program="postern-milter"}', "1x40 0x40")),
        fires("PosternErrors", 90, {"severity": "critical", "instance": "a"},
              (requests % "200", "0+100x100"), (requests % "503", "0x60 0+50x40")),
        fires("PosternErrors", 90, None,
              (requests % "200", "0+100x100"), (requests % "422", "0x60 0+50x40")),
        fires("PosternLogBehind", 60, {"severity": "warning", "instance": "a"},
              ('postern_log_read_to_end_timestamp_seconds{instance="a"}',
               "0+60x30 1800x60"),
              ('postern_up{instance="a",program="postern-events"}', "1x100")),
        fires("PosternManyBounces", 180, {"severity": "warning", "instance": "a"},
              (events % "delivered", "0+10x200"), (events % "bounced", "0x140 0+9x60")),
    ]
    file = tmp_path / "tests.yml"
    file.write_text(yaml.safe_dump({
        "rule_files": [str(rules)], "evaluation_interval": "1m", "tests": tests}))
    done = subprocess.run([promtool, "test", "rules", file], capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


# A database on a server has no size here.
OF_FILE = re.compile(r"postern_store_(log_)?size_bytes\b")


def test_dashboard(box, viewer):
    """Every panel uses existing metrics, and no two panels overlap."""
    dashboard = json.loads((DOC / "grafana-dashboard.json").read_text())
    assert dashboard["title"] == "Postern" and dashboard["id"] is None
    variables = {v["name"] for v in dashboard["templating"]["list"]}
    send(box)
    numbers = read(viewer)
    ids, places, shown = set(), set(), set()
    for panel in dashboard["panels"]:
        assert panel["id"] not in ids
        ids.add(panel["id"])
        place = panel["gridPos"]
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert x < 24 and (x, y) not in places, panel["title"]
                places.add((x, y))
        if panel["type"] == "row":
            continue
        assert panel["datasource"]["uid"] == "${datasource}"
        assert panel["targets"]
        for target in panel["targets"]:
            if not (box.on_server and OF_FILE.match(target["expr"])):
                check_query(numbers, target["expr"])
            shown |= {name for name, _ in SELECTOR.findall(target["expr"])}
            used = set(re.findall(r"\$([a-z]+)", target["expr"]))
            assert used <= variables, target["expr"]
    # None of Postern's is forgotten, but for limits and what is beside others.
    families = {re.sub("_(bucket|sum|count|total)$", "", name) for name in shown}
    missing = {f for f in numbers.families if f.startswith("postern_")} - families
    assert missing <= {
        "postern_build", "postern_build_info", "postern_store_volume_bytes",
        "postern_store_waiting_jobs", "postern_log_position_timestamp_seconds",
        "postern_host", "postern_host_info", "postern_heartbeat_timestamp_seconds",
    }, missing
