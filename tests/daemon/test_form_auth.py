"""The form dialect: who may send, and as which domain."""

import base64

import pytest
from harness import FormClient
from harness.form import basic, check_forbidden, check_refused, queued_id
from harness.sandbox import unique

KEY = "ps_" + "A" * 43

FORBIDDEN = {
    "nothing": "Basic",
    "an empty word": "Basic ",
    "no base64": "Basic !!!",
    "no colon": "Basic " + base64.b64encode(b"api").decode(),
    "no key": basic("api", ""),
    "unknown key": basic("api", KEY),
    "long key": basic("api", "x" * 5000),
    "key with a colon": basic("api", "a:b"),
    "key that is no text": "Basic " + base64.b64encode(b"api:\xff\0\n").decode(),
    "another scheme": "Digest x",
    "bearer": f"Bearer {KEY}",
}


@pytest.fixture
def company(box):
    return box.company()


@pytest.fixture
def domain(box, company):
    return box.domain(company)


@pytest.fixture
def client(box, company):
    """Returns a client with a new key of the company."""

    def make(path_domain, **spec):
        key = box.new_key(company, **spec)["token"]
        return FormClient(box, key, path_domain)

    return make


def as_sender(fields, domain):
    return {**fields, "from": f"hello@{domain}"}


@pytest.mark.parametrize("path", ["messages", "messages.mime"])
@pytest.mark.parametrize("case", FORBIDDEN)
def test_forbidden(form, fields, case, path):
    check_forbidden(form.post(fields, path=path, authorization=FORBIDDEN[case]))


@pytest.mark.parametrize("user", ["", "API", "Api", "api ", "apix", "user", "key"])
def test_other_users(form, fields, user):
    answer = form.post(fields, authorization=basic(user, form.httpd.key))
    check_forbidden(answer)


def test_no_field_at_all(form, fields):
    """Also for a domain that does not exist."""
    for domain in ("example.com", "unknown.example"):
        check_forbidden(
            form.exchange(
                f"POST /v3/{domain}/messages HTTP/1.1\r\nHost: x\r\n"
                "Content-Length: 0\r\n\r\n".encode()
            )
        )


def test_bearer_key_does_not_send_forms(form, fields):
    answer = form.post(fields, authorization=f"Bearer {form.httpd.key}")
    check_forbidden(answer)


def test_basic_key_does_not_read(form):
    answer = form.httpd.get(
        "3c0d6a52-6c7b-4a0a-9b1c-2b5b7f5a8f11",
        headers={"Authorization": form.authorization},
    )
    assert answer.status_code == 401
    assert answer.json()["name"] == "missing_api_key"


def test_part_of_a_key(form, fields):
    key = form.httpd.key
    for wrong in (key[:-1], key + "A", key.swapcase(), key + "\0"):
        check_forbidden(form.post(fields, authorization=basic("api", wrong)))


@pytest.mark.parametrize("scheme", ["basic", "BASIC", "Basic  "])
def test_spellings_of_basic(form, fields, scheme):
    credentials = form.authorization.split(" ", 1)[1]
    answer = form.post(fields, authorization=f"{scheme} {credentials}")
    queued_id(answer)


def test_refused_before_the_body(form):
    """Without a valid key the client is not asked for the body."""
    head = form.head(
        "Expect: 100-continue",
        "Content-Length: 1000000",
        "Content-Type: multipart/form-data; boundary=x",
        authorization=basic("api", KEY),
    )
    check_forbidden(form.exchange(head))


def test_refused_while_the_body_comes(form):
    answer = form.post_body(
        "multipart/form-data; boundary=x",
        bytes(4_000_000),
        authorization=basic("api", KEY),
    )
    check_forbidden(answer)


def test_revoked_key(box, company, domain, fields):
    key = box.new_key(company)
    form = FormClient(box, key["token"], domain)
    form.send(as_sender(fields, domain))
    box.cli("key", "revoke", key["id"])
    check_forbidden(form.post(as_sender(fields, domain)))


def test_key_of_a_removed_domain(box, company, domain, client, fields):
    form = client(domain, domain=domain)
    form.send(as_sender(fields, domain))
    box.cli("domain", "remove", domain)
    check_forbidden(form.post(as_sender(fields, domain)))


