"""postern doctor finds what is broken in Postfix's settings and processes, row by row."""

import os
import time

import pytest
from harness import wait_for
from harness.milter import OtherMilter
from test_doctor import box, doctor, fault, faults  # noqa: F401 (a sandbox of this file)
from test_postfix_conf_probe import Changed

pytestmark = pytest.mark.submission("sendmail")


@pytest.fixture
def changed(box):
    changed = Changed(box)
    yield changed
    changed.undo()


# What main.cf says, the check that finds it, a part of its text, and what mends it.
SETTINGS = [
    ("smtpd_milters =", "smtpd_milters", "lacks unix:", "postern setup"),
    ("non_smtpd_milters =", "non_smtpd_milters", "lacks unix:", "postern setup"),
    ("smtpd_milters = { unix:postern/milter.sock, default_action=accept }", "default_action",
     "default_action is accept", "postern setup"),
    ("smtpd_milters = unix:postern/milter.sock, unix:postern/milter.sock", "smtpd_milters",
     "more than once", "postern setup"),
    ("transport_maps =", "tickets", "transport_maps lacks", "postern setup"),
    ("milter_protocol = 4", "milter_protocol", "is 4", "postconf -X milter_protocol"),
    ("receive_override_options = no_milters", "no_milters", "no_milters", None),
    ("smtpd_milter_maps = cidr:{ {127.0.0.0/8 DISABLE} }", "milter_maps", "127.0.0.1", None),
    ("header_checks = regexp:{ {/^X-Postern/ REJECT no} }", "header_checks",
     "has REJECT for the field X-Postern-Email-Id", None),
    ("canonical_maps = regexp:{ {/./ all@x.test} }", "tickets", "canonical_maps takes tickets",
     "postern setup"),
    ("internal_mail_filter_classes = bounce", "internal_mail", "bounce",
     "postconf -X internal_mail_filter_classes"),
    ("authorized_submit_users = nobody", "submit_users", "leaves out", None),
    ("message_size_limit = 1000000", "message_size", "message_size_limit is 1000000",
     "postconf -e message_size_limit="),
    ("mynetworks = 0.0.0.0/0", "networks", "0.0.0.0/0", None),
    ("mynetworks = 127.0.0.0/8 198.51.0.0/16", "networks", "198.51.0.0/16", None),
    ("smtpd_relay_restrictions = permit", "relay", "lets strangers", None),
    ("maximal_queue_lifetime = 1h", "lifetime", "is 1h", "postconf -X maximal_queue_lifetime"),
    ("smtp_generic_maps = inline:{hello@example.com=x@place.test}", "signed_fields",
     "changes hello@example.com into x@place.test", None),
    ("smtp_header_checks = regexp:{ {/^From:.*example/ REPLACE From: x@place.test} }",
     "signed_fields", "has REPLACE", None),
    ("queue_minfree = 9000000000000000", "minfree", "Postfix wants", None),
    ("content_filter = smtp:[127.0.0.1]:1", "no_milters", "content_filter", None),
]


def side_by_side(rows):
    """The rows in as few groups as may be: in each a parameter and a check stand once.
    To ask doctor costs a second, and each of its checks looks for itself."""
    groups = []
    for row in rows:
        taken = {row[0].partition("=")[0].strip(), row[1]}
        for names, group in groups:
            if not names & taken:
                break
        else:
            names, group = set(), []
            groups.append((names, group))
        names |= taken
        group.append(row)
    return [group for _, group in groups]


@pytest.mark.parametrize("rows", side_by_side(SETTINGS),
                         ids=lambda rows: "-".join(row[1] for row in rows))
def test_settings_of_postfix(box, changed, rows):
    changed.main_cf(*(row[0] for row in rows))
    found = doctor(box)
    for _, check, text, mend in rows:
        row = fault(found, check, text)
        assert (row["mend"] or "").startswith(mend or ""), row
        assert mend is None or row["mend"]
        assert not row["safe"]


def test_a_service_with_milters_of_its_own(box, changed):
    changed.master_cf("syslog_name=postfix/postern" if "postfix/postern" in changed.before[1]
                      else "cleanup    unix  n  -  y  -     0  cleanup", "-o non_smtpd_milters=")
    assert fault(doctor(box), "services", "has its own non_smtpd_milters")


def test_postfix_was_not_reloaded(box, changed):
    main_cf = box.dir / "postfix/main.cf"
    wait_for("a process that is older", lambda: time.time() > main_cf.stat().st_mtime + 3)
    now = time.time() + 5
    os.utime(main_cf, (now, now))
    row = fault(doctor(box), "reload", "was changed after")
    assert row["mend"] == "postfix reload"


def test_a_signer_that_mail_passes_by(box, changed):
    with OtherMilter() as other:
        name = other.name
        ours = "unix:postern/milter.sock"
        signer = f"{{ {name}, default_action=accept }}"
        # By its name it is one.
        changed.main_cf(f"smtpd_milters = {ours}, inet:localhost:8891",
                        f"non_smtpd_milters = {ours}, {signer}")
        found = doctor(box)
    assert fault(found, "signer", "non_smtpd_milters lacks it")


def test_another_instance(box, changed, tmp_path):
    (tmp_path / "main.cf").write_text("compatibility_level = 3.6\n")
    (tmp_path / "master.cf").write_text("")
    changed.main_cf(f"multi_instance_directories = {tmp_path}")
    assert fault(doctor(box), "instances", str(tmp_path))


def test_postfix_is_stopped(box):
    box.stop("postfix")
    try:
        found = doctor(box)
    finally:
        box.start("postfix")
    assert fault(found, "postfix", "not running")["mend"] == "postfix start"


def test_the_chroot_has_another_resolver(box):
    folder = box.dir / "queue/etc"
    existed = folder.exists()
    folder.mkdir(exist_ok=True)
    copy = folder / "resolv.conf"
    before = copy.read_bytes() if copy.exists() else None
    copy.write_text("nameserver 192.0.2.1\n")
    try:
        assert fault(doctor(box), "resolver", "differs")
    finally:
        if before is None:
            copy.unlink()
        else:
            copy.write_bytes(before)
        if not existed:
            folder.rmdir()
