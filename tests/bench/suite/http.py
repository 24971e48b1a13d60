"""Requests to Postern and to the peer."""

from . import items
from .mail import tool


def load(address, file, connections, count):
    """Sends the requests of the file over so many connections; the rate too."""
    found = tool("load", "http", address, connections, count, file)
    return {**found, "rate": count / found["seconds"]}


def json_file(mail, size):
    return items.write(
        mail.path(f"emails.{size}"), [items.json_post(mail.key, size)]
    )


def send(mail, address, file, connections, count):
    """Sends emails and waits until all are delivered."""
    return mail.measure(count, lambda: load(address, file, connections, count))
