/*
 * store_pause: what an admin has paused. The emails of a paused company, domain or key stay in the
 * outbox until it is resumed.
 *
 * A pause ends when its company, domain or key is removed; emails of a removed domain or key are
 * refused.
 */
#ifndef POSTERN_STORE_STORE_PAUSE_H
#define POSTERN_STORE_STORE_PAUSE_H

#include "core/base/id.h"
#include "core/db/db.h"
#include "core/store/row.h"

/* Whose emails: one member is set, the others are NULL. */
struct outbox_whose {
	const char *company_id;
	const char *domain;
	const char *key_id;
};

struct pause {
	char id[ID_SIZE];
	char company_id[ID_SIZE];
	char *kind;   /* company, domain, key */
	char *name;   /* the name of the company, domain or key */
	char *domain; /* NULL: any */
	char key_id[ID_SIZE];
	char *company_name;
	char *reason; /* as given by the admin; may be "" */
	int64_t created_us;
	/* Set by store_pause_list(): emails that wait for it, up to PAUSE_COUNT_MAX. */
	int64_t emails;
};
enum { PAUSE_COUNT_MAX = 10000 };
extern const struct row_type store_pause_type, store_pause_counted_type;
void store_pause_clear(struct pause *pause);

/* Finds the company that owns the company, domain or key, if it exists and belongs to company_id
 * (NULL: any), and its display name, which the caller frees. Returns 1, 0 if there is none, -1 on
 * error. */
int store_pause_owner(struct db *db, const char *company_id, const struct outbox_whose *whose,
	char owner_r[static ID_SIZE], char **name_r, struct err *err);

/* Adds a pause, with an audit entry. ERR_EXISTS if it is paused already. Returns 0 or -1. */
int store_pause_add(struct db *db, const struct pause *pause, struct err *err);
/* Finds the pause of exactly this company, domain or key. Returns 1, 0 if there is none, -1 on
 * error. */
int store_pause_find(
	struct db *db, const struct outbox_whose *whose, struct pause *pause_r, struct err *err);
/* Ends it, with an audit entry. Returns 1, 0 if there is none, -1 on error. */
int store_pause_remove(struct db *db, const char *id, struct err *err);

/* Lists the pauses of a company, or of all (NULL), newest first, up to PAUSES_MAX. Returns 0 or
 * -1. */
enum { PAUSES_MAX = 10000 };
struct pause_list {
	struct pause *items;
	size_t n;
};
int store_pause_list(
	struct db *db, const char *company_id, struct pause_list *list_r, struct err *err);
void store_pause_list_free(struct pause_list *list);

/* For the statements of the store: outbox.due_us of an email that waits for a pause is this value
 * plus the pause's number (seq). */
#define OUTBOX_PAUSED INT64_C(4611686018427387904)
#define SQL_PAUSED    "4611686018427387904"
/* That due_us for the email `e`; NULL if nothing is paused. */
#define SQL_PAUSED_BY                                                                              \
	"(SELECT " SQL_PAUSED                                                                      \
	" + min(p.seq)"                                                                            \
	"   FROM outbox_pause p"                                                                   \
	"   WHERE p.company_id = e.company_id"                                                     \
	"   AND (p.key_id IS NULL OR p.key_id = e.key_id)"                                         \
	"   AND (p.domain_id IS NULL OR p.domain_id = (SELECT d.id"                                \
	"       FROM domain d"                                                                     \
	"       WHERE d.name = e.domain AND d.company_id = e.company_id AND d.pending = 0)))"
/* The WITH clause `ended (due)`: the due_us of pauses that are gone while emails still wait for
 * them, one index look-up for each. Of two lower bounds SQLite seeks by the first. */
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
