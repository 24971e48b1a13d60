"""The messages that Postfix delivered."""

import email
import email.policy
import os
import re
import time
from collections import defaultdict
from functools import cached_property
from pathlib import Path

from .wait import wait_for


class Delivered:
    """One message in the sink, with the envelope that it came in."""

    def __init__(self, data, from_smtp_sink):
        head, blank_line, body = data.partition(b"\n\n")
        if from_smtp_sink:
            body = body[:-1]  # smtp-sink ends a file with an empty line
        self.data = data
        self.sender = self._path(re.findall(rb"^X-Mail-Args: (.*)$", head, re.M)[0])
        self.recipients = [
            self._path(args)
            for args in re.findall(rb"^X-Rcpt-Args: (.*)$", head, re.M)
        ]
        # What smtp-sink put on top ends with its own Received field.
        fields = re.sub(rb"\A(X-(Client|Helo|Mail|Rcpt)-[^\n]*\n)+", b"", head)
        fields = re.sub(rb"\AReceived: [^\n]*\n\tby smtp-sink (.*\n\t.*|.*)\n", b"", fields)
        self.raw = fields + blank_line + body

    @cached_property
    def message(self):
        return email.message_from_bytes(self.raw, policy=email.policy.default)

    @staticmethod
    def _path(args):
        return re.match(rb"<(.*?)>(?: |$)", args).group(1).decode()

    def header(self, name):
        """The one field of the name as text; None without, fails for two."""
        values = self.message.get_all(name, [])
        assert len(values) <= 1, f"{len(values)} fields {name}"
        return str(values[0]) if values else None

    def raw_header(self, name):
        """The same as its bytes, unfolded."""
        values = self.raw_headers(name)
        assert len(values) <= 1, f"{len(values)} fields {name}"
        return values[0] if values else None

    def raw_headers(self, name):
        """All fields of the name."""
        head = self.raw[: self.raw.find(b"\n\n")]
        values = re.findall(
            rb"^" + name.encode() + rb":[ \t]*((?:.*\n[ \t])*.*)$", head, re.M | re.I
        )
        return [re.sub(rb"\n(?=[ \t])", b"", value) for value in values]

    def addresses(self, name):
        """The mailboxes of an address field as (display name, address)."""
        field = self.message[name]
        if field is None:
            return []
        return [(a.display_name, a.addr_spec) for a in field.addresses]

    def body(self, kind):
        """The text of the "plain" or "html" body, its lines ending in LF; None
        without."""
        part = self.message.get_body(preferencelist=(kind,))
        return part.get_content().replace("\r\n", "\n") if part else None

    def attachments(self):
        """Each as (file name, type, disposition, bytes)."""
        found = []
        for part in self.message.walk():
            if part.get_content_disposition() in ("attachment", "inline"):
                found.append(
                    (
                        part.get_filename(),
                        part.get_content_type(),
                        part.get_content_disposition(),
                        part.get_payload(decode=True),
                    )
                )
        return found


def target(link):
    """Where a symbolic link leads; None when it is gone."""
    try:
        return os.readlink(link)
    except OSError:
        return None


class Sink:
    """The folder of delivered messages; each file is read once, and found by
    its recipients and its Message-ID."""

    def __init__(self, folder, pid_file):
        self.folder = Path(folder)
        self.pid_file = Path(pid_file)
        self.known = {}
        self.by_recipient = defaultdict(list)
        self.by_message_id = defaultdict(list)
        self.settled = None  # the folder's time when nothing was left to read

    def _open_files(self):
        """The files that smtp-sink has not finished."""
        try:
            fds = list(Path("/proc", self.pid_file.read_text().strip(), "fd").iterdir())
        except OSError:
            return set()
        return {file for file in map(target, fds) if file}

    def is_receiving(self):
        """Whether a message is only partly there."""
        return any(Path(file).parent == self.folder for file in self._open_files())

    def _look(self):
        """Reads what has come since the last look."""
        changed = self.folder.stat().st_mtime_ns
        if changed == self.settled:
            return
        # A change at once after this one may leave the time as it is.
        is_old = time.time_ns() - changed > 1_000_000_000
        new = [n for n in os.listdir(self.folder) if n[0] != "." and n not in self.known]
        unfinished = self._open_files() if new else set()
        for name in new:
            if str(self.folder / name) not in unfinished:
                self._read(name)
        waits = any(name not in self.known for name in new)
        self.settled = changed if is_old and not waits else None

    def _read(self, name):
        found = Delivered((self.folder / name).read_bytes(), name.startswith("mail."))
        self.known[name] = found
        for to in set(found.recipients):
            self.by_recipient[to].append(found)
        for value in {v.strip() for v in found.raw_headers("Message-ID")}:
            self.by_message_id[value.decode("utf-8", "replace")].append(found)

    def all(self):
        """Every message that is completely there."""
        self._look()
        return list(self.known.values())

    def now(self, message_id=None, to=None):
        """The messages there are with the Message-ID or the recipient."""
        self._look()
        found = self.by_message_id.get(message_id, []) if message_id else []
        also = self.by_recipient.get(to, []) if to else []
        return found + [d for d in also if d not in found]

    def find(self, message_id=None, to=None):
        """Waits for a message; fails when it comes twice."""
        found = wait_for(
            f"the message {message_id or to}",
            lambda: self.now(message_id=message_id, to=to),
        )
        assert len(found) == 1, f"delivered {len(found)} times"
        return found[0]
