"""Requests to Postern and to the peer."""

from . import items
from .mail import tool


def load(address, file, connections, count):
    """Sends the requests of the file over so many connections; the rate too."""
    found = tool("load", "http", address, connections, count, file)
    return {**found, "rate": count / found["seconds"]}


def json_file(mail, size):
    """Requests for emails of that size, small ones for many recipients."""
    count = 1000 if size < 1_000_000 else 10
    return items.write(
        mail.path(f"emails.{size}"),
        [items.json_post(mail.key, size) for _ in range(count)],
    )


def send(mail, address, file, connections, count):
    """Sends emails and waits until all are delivered."""
    return mail.measure(count, lambda: load(address, file, connections, count))
