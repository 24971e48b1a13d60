"""What each route of all listeners is asked: the worst that a client may ask of a
store that harness.rows has filled."""

import itertools
import re

from .rows import BIG, ITS_DOMAIN, row_id
from .sandbox import unique

EMAIL = {"from": f"news@{ITS_DOMAIN}", "to": "ann@dst.test", "text": "Hello"}
HOOK = {"endpoint": "https://hooks.test/", "events": ["email.sent"]}
FORM = {"from": f"news@{ITS_DOMAIN}", "to": "ann@dst.test", "text": "Hello"}
MESSAGE = f"From: news@{ITS_DOMAIN}\r\nTo: ann@dst.test\r\n\r\nHello\r\n"

# Where rows of each kind begin, and each how many rows there is another one. They are of BIG, by
# what harness.rows has: emails that were sent, and scheduled ones; valid keys, and such to be
# revoked; addresses of each list; companies with one row of each table; endpoints of the JSON API.
FIRST = {
    "sent": 20_004, "scheduled": 20_006, "bounces": 20_006, "complaints": 20_002,
    "unsubscribes": 20_004, "revoked": 20_006, "c": 20_001, "b": 20_000,
}  # fmt: skip
EACH = {"revoked": 10}
numbers = {}


def start_behind(row):
    """From here on, requests name rows behind this one, of which the company has all."""
    numbers.clear()
    start_behind.row = (row + 79) // 80 * 80


start_behind(0)


def next_number(kind):
    """The number of a row that no request has named yet."""
    first = FIRST.get(kind, 20_002) + start_behind.row
    return next(numbers.setdefault(kind, itertools.count(first, EACH.get(kind, 80))))


def fresh():
    return {"name": unique("fresh") + ".example"}


