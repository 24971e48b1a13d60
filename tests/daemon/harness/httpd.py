"""A client of postern-httpd."""

from urllib.parse import urlsplit

import requests

from .contract import Contract
from .raw import Answer, RawConnection

NAMES = set(
    """invalid_idempotency_key validation_error missing_api_key
    restricted_api_key invalid_api_key not_found method_not_allowed
    invalid_idempotent_request concurrent_idempotent_requests
    invalid_attachment invalid_from_address invalid_access invalid_parameter
    invalid_region missing_required_field monthly_quota_exceeded
    daily_quota_exceeded rate_limit_exceeded security_error application_error
    internal_server_error""".split()
)


def check_problem(answer, status, name, message=None):
    """Checks that an answer of requests is this error, in its right form."""
    assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
    problem = answer.json()
    found = (answer.status_code, problem.get("name"), problem.get("message"))
    assert found[:2] == (status, name), found
    assert name in NAMES
    assert set(problem) == {"statusCode", "message", "name"}
    assert problem["statusCode"] == status
    if message is not None:
        assert message in problem["message"], problem["message"]


class Httpd:
    """Speaks to one server with one key; not to be shared by threads."""

    def __init__(self, url, key):
        parts = urlsplit(url)
        self.url = url
        self.host = parts.netloc
        self.address = (parts.hostname, parts.port)
        self.key = key
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.headers["Authorization"] = f"Bearer {key}"

    def with_key(self, key):
        return Httpd(self.url, key)

    def request(self, method, path, **options):
        """The answer, which keeps to what the API is documented to be."""
        contract = Contract.of(self.url)  # while the server is up
        answer = self.session.request(
            method, self.url + path, timeout=180, **options
        )
        headers = {name.lower(): value for name, value in answer.headers.items()}
        contract.check(
            method, path, Answer(answer.status_code, answer.reason, headers, answer.content)
        )
        return answer

    def post(self, email, **options):
        """POST /emails."""
        return self.request("POST", "/emails", json=email, **options)

    def batch(self, emails, **options):
        """POST /emails/batch."""
        if options.get("data") is None:
            options["json"] = emails
        return self.request("POST", "/emails/batch", **options)

    def get(self, email_id, **options):
        """GET /emails/{id}."""
        return self.request("GET", f"/emails/{email_id}", **options)

    def send(self, email):
        """Sends an email that must be taken; returns its id."""
        answer = self.post(email)
        assert answer.status_code == 200, answer.text
        assert set(answer.json()) == {"id"}, answer.text
        return answer.json()["id"]

    def read(self, email_id):
        """An email that must be in the sent folder."""
        answer = self.get(email_id)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def raw(self, timeout_s=180):
        return RawConnection(self.address, timeout_s)
