"""A whole mail system for tests, and the ways in and out of it."""

from .form import File, FormClient
from .httpd import Httpd
from .raw import Answer, RawConnection
from .sandbox import Sandbox
from .sink import Delivered, Sink
from .wait import wait_for

__all__ = [
    "Answer",
    "Delivered",
    "File",
    "FormClient",
    "Httpd",
    "RawConnection",
    "Sandbox",
    "Sink",
    "wait_for",
]