@pytest.mark.parametrize("scope", ["sending", "sending,reading"])
@pytest.mark.parametrize("bound", [True, False], ids=["bound", "free"])
def test_keys_that_send(box, domain, client, fields, scope, bound):
    form = client(domain, scope=scope, domain=domain if bound else None)
    mail = form.deliver(as_sender(fields, domain))
    assert mail.sender == f"hello@{domain}"
    assert mail.addresses("From") == [("", f"hello@{domain}")]


def test_unknown_and_foreign_domain_look_alike(box, form, fields):
    """The answer does not reveal domains of others."""
    foreign = box.domain(box.company())
    inactive = box.domain(box.company(), active=False)
    for domain in (foreign, inactive, unique("unknown") + ".example", "com", "x_"):
        other = FormClient(box, domain=domain)
        answer = other.post(as_sender(fields, domain))
        check_refused(answer, 404, f"Domain not found: {domain}")


def test_unknown_domain_with_a_key_that_may_not_send(box, client, fields):
    form = client("unknown.example", scope="reading")
    check_refused(form.post(fields), 404, "Domain not found: unknown.example")


def check_not_allowed(answer, domain):
    check_refused(answer, 403, answer.json()["message"])
    start = f"Domain {domain} is not allowed to send: "
    assert answer.json()["message"].startswith(start)
    return answer.json()["message"][len(start) :]


def test_inactive_domain(box, company, client, fields):
    domain = box.domain(company, active=False)
    form = client(domain)
    why = check_not_allowed(form.post(as_sender(fields, domain)), domain)
    assert "not active" in why
    box.cli("domain", "activate", domain)
    form.send(as_sender(fields, domain))
    box.cli("domain", "deactivate", domain)
    check_not_allowed(form.post(as_sender(fields, domain)), domain)


@pytest.mark.parametrize("scope", ["reading", "managing", "reading,managing"])
def test_key_without_the_scope(client, domain, fields, scope):
    form = client(domain, scope=scope)
    why = check_not_allowed(form.post(as_sender(fields, domain)), domain)
    assert "scope" in why


def test_key_bound_to_another_domain(box, company, client, domain, fields):
    form = client(domain, domain=box.domain(company))
    why = check_not_allowed(form.post(as_sender(fields, domain)), domain)
    assert "bound to another domain" in why


def test_from_must_match_the_path(box, company, client, domain, fields):
    """Even if the company owns both domains."""
    form, other = client(domain), box.domain(company)
    for sender in (other, f"sub.{domain}", f"x{domain}", "example.com"):
        check_refused(
            form.post(as_sender(fields, sender)),
            400,
            f"from domain {sender} does not match the sending domain {domain}",
        )
    assert not box.sink.now(to=fields["to"])


def test_letter_case_of_domains(box, fields):
    form = FormClient(box, domain="Example.COM")
    mail = form.deliver({**fields, "from": "Hello@EXAMPLE.com"})
    assert mail.sender == "Hello@example.com"


@pytest.mark.parametrize("path", ["bücher", "b%C3%BCcher", "xn--bcher-kva"])
@pytest.mark.parametrize("sender", ["bücher", "xn--bcher-kva"])
def test_international_domain(box, company, client, fields, path, sender):
    name = unique("idn") + ".example"
    box.domain(company, name=f"bücher.{name}")
    form = client(f"{path.encode().decode('latin-1')}.{name}")
    if path == "bücher":
        # Only ASCII stands in a request line (RFC 3986).
        assert form.post(fields).status == 400
        return
    mail = form.deliver({**fields, "from": f"hello@{sender}.{name}"})
    assert mail.sender == f"hello@xn--bcher-kva.{name}"


def test_other_methods_and_paths(form):
    for method, path, status in (
        ("GET", "messages", 405),
        ("PUT", "messages", 405),
        ("DELETE", "messages.mime", 405),
        ("POST", "messages/", 404),
        ("POST", "Messages", 404),
        ("POST", "messages.MIME", 404),
    ):
        head = form.head("Content-Length: 0", path=path)
        answer = form.exchange(head.replace(b"POST", method.encode(), 1))
        assert answer.status == status, (method, path)
        if status == 405:
            assert answer.headers["allow"] == "POST"
        assert "message" in answer.json()
