"""What becomes of emails at a remote server."""

import smtplib

from .remote import Remote
from .sandbox import unique
from .wait import wait_for


def address(local):
    return f"{local}@remote.test"


class Deliveries:
    """A sandbox whose Postfix has a remote server for remote.test."""

    def __init__(self, box):
        self.box = box
        self.remote = Remote()
        self.tables = box.main_cf("transport_maps")
        self.routes = {}
        self.route("remote.test", f"smtp:[127.0.0.1]:{self.remote.port}")
        box.postconf(
            "minimal_backoff_time = 1s",
            "maximal_backoff_time = 1s",
            "queue_run_delay = 1s",
            "smtp_connection_cache_on_demand = no",
        )
        self.reload()

    def route(self, domain, transport):
        """Takes effect at a reload."""
        self.route_all({domain: transport})

    def route_all(self, routes):
        """The same for several, {domain: transport}."""
        self.routes |= routes
        rows = " ".join(f"{{{name} = {way}}}" for name, way in self.routes.items())
        self.box.postconf(f"transport_maps = inline:{{ {rows} }} {self.tables}")

    def reload(self):
        """Not by a reload, after which a qmgr that is at work goes on with what it
        knows: what it then puts off waits for 300 s."""
        self.box.restart("postfix")

    def rows(self, sql, *values):
        return self.box.sql(sql, *values)

    def send(self, *recipients):
        return self.box.httpd().send(
            {"from": "hello@example.com", "to": list(recipients), "text": "Hello"}
        )

    def send_by_smtp(self, *recipients):
        """The same with the API key as an SMTP password; the sandbox has the part auth."""
        host, port = self.box.env["POSTERN_SMTP"].split(":")
        message_id = f"<{unique('smtp')}@made.test>"
        message = (
            f"From: hello@example.com\r\nTo: {', '.join(recipients)}\r\n"
            f"Message-ID: {message_id}\r\n\r\nHello\r\n"
        )
        with smtplib.SMTP(host, int(port), timeout=180) as session:
            session.login("x", self.box.env["POSTERN_SENDING_KEY"])
            assert session.sendmail("hello@example.com", recipients, message) == {}
        [(email_id,)] = self.rows("SELECT id FROM email WHERE message_id = ?", message_id)
        return email_id

    def states(self, email_id):
        """The state of each recipient, in order; of a store on any engine."""
        return self.box.query(
            "SELECT r.state FROM email_recipient r JOIN email e ON e.seq = r.email"
            f" WHERE e.id = '{email_id}' AND r.state IS NOT NULL ORDER BY r.n"
        ).splitlines()

    def wait(self, email_id, *states):
        """A delivery agent that waits for the CPU may have the message locked for longer than the
        second after which qmgr(8) tries it again. qmgr then puts it into the incoming queue ("still
        being delivered"), and does not look there before new mail comes or it is told to."""
        wait_for(
            f"{states}, and not {self.states(email_id)}",
            lambda: self.states(email_id) == list(states)
            or ("deferred" not in states and self.box.flush()),
        )

    def events(self, email_id):
        """Kinds and texts of the email's events, in order."""
        return self.rows(
            "SELECT v.kind, v.n, v.text FROM event v JOIN email e ON e.seq = v.email"
            " WHERE e.id = ? AND v.kind <> 'accepted' ORDER BY v.seq",
            email_id,
        )

    def last_event(self, email_id):
        return self.box.httpd().read(email_id)["last_event"]

    def queue_id(self, email_id):
        return self.rows("SELECT queue_id FROM email WHERE id = ?", email_id)[0][0]

    def write(self, sql, *values):
        """For what no program does."""
        self.box.sql(sql, *values)
