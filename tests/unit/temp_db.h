/*
 * temp_db: a migrated database in a folder of its own, for tests; or, where
 * POSTERN_TEST_STORE is the URL of a database of PostgreSQL, one of its own on that
 * server.
 */
#ifndef POSTERN_TESTS_TEMP_DB_H
#define POSTERN_TESTS_TEMP_DB_H

#include "core/db/db.h"
#include "core/store/company/store_domain.h"
#include "core/store/email/store_email.h"
#include "core/store/company/store_key.h"

struct temp_db {
	char *folder;  /* belongs to nobody when root runs the tests */
	char *path;    /* of the database, and of what lies beside it */
	char *name;    /* for db_open(): the path, or a URL */
	struct db *db; /* DB_WRITE */
	void *more;    /* a test's own; freed with the rest */
};

/* Fails the test, with the reason, unless the call gives 0. The call names
 * &why as its struct err. */
#define OK(call)                                                                                   \
	do {                                                                                       \
		struct err why = ERR_INIT;                                                         \
		if ((call) != 0)                                                                   \
			fail_msg("%s", why.text);                                                  \
	} while (0)

/* The same for a call that finds: it gives 1. */
#define FOUND(call)                                                                                \
	do {                                                                                       \
		struct err why = ERR_INIT;                                                         \
		if ((call) != 1)                                                                   \
			fail_msg("not found: %s", why.text);                                       \
	} while (0)

/* The test is about files, or what else SQLite alone has: it is skipped on a server. */
#define ONLY_SQLITE(state)                                                                         \
	do {                                                                                       \
		if (db_is_url(((const struct temp_db *)*(state))->name))                           \
			skip();                                                                    \
	} while (0)

/* The first page of a short list, which is all of it. */
#define WHOLE (&(const struct page){.limit = 1000})

/* For cmocka: the state is a struct temp_db, its database migrated. */
int temp_db_setup(void **state);
/* The same without any database in the folder; db is NULL. */
int temp_db_setup_folder(void **state);
int temp_db_teardown(void **state);

/* Makes a new database at the path, migrated. From the second one on it is a copy:
 * to migrate one costs more than most tests do. */
void temp_db_make(const char *path);

/* Which of two texts of SQL is that of the engine. */
const char *temp_db_sql(const struct db *db, const char *sqlite, const char *postgresql);

/* Brings the database to the schema of this program, see migrate_run_list(). */
int temp_db_migrate(struct db *db, int64_t now_us, int *applied_r, struct err *err);

/* The path of another file in the folder; the caller frees it. */
char *temp_db_file(const struct temp_db *temp, const char *name);

/* Has all statements of this kind (INSERT, UPDATE, DELETE) on the table fail; and succeed again. */
void temp_db_forbid(struct db *db, const char *kind, const char *table);
void temp_db_allow(struct db *db, const char *kind, const char *table);

/* The number in the first column of the first row; a query that fails or finds
 * nothing fails the test. The text is kept by its address: a constant. */
int64_t temp_db_number(struct db *db, const char *sql);
/* The text there; the caller frees it. */
char *temp_db_text(struct db *db, const char *sql);

/* Runs a function in another process, as the user nobody when root runs the
 * tests and as_nobody is true; the test fails unless it returns 0. */
void temp_db_in_child(int (*run)(void *arg), void *arg, bool as_nobody);

/* Ends a process of the server, as its pg_backend_pid() says, and waits until it has ended. */
void temp_db_end_process(pid_t pid);

/* A company with a domain (active) and a key (all scopes). */
struct temp_tenant {
	char company_id[ID_SIZE];
	char key_id[ID_SIZE];
	char domain_id[ID_SIZE];
	const char *domain;
	uint8_t hash[SECRET_HASH_LEN];
};
void temp_db_tenant(
	struct db *db, const char *company, const char *domain, struct temp_tenant *tenant_r);

/* Change a domain, by its id or name: 1, 0 there is none, -1. To activate one that was asked for
 * registers it. */
int temp_db_activate(struct db *db, const char *domain, bool active, struct err *err);
int temp_db_policy(struct db *db, const char *domain, enum domain_policy policy, struct err *err);
int temp_db_subdomains(struct db *db, const char *domain, bool covered, struct err *err);

/* A key of the tenant's company; hash is of the name. */
void temp_db_key(struct db *db, const struct temp_tenant *tenant, const char *name,
	const struct key_spec *spec, struct key *key_r);

/* One more recipient of an email. */
void temp_db_recipient(
	struct email *email, enum recipient_kind kind, const char *address, const char *mailbox);

/* An email of the tenant's, not yet staged; store_email_clear() frees it. */
void temp_db_email(const struct temp_tenant *tenant, struct email *email_r);

/* The newest limit emails of the scope, newest first. */
void temp_db_list(
	struct db *db, const struct email_scope *scope, int limit, struct email_list *list_r);

/* The company Acme with example.com, and an email of it that is staged. */
void temp_db_staged(struct db *db, struct temp_tenant *tenant_r, struct email *email_r);

#endif
