"""The OpenAPI document of a server, and whether answers keep to it."""

import json
import re
from urllib.parse import urlsplit

import jsonschema
import requests

# What HTTP itself may answer to any request; `default` in the document.
HTTP_STATUSES = {400, 408, 413, 417, 421, 431, 501, 505}

formats = jsonschema.FormatChecker(())


@formats.checks("uuid")
def _is_uuid(text):
    return re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", text)


@formats.checks("date-time")
def _is_time(text):
    pattern = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00"
    return text is None or re.fullmatch(pattern, text)


def _pattern(template):
    """The regular expression of a path with {}."""
    return re.compile(re.sub(r"\\\{.*?\\\}", "[^/]+", re.escape(template)))


def _resolved(document, part):
    """The part with what each $ref leads to in its place, but for those to
    schemas."""
    if isinstance(part, list):
        return [_resolved(document, one) for one in part]
    if not isinstance(part, dict):
        return part
    reference = part.get("$ref", "#/components/schemas/")
    if not reference.startswith("#/components/schemas/"):
        part = document
        for key in reference[2:].split("/"):
            part = part[key]
    return {key: _resolved(document, value) for key, value in part.items()}


ALIKE = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9]")


def _distinct(value):
    """The value, and of an array of more than 100 items those that differ in more than digits
    and UUIDs: the others would be checked in the same way again."""
    if isinstance(value, dict):
        return {key: _distinct(one) for key, one in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) > 100:
        value = {ALIKE.sub("0", json.dumps(one)): one for one in value}.values()
    return [_distinct(one) for one in value]


class Contract:
    """What one document says."""

    def __init__(self, document):
        self.document = document = _resolved(document, document)
        self.resolver = jsonschema.RefResolver.from_schema(document)
        self.paths = [(_pattern(t), item) for t, item in document["paths"].items()]
        self.references = {}
        self.schemas = {}  # by their ids, which last as long as they
        self.validated = set()  # hashes of schema and value; tests that wait read the same again

    @classmethod
    def of(cls, url):
        """The contract of the server; all that run together have the same."""
        if not hasattr(cls, "known"):
            with requests.Session() as session:
                session.trust_env = False
                answer = session.get(url + "/openapi.json", timeout=180)
                answer.raise_for_status()
                cls.known = cls(answer.json())
        return cls.known

    def operation(self, method, path):
        """The operation that a request is for; None: there is none."""
        for pattern, item in self.paths:
            if pattern.fullmatch(path) and method.lower() in item:
                return item[method.lower()]
        return None

    def validate(self, value, schema):
        """Raises jsonschema.ValidationError."""
        value = _distinct(value)
        known = hash((id(self.schemas.setdefault(id(schema), schema)), json.dumps(value)))
        if known not in self.validated:
            jsonschema.Draft202012Validator(
                schema, resolver=self.resolver, format_checker=formats
            ).validate(value)
            self.validated.add(known)

    def validate_as(self, value, name):
        schema = self.references.setdefault(name, {"$ref": f"#/components/schemas/{name}"})
        self.validate(value, schema)

    def response(self, method, target, status):
        """What the document says of an answer; fails when it does not."""
        path = urlsplit("http://host" + target).path
        operation = self.operation(method, path)
        what = f"{method} {path} answers {status}"
        if operation is None:
            assert status in HTTP_STATUSES | {404, 405}, what
            return None
        responses = operation["responses"]
        if str(status) in responses:
            return responses[str(status)]
        assert status in HTTP_STATUSES, f"{what}, which is not documented"
        return responses["default"]

    def check_fields(self, response, answer):
        """Of the header fields that the document knows, the answer has none but
        those that it says."""
        known = {name.lower() for name in self.document["components"]["headers"]}
        said = {name.lower() for name in response["headers"]}
        assert not known & set(answer.headers) - said, f"{answer.status}: {said}"
        if answer.status in (429, 503):
            assert "retry-after" in answer.headers

    def check(self, method, target, answer):
        """Checks an answer: it has status, headers and body as said. answer has
        status, headers (a mapping, lower case) and json()."""
        assert "x-request-id" in answer.headers
        response = self.response(method, target, answer.status)
        if response is None:
            return self.validate_as(answer.json(), "Error")
        self.check_fields(response, answer)
        kind = answer.headers["content-type"].split(";")[0]
        media = response["content"]
        assert kind in media, f"{method} {target}: {answer.status} is {kind}"
        if kind == "application/json":
            assert answer.headers["content-type"] == f"{kind}; charset=utf-8"
            self.validate(answer.json(), media[kind]["schema"])
            # Clients take an answer with this word for an error.
            assert answer.status >= 400 or "statusCode" not in answer.json()
        return None