# What each route is sent besides nothing, as options of requests: the worst that a
# client may ask. A function is called for each request.
ASKS = {
    "POST /emails": [{"json": EMAIL}],
    "POST /emails/batch": [{"json": [EMAIL] * 3}],
    "GET /emails": [
        {},
        *({"params": {name: value}} for name, value in [
            ("limit", 1), ("subject", "nobody"), ("to", "nobody@dst.test"),
            ("to", "user2@dst.test"), ("from", "nobody@dst.test"), ("tag", "tag2"),
            ("status", "bounced"), ("status", "scheduled"), ("status", "queued"),
            ("until", "2020-01-01"),
        ]),
    ],
    "POST /unsubscribe/{token}": [{}],
    "PATCH /emails/{id}": [{"json": {"scheduled_at": "in 1 day"}}],
    "POST /domains": [{"json": fresh}],
    "GET /domains": [{}, {"params": {"limit": 1}}],
    "PATCH /domains/{id}": [{"json": {}}],
    "POST /api-keys": [{"json": fresh}],
    "GET /api-keys": [{}, {"params": {"limit": 1}}],
    "PATCH /api-keys/{id}": [{"json": fresh}],
    "POST /v3/{domain}/messages": [{"data": FORM}],
    "POST /v3/{domain}/messages.mime": [
        {"data": {"to": "ann@dst.test"}, "files": {"message": MESSAGE}}
    ],
    "GET /v3/{domain}/events": [
        {},
        *({"params": {name: value}} for name, value in [
            ("limit", 300), ("recipient", "user2@dst.test"), ("tags", "tag2"),
            ("begin", "1"),
        ]),
    ],
    "GET /v3/stats/total": [{}, {"params": {"duration": "30d", "resolution": "hour"}}],
    "GET /v3/{domain}/stats/total": [{}, {"params": {"duration": "30d"}}],
    "POST /webhooks": [
        {"json": {"endpoint": "https://hook.invalid/", "events": ["email.delivered"]}}
    ],
    "GET /webhooks": [{}, {"params": {"limit": 1}}],
    "PATCH /webhooks/{id}": [{"json": {"status": "disabled"}}],
    "GET /webhooks/{id}/events": [{}, {"params": {"limit": 1}}],
    "POST /webhooks/{id}/events/{event_id}/replay": [{}],
    "GET /webhooks/{id}/events/{event_id}/attempts": [{}, {"params": {"limit": 1}}],
    "POST /suppressions": [{"json": lambda: {"email": unique("gone") + "@dst.test"}}],
    "GET /suppressions": [{}, {"params": {"limit": 1}}, {"params": {"origin": "complaint"}}],
    "POST /suppressions/batch/add": [
        {"json": lambda: {"emails": [unique("gone") + "@dst.test" for _ in range(100)]}}
    ],
    "POST /suppressions/batch/remove": [
        {"json": {"emails": [f"gone{i:07d}@dst.test" for i in range(30_000, 30_200, 2)]}}
    ],
    "GET /v3/domains": [{}, {"params": {"limit": 1, "skip": 20_000}}, {"params": {"search": "z"}}],
    "GET /v4/domains": [{}, {"params": {"limit": 1, "skip": 20_000}}, {"params": {"search": "z"}}],
    "POST /v3/domains": [{"data": fresh}],
    "POST /v4/domains": [{"data": fresh}],
    "PUT /v3/domains/{domain}/verify": [{}],
    "PUT /v4/domains/{domain}/verify": [{}],
    "POST /v3/domains/{domain}/webhooks": [
        {"data": {"id": "opened", "url": "https://hook.invalid/"}}
    ],
    "PUT /v3/domains/{domain}/webhooks/{name}": [{"data": {"url": "https://hook.invalid/"}}],
    "PUT /v3/domains/{domain}/webhooks/{name}/test": [{"data": {"url": "https://hook.invalid/"}}],
    "POST /admin/users": [{"json": lambda: {"login": f"{unique('user')}@{ITS_DOMAIN}"}}],
    "PATCH /admin/users/{id}": [{"json": {"role": "viewer"}}],
    "POST /admin/tokens": [{"json": fresh}],
    "POST /admin/companies": [{"json": fresh}],
    "POST /admin/domains": [{"json": lambda: {"company_id": BIG, **fresh()}}],
    "PATCH /admin/domains/{id}": [{"json": {"active": True, "policy": "learn"}}],
    "POST /admin/keys": [{"json": lambda: {"company_id": BIG, **fresh()}}],
    "PATCH /admin/keys/{id}": [{"json": fresh}],
    "POST /admin/keys/revoke": [
        {"json": lambda: {"keys": [{"id": row_id("a", next_number("revoked"))} for _ in range(100)]}}
    ],
    "GET /admin/hosts": [{}],
    "GET /admin/held": [{}, {"params": {"search": "nobody"}}],
    "POST /admin/held/decide": [
        {"json": {"decision": "recheck", "messages": [
            {"id": row_id("9", number)} for number in range(2, 402, 2)
        ]}}
    ],
    "POST /admin/exemptions": [
        {"json": lambda: {
            "domain": ITS_DOMAIN, "kind": "login", "value": unique("login")
        }}
    ],
    "POST /admin/exemptions/batch": [
        {"json": lambda: {
            "domain": ITS_DOMAIN,
            "exemptions": [{"kind": "login", "value": unique("login")}],
        }}
    ],
    "GET /admin/companies": [{}, {"params": {"search": "nobody"}}],
    "GET /admin/domains": [{}, {"params": {"search": "nobody"}}],
    "GET /admin/users": [{}, {"params": {"search": "nobody"}}],
    "GET /admin/tokens": [{}, {"params": {"search": "nobody"}}],
    "GET /admin/keys": [
        {},
        *({"params": {name: value}} for name, value in [
            ("valid", "true"), ("search", "nobody"), ("idle", "unused"), ("idle", "forgotten"),
        ]),
    ],
    "GET /admin/exemptions": [{}, {"params": {"search": "nobody"}}],
    "GET /admin/suggestions": [{"params": {"domain": "d0000004.example"}}],
    "GET /admin/emails": [
        {},
        *({"params": {name: value}} for name, value in [
            ("q", "nobody"), ("q", "nobody@dst.test"), ("to", "user2@dst.test"),
            ("status", "bounced"), ("status", "refused"), ("status", "queued"),
            ("status", "scheduled"), ("tag", "tag2"), ("domain", "nobody.example"), ("since", "1d"),
            # of very many companies
            ("to", "user1@dst.test"), ("tag", "tag1"),
        ]),
    ],
    "POST /admin/emails/{id}/resend": [{"json": {}}, {"json": {"to": "nobody@dst.test"}}],
    "GET /admin/events": [
        {},
        *({"params": params} for params in [
            {"company_id": BIG}, {"domain": "nobody.example"}, {"recipient": "nobody@dst.test"},
            {"kind": "unsubscribed"}, {"company_id": BIG, "kind": "unsubscribed"},
        ]),
    ],
    "GET /admin/outbox": [{}, {"params": {"company_id": BIG}}],
    "POST /admin/outbox/pause": [{"json": {"company_id": BIG}}],
    "POST /admin/outbox/resume": [{"json": {"company_id": BIG}}],
    "POST /admin/outbox/cancel": [{"json": {"domain": "d0000004.example"}}],
    "GET /admin/webhooks": [
        {}, {"params": {"search": "nobody"}}, {"params": {"in_trouble": "true"}},
        {"params": {"company_id": BIG}},
    ],
    "POST /admin/webhooks": [{"json": lambda: {"company_id": BIG, **HOOK}}],
    "PATCH /admin/webhooks/{id}": [{"json": {"enabled": True}}],
    "POST /admin/webhooks/{id}/secret": [{}],
    "POST /admin/webhooks/{id}/rotate": [{}],
    "POST /admin/webhooks/{id}/test": [{}],
    "GET /admin/webhooks/{id}/event": [{"params": {"event_id": row_id("6", 4)}}],
    "GET /admin/webhooks/{id}/attempts": [{"params": {"event_id": row_id("6", 4)}}],
    "POST /admin/webhooks/{id}/replay": [{"json": {"since": "1h"}}],
    "GET /admin/suppressions": [
        {},
        *({"params": params} for params in [
            {"search": "nobody"}, {"address": "gone0000002@dst.test"},
            {"reason": "unsubscribe", "search": "nobody"},
            {"company_id": BIG, "reason": "unsubscribe"}, {"company_id": BIG, "reason": "bounce"},
            {"company_id": BIG, "domain": ITS_DOMAIN}, {"domain": "d0000004.example"},
        ]),
    ],
    "POST /admin/suppressions": [
        {"json": lambda: {"company_id": BIG, "address": unique("gone") + "@dst.test"}}
    ],
    "POST /admin/suppressions/batch": [
        {"json": lambda: {
            "company_id": BIG, "suppressions": [{"address": unique("gone") + "@dst.test"}]
        }}
    ],
    "POST /admin/suppressions/remove": [
        {"json": {"company_id": BIG, "suppressions": [{"address": "nobody@dst.test"}]}}
    ],
    "GET /admin/suppressions/csv": [{"params": {"company_id": BIG}}],
    "GET /admin/refusals": [
        {}, {"params": {"learnt": "true"}}, {"params": {"domain": "d0000004.example"}},
    ],
    "GET /admin/stats": [
        {},
        {"params": {"step": "hour", "since": "41d"}},
        {"params": {"by": "domain"}},
        {"params": {"by": "domain", "since": "1000d"}},
        {"params": {"domain": "d0000004.example"}},
    ],
    "GET /admin/audit": [
        {},
        *({"params": {name: value}} for name, value in [
            ("object", "nobody"), ("action", "nothing"), ("actor", "nobody"),
        ]),
    ],
}  # fmt: skip

