"""The groups of rows, by name."""

from . import (
    admin, bounded, cost, events, form, get, login, memory, milter, outbox, post, postgresql,
    sendmail, store_size, webhook,
)

GROUPS = {
    "milter": milter.run,
    "login": login.run,
    "post": post.run,
    "sendmail": sendmail.run,
    "outbox": outbox.run,
    "form": form.run,
    "get": get.run,
    "store": store_size.run,
    "cost": cost.run,
    "memory": memory.run,
    "events": events.run,
    "webhook": webhook.run,
    "admin": admin.run,
    "bounded": bounded.run,
    "postgresql": postgresql.run,
}
