"""The files that tools/load sends from: requests and messages."""

import base64
import json
import secrets

SENDER = "hello@example.com"
STRANGER = "ann@plain.test"
RECIPIENT = "bench@dst.test"
LINE = "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do ei\n"


def text_of(size):
    return (LINE * (size // len(LINE) + 1))[:size]


def write(path, items):
    """A file of items, each a bytes."""
    with open(path, "wb") as file:
        for item in items:
            file.write(b"%d\n" % len(item))
            file.write(item)
    return path


def request(method, path, authorization, body=b"", kind=None):
    """A whole HTTP request."""
    head = [
        f"{method} {path} HTTP/1.1",
        "Host: localhost",
        f"Authorization: {authorization}",
    ]
    if kind:
        head += [f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
    return "\r\n".join([*head, "", ""]).encode() + body


def recipient():
    """Another one with each call: Postfix remembers what it was asked last."""
    return f"{secrets.token_hex(6)}@dst.test"


def email(size):
    """An email of which the message has about so many bytes; a large one has
    an attachment."""
    body = {"from": f"Acme <{SENDER}>", "to": recipient(), "subject": "A subject"}
    if size < 1_000_000:
        return {**body, "text": text_of(size)}
    content = base64.b64encode(secrets.token_bytes(size * 3 // 4)).decode()
    file = {"filename": "file.bin", "content": content}
    return {**body, "text": "See the file.\n", "attachments": [file]}


def json_post(key, size):
    body = json.dumps(email(size)).encode()
    return request("POST", "/emails", f"Bearer {key}", body, "application/json")


def json_batch(key, size, n):
    """A request for so many emails."""
    body = json.dumps([email(size) for _ in range(n)]).encode()
    return request("POST", "/emails/batch", f"Bearer {key}", body, "application/json")


def form_post(key, domain, file_size):
    """The form dialect, with one file."""
    bound = "bench-" + secrets.token_hex(16)
    fields = {"from": f"Acme <{SENDER}>", "to": RECIPIENT, "text": "See the file."}
    parts = [
        f'--{bound}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'
        f"{value}\r\n"
        for name, value in fields.items()
    ]
    parts.append(
        f"--{bound}\r\nContent-Disposition: form-data;"
        ' name="attachment"; filename="file.bin"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    )
    body = "".join(parts).encode() + secrets.token_bytes(file_size)
    body += f"\r\n--{bound}--\r\n".encode()
    login = base64.b64encode(f"api:{key}".encode()).decode()
    kind = f"multipart/form-data; boundary={bound}"
    return request("POST", f"/v3/{domain}/messages", f"Basic {login}", body, kind)


def message(size, sender, recipient=None, email_id=None, nonce=None):
    """A message as it goes over SMTP; with a recipient of its own, it begins with
    that; with a nonce, it is what the email of that nonce goes as."""
    fields = [
        *([f"Postern-Nonce: {nonce}"] if nonce else []),
        f"From: Acme <{sender}>",
        f"To: {RECIPIENT}",
        "Subject: A subject",
        f"Message-ID: <{email_id or secrets.token_hex(16)}@bench.test>",
        "Date: Sat, 21 Nov 2026 12:00:00 +0000",
    ]
    lines = [*fields, "", *text_of(size).splitlines(), ""]
    head = f"{recipient}\n" if recipient else ""
    return head.encode() + "\r\n".join(lines).encode()
