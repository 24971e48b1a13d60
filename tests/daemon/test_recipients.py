"""How many recipients an email may have."""

import pytest
from harness import File, FormClient
from harness.form import check_refused
from harness.httpd import check_problem
from harness.sandbox import unique

pytestmark = pytest.mark.submission


def people(n, word="p"):
    return [f"{unique(word)}@dst.test" for _ in range(n)]


@pytest.mark.parametrize(
    "to, cc, bcc",
    [(1, 0, 0), (50, 0, 0), (1, 49, 0), (1, 0, 49), (20, 20, 10)],
)
def test_up_to_the_limit(box, httpd, email, to, cc, bcc):
    email.update(to=people(to), cc=people(cc), bcc=people(bcc))
    email_id = httpd.send(email)
    everybody = email["to"] + email["cc"] + email["bcc"]
    seen = httpd.read(email_id)
    assert [seen[f] for f in ("to", "cc", "bcc")] == [
        email[f] for f in ("to", "cc", "bcc")
    ]
    mail = box.sink.find(message_id=seen["message_id"])
    assert sorted(mail.recipients) == sorted(everybody)
    assert [a for _, a in mail.addresses("To")] == email["to"]
    assert [a for _, a in mail.addresses("Cc")] == email["cc"]


@pytest.mark.parametrize("to, cc, bcc", [(51, 0, 0), (1, 50, 0), (1, 0, 50), (17,) * 3])
def test_over_the_limit(box, httpd, email, to, cc, bcc):
    email.update(to=people(to), cc=people(cc), bcc=people(bcc))
    answer = httpd.post(email)
    check_problem(answer, 422, "validation_error", "50")
    assert not box.sink.now(to=email["to"][0])


def test_limit_is_a_setting(own_box, email):
    box = own_box("--set", "http.max_recipients=2")
    httpd = box.httpd()
    httpd.send({**email, "cc": people(1)})
    answer = httpd.post({**email, "cc": people(2)})
    check_problem(answer, 422, "validation_error", "2")
    form = FormClient(box)
    form.send({**email, "cc": people(1)})
    message = "Too many recipients, max is 2"
    check_refused(form.post({**email, "cc": people(2)}), 400, message)
    mime = {"to": people(3), "message": File("m", b"From: hello@example.com\n\nx\n")}
    check_refused(form.post(mime, path="messages.mime"), 400, message)
