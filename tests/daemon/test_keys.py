"""Who may send as whom, and who may read."""

import subprocess

import pytest
from harness.httpd import check_problem
from harness.sandbox import unique

NOT_VERIFIED = "The {} domain is not verified. Please, add and verify your domain."
UNKNOWN_ID = "3c0d6a52-6c7b-4a0a-9b1c-2b5b7f5a8f11"


def as_sender(email, domain):
    return {**email, "from": f"hello@{domain}"}


@pytest.fixture
def company(box):
    return box.company()


@pytest.fixture
def client(box, company):
    """Returns a client with a new key of the company."""
    return lambda **spec: box.httpd(box.new_key(company, **spec)["token"])


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer ", "Basic YXBpOng=", "Token x", "ps_x"],
)
@pytest.mark.parametrize("method, path", [("POST", "/emails"), ("GET", f"/emails/{UNKNOWN_ID}")])
def test_no_key(httpd, method, path, header):
    answer = httpd.request(method, path, json={}, headers={"Authorization": header})
    check_problem(
        answer,
        401,
        "missing_api_key",
        "Missing API key in the authorization header.",
    )


@pytest.mark.parametrize("key", ["ps_x", "x" * 5000, "ps_" + "A" * 43, "a b", "ü"])
def test_unknown_key(box, email, key):
    httpd = box.httpd(key.encode().decode("latin-1"))
    for answer in (httpd.post(email), httpd.get(UNKNOWN_ID)):
        check_problem(answer, 401, "invalid_api_key", "API key is invalid.")


def test_part_of_a_key(box, httpd, email):
    for key in (httpd.key[:-1], httpd.key + "A", httpd.key.swapcase()):
        answer = box.httpd(key).post(email)
        check_problem(answer, 401, "invalid_api_key", "API key is invalid.")


@pytest.mark.parametrize("scheme", ["bearer", "BEARER", "Bearer  "])
def test_spellings_of_bearer(httpd, email, scheme):
    headers = {"Authorization": f"{scheme} {httpd.key}"}
    assert httpd.post(email, headers=headers).status_code == 200


def test_revoked_key(box, company, email):
    key = box.new_key(company)
    domain = box.domain(company)
    httpd = box.httpd(key["token"])
    email_id = httpd.send(as_sender(email, domain))
    box.cli("key", "revoke", key["id"])
    for answer in (httpd.post(as_sender(email, domain)), httpd.get(email_id)):
        check_problem(answer, 401, "invalid_api_key", "API key is invalid.")


def test_all_keys_of_a_company_at_once(box, company, client, email):
    clients = [client() for _ in range(3)]
    assert box.cli("key", "revoke", "--company", company)["revoked"] == 3
    for one in clients:
        check_problem(one.post(email), 401, "invalid_api_key", "API key is invalid.")


@pytest.mark.parametrize("scope", ["reading", "managing", "reading,managing"])
def test_key_that_may_not_send(box, company, client, email, scope):
    domain = box.domain(company)
    answer = client(scope=scope).post(as_sender(email, domain))
    check_problem(
        answer,
        403,
        "restricted_api_key",
        "This API key is not allowed to send emails.",
    )


@pytest.mark.parametrize("scope", ["sending", "reading", "managing"])
def test_every_key_may_read(box, company, client, email, scope):
    domain = box.domain(company)
    email_id = client().send(as_sender(email, domain))
    assert client(scope=scope).read(email_id)["id"] == email_id


def test_sending_key_of_the_sandbox(box, email):
    httpd = box.httpd(box.env["POSTERN_SENDING_KEY"])
    assert httpd.read(httpd.send(email))


def test_unknown_domain(client, email):
    domain = unique() + ".example"
    check_problem(
        client().post(as_sender(email, domain)),
        403,
        "validation_error",
        NOT_VERIFIED.format(domain),
    )


def test_domain_of_another_company_looks_unknown(box, client, email):
    for active in (True, False):
        domain = box.domain(box.company(), active=active)
        check_problem(
            client().post(as_sender(email, domain)),
            403,
            "validation_error",
            NOT_VERIFIED.format(domain),
        )


def test_subdomain_is_another_domain(box, company, client, email):
    domain = "sub." + box.domain(company)
    check_problem(
        client().post(as_sender(email, domain)),
        403,
        "validation_error",
        NOT_VERIFIED.format(domain),
    )