# The lists of addresses of the form API.
for kind in ("bounces", "complaints", "unsubscribes", "whitelists"):
    base = f"/v3/{{domain}}/{kind}"
    ASKS[f"GET {base}"] = [{}, *({"params": params} for params in (
        {"limit": 1000}, {"term": "nobody"}, {"page": "next", "address": "gone0020000@dst.test"},
    ))]  # fmt: skip
    ASKS[f"POST {base}"] = [
        {"data": lambda: {"address": unique("listed") + "@dst.test"}},
        {"json": [{"address": f"listed{i}@dst.test"} for i in range(999)]},
    ]
    ASKS[f"POST {base}/import"] = [{"files": {"file": "address\nlisted@dst.test\n"}}]

# Logins and what is the caller's own, which are one row each; and what has no end.
LEFT_OUT = re.compile(
    r"\S+ (/|/admin|/web/.*|/admin/(live|session(/link)?|account|password|totp.*"
    r"|emails/test)|DELETE /admin/sessions)$"
)

# The letter of row_id() of what a path names.
LETTERS = {
    "emails": "f", "domains": "d", "api-keys": "a", "keys": "a", "users": "0",
    "tokens": "5", "exemptions": "e", "companies": "c", "sessions": "5",
    "webhooks": "b", "suppressions": "2", "held": "3",
}  # fmt: skip


def operations(document):
    for path, item in document["paths"].items():
        for method in item:
            operation = f"{method.upper()} {path}"
            if method != "parameters" and not LEFT_OUT.match(operation):
                yield operation


def in_order(asked):
    """The operations of pairs, with what removes behind all that reads and changes, and what
    removes one thing before what removes all."""
    def rank(pair):
        method, path = pair[1].split()
        return method == "DELETE" and (1 if path.endswith("}") else 2)
    return sorted(asked, key=rank)


def fill_in(method, path):
    """The path, with a row of its own for each request."""
    letter = LETTERS.get(path.split("/{")[0].split("/")[-1])
    # What hangs on an endpoint: the one that has half of the events.
    path = re.sub(r"/webhooks/\{id\}/(events?|attempts)\b", rf"/webhooks/{row_id('b', 4)}/\1", path)
    path = path.replace("{event_id}", row_id("6", 4)).replace("{name}", "delivered")
    if "/domains/{domain}" in path:
        path = path.replace("{domain}", f"d{next_number('d'):07d}.example")
    if "{address}" in path:
        list_of = path.split("/")[-2]
        name = "fine" if list_of == "whitelists" else "gone"
        path = path.replace("{address}", f"{name}{next_number(list_of):07d}@dst.test")
    if "{id}" in path:
        kind = letter
        if letter == "f":
            kind = "scheduled" if method == "PATCH" or path.endswith("/cancel") else "sent"
        path = path.replace("{id}", row_id(letter, next_number(kind)))
    path = path.replace("{attachment_id}", "3c0d6a52-6c7b-4a0a-9b1c-2b5b7f5a8f11").replace("{link}", "none")
    return path.replace("{domain}", ITS_DOMAIN).replace("{page}", "none")


def evaluate(options, who=None):
    """The options with what their functions give. An owner names no company."""
    made = {name: value() if callable(value) else value for name, value in options.items()}
    if who == "owner" and "company_id" in made.get("json", ()):
        made["json"] = {k: v for k, v in made["json"].items() if k != "company_id"}
    return made
