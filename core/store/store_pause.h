/*
 * store_pause: what an admin has paused: the emails of a company, of one of its
 * domains or of one of its keys stay in the outbox, and go out when it is resumed.
 *
 * A pause ends with what it is of: emails of a domain or key that is gone are refused.
 */
#ifndef POSTERN_STORE_STORE_PAUSE_H
#define POSTERN_STORE_STORE_PAUSE_H

#include "core/base/id.h"
#include "core/db/db.h"
#include "core/store/row.h"

/* What is meant: one of them, NULL for the others. */
struct outbox_whose {
	const char *company_id;
	const char *domain;
	const char *key_id;
};

struct pause {
	char id[ID_SIZE];
	char company_id[ID_SIZE];
	char *kind;   /* company, domain, key */
	char *name;   /* of that */
	char *domain; /* NULL: of any; the same for the key */
	char key_id[ID_SIZE];
	char *company_name;
	char *reason; /* as the admin gave it; may be "" */
	int64_t created_us;
	int64_t emails; /* of store_pause_list(): that wait for it, PAUSE_COUNT_MAX at most */
};
enum { PAUSE_COUNT_MAX = 10000 };
extern const struct row_type store_pause_type, store_pause_counted_type;
void store_pause_clear(struct pause *pause);

/* Whose the company, domain or key is, if it is there and of company_id (NULL: of any),
 * and what people call it, which the caller frees: 1, 0, -1. */
int store_pause_owner(struct db *db, const char *company_id, const struct outbox_whose *whose,
	char owner_r[static ID_SIZE], char **name_r, struct err *err);

/* With an entry in the audit log. ERR_EXISTS when it is paused already. 0 or -1. */
int store_pause_add(struct db *db, const struct pause *pause, struct err *err);
/* The pause of just that: 1, 0, -1. */
int store_pause_find(
	struct db *db, const struct outbox_whose *whose, struct pause *pause_r, struct err *err);
/* Whether what this key sends as this domain is paused: 1, 0, -1. */
int store_pause_holds(struct db *db, const char *company_id, const char *key_id, const char *domain,
	struct err *err);
/* Ends it, with an entry in the audit log: 1, 0, -1. */
int store_pause_remove(struct db *db, const char *id, struct err *err);

/* Those of a company, or of all (NULL), the newest first, PAUSES_MAX at most. */
enum { PAUSES_MAX = 10000 };
struct pause_list {
	struct pause *items;
	size_t n;
};
int store_pause_list(
	struct db *db, const char *company_id, struct pause_list *list_r, struct err *err);
void store_pause_list_free(struct pause_list *list);

/* For the statements of the store: outbox.due_us of what waits for a pause is this and
 * its number; */
#define OUTBOX_PAUSED INT64_C(4611686018427387904)
#define SQL_PAUSED    "4611686018427387904"
/* that of the email `e`, NULL when nothing is paused; */
#define SQL_PAUSED_BY                                                                              \
	"(SELECT " SQL_PAUSED                                                                      \
	" + min(p.seq)"                                                                            \
	"   FROM outbox_pause p"                                                                   \
	"   WHERE p.company_id = e.company_id"                                                     \
	"   AND (p.key_id IS NULL OR p.key_id = e.key_id)"                                         \
	"   AND (p.domain_id IS NULL OR p.domain_id = (SELECT d.id"                                \
	"       FROM domain d"                                                                     \
	"       WHERE d.name = e.domain AND d.company_id = e.company_id AND d.pending = 0)))"
/* and the WITH clause `ended (due)`: of the pauses that are gone while emails wait for
 * them, by a look-up for each. Of two lower bounds SQLite seeks the first. */
#define SQL_PAUSES_ENDED                                                                           \
	"WITH RECURSIVE held (due) AS (SELECT min(due_us)"                                         \
	"   FROM outbox"                                                                           \
	"   WHERE due_us > " SQL_PAUSED                                                            \
	" AND due_us > 0"                                                                          \
	"   UNION ALL SELECT (SELECT min(n.due_us)"                                                \
	"     FROM outbox n"                                                                       \
	"     WHERE n.due_us > held.due AND n.due_us > 0)"                                         \
	"   FROM held"                                                                             \
	"   WHERE held.due IS NOT NULL),"                                                          \
	" ended (due) AS (SELECT held.due"                                                         \
	"   FROM held"                                                                             \
	"   WHERE held.due IS NOT NULL"                                                            \
	"   AND NOT EXISTS (SELECT 1 FROM outbox_pause p WHERE p.seq = held.due - " SQL_PAUSED     \
	"))"

#endif