def test_inactive_domain(box, company, client, email, to):
    domain = box.domain(company, active=False)
    httpd = client()
    check_problem(
        httpd.post(as_sender(email, domain)),
        403,
        "validation_error",
        f"The {domain} domain is not active for sending.",
    )
    box.cli("domain", "activate", domain)
    httpd.send(as_sender(email, domain))
    assert box.sink.find(to=to)
    box.cli("domain", "deactivate", domain)
    check_problem(
        httpd.post(as_sender(email, domain)),
        403,
        "validation_error",
        f"The {domain} domain is not active for sending.",
    )


def test_letter_case_of_the_domain(box, company, client, email, to):
    domain = box.domain(company)
    client().send(as_sender(email, domain.upper()))
    assert box.sink.find(to=to).sender == f"hello@{domain}"


def test_restricted_key(box, company, client, email):
    mine, other = box.domain(company), box.domain(company)
    httpd = client(domain=mine)
    email_id = httpd.send(as_sender(email, mine))
    assert httpd.read(email_id)
    check_problem(
        httpd.post(as_sender(email, other)),
        403,
        "restricted_api_key",
        f"This API key is not authorized to send emails from {other}",
    )


def test_restricted_key_reads_its_domain_only(box, company, client, email):
    mine, other = box.domain(company), box.domain(company)
    email_id = client().send(as_sender(email, other))
    assert client(domain=other).read(email_id)
    check_problem(
        client(domain=mine).get(email_id), 404, "not_found", "Email not found"
    )


def test_restricted_key_goes_with_its_domain(box, company, client, email):
    mine, other = box.domain(company), box.domain(company)
    httpd = client(domain=mine)
    box.cli("domain", "remove", mine)
    check_problem(
        httpd.post(as_sender(email, other)),
        401,
        "invalid_api_key",
        "API key is invalid.",
    )


def test_keys_that_go_with_a_domain_are_named(box, company):
    domain = box.domain(company)
    key = box.new_key(company, domain=domain)
    command = [box.env["POSTERN_CLI"], "-c", box.config, "domain", "remove", domain]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert f"keys that are restricted to {domain} go with it" in done.stderr
    assert f"  {key['id']} " in done.stderr and "never used" in done.stderr
    again = box.domain(company)
    done = subprocess.run([*command[:-1], again], capture_output=True, text=True, timeout=60,
                          check=True)
    assert not done.stderr


def test_keys_go_with_their_company(box, company, client):
    httpd = client()
    box.cli("company", "remove", company)
    check_problem(httpd.get(UNKNOWN_ID), 401, "invalid_api_key", "API key is invalid.")


def test_another_company_reads_nothing(box, httpd, client, email):
    email_id = httpd.send(email)
    stranger, nobody = client().get(email_id), client().get(UNKNOWN_ID)
    for answer in (stranger, nobody):
        check_problem(answer, 404, "not_found", "Email not found")
    assert stranger.content == nobody.content
    assert httpd.read(email_id)


def test_emails_outlive_domain_and_key(box, company, client, email):
    key = box.new_key(company)
    domain = box.domain(company)
    email_id = box.httpd(key["token"]).send(as_sender(email, domain))
    box.cli("key", "revoke", key["id"])
    box.cli("domain", "remove", domain)
    assert client().read(email_id)["from"] == f"hello@{domain}"


@pytest.mark.parametrize(
    "name", ["x", "123", UNKNOWN_ID[:-1], UNKNOWN_ID + "0", "%20", "ü", "a%2fb"]
)
def test_id_that_is_none(httpd, name):
    check_problem(
        httpd.get(name), 422, "invalid_parameter", "The `id` must be a valid UUID."
    )


def test_letter_case_of_the_id(httpd, email):
    email_id = httpd.send(email)
    assert httpd.read(email_id.upper())["id"] == email_id
    assert httpd.read(email_id.replace("-", "%2D"))["id"] == email_id


def test_not_found_is_exactly_this(httpd):
    answer = httpd.get(UNKNOWN_ID)
    assert answer.status_code == 404
    assert answer.json() == {
        "statusCode": 404,
        "message": "Email not found",
        "name": "not_found",
    }
