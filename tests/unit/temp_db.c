/*
 * temp_db: a migrated database in a folder of its own, for tests.
 */
#include "tests/unit/temp_db.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/db/db_file.h"
#include "core/db/db_private.h"
#include "core/db/migrate.h"
#include "core/store/company/store_company.h"
#include "core/store/company/store_domain.h"
#include "tests/unit/temp_folder.h"

enum {
	NOBODY = 65534,
	BUSY_WAIT_MS = 60000, /* on a server that many tests keep busy */
};

int temp_db_migrate(struct db *db, int64_t now_us, int *applied_r, struct err *err)
{
	const struct migrate_list list = {migrations, migrations_n, NULL};

	return migrate_run_list(db, &list, now_us, applied_r, err);
}

char *temp_db_file(const struct temp_db *temp, const char *name)
{
	return mem_printf("%s/%s", temp->folder, name);
}

int temp_db_setup_folder(void **state)
{
	struct temp_db *temp = mem_new(struct temp_db);

	temp->folder = temp_folder_new();
	if (geteuid() == 0)
		assert_int_equal(chown(temp->folder, NOBODY, NOBODY), 0);
	temp->path = temp_db_file(temp, "postern.db");
	temp->name = mem_strdup(temp->path);
	*state = temp;
	return 0;
}

/* The bytes of a new database, from the first one that this process made. */
static struct {
	char *bytes;
	size_t n;
} image;

/* The first one is closed, so that its file is all of it. */
static void make_image(const char *path)
{
	struct db *db;
	FILE *file;
	int applied;

	OK(db_open(path, DB_CREATE, &db, &why));
	OK(temp_db_migrate(db, 1, &applied, &why));
	db_close(db);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	image.n = (size_t)ftell(file);
	image.bytes = mem_alloc(image.n, 1);
	rewind(file);
	assert_int_equal(fread(image.bytes, 1, image.n, file), image.n);
	fclose(file);
}

void temp_db_make(const char *path)
{
	int fd;

	if (image.bytes == NULL) {
		make_image(path);
		return;
	}
	OK(db_file_create(path, &why));
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, image.bytes, image.n), image.n);
	close(fd);
}

const char *temp_db_sql(const struct db *db, const char *sqlite, const char *postgresql)
{
	return db->engine->dialect == DB_SQLITE ? sqlite : postgresql;
}

/* Of a database on the server; a new string. */
static char *url_of(const char *database)
{
	const char *server = getenv("POSTERN_TEST_STORE");
	const char *name = strchr(strstr(server, "://") + 3, '/') + 1;

	return mem_printf(
		"%.*s%s%s", (int)(name - server), server, database, name + strcspn(name, "?"));
}

/* Runs commands that are no statements of a transaction. Open until the process ends: a connection
 * costs the server more than most commands do. */
static struct db *server_db(void)
{
	static struct db *db;

	if (db == NULL)
		OK(db_open(getenv("POSTERN_TEST_STORE"), DB_CREATE, &db, &why));
	return db;
}

static void command(const char *sql)
{
	OK(db_exec(server_db(), sql, &why));
}

/* Of SQLite, what the SQL of tests uses: printf() of one number. */
static const char server_functions[] =
	"CREATE DOMAIN blob AS bytea;"
	"CREATE FUNCTION randomblob(n bigint) RETURNS bytea LANGUAGE sql AS $$"
	" SELECT substring(string_agg(decode(md5(random()::text), 'hex'), ''::bytea) FOR n::int)"
	" FROM generate_series(0, n / 16) $$;"
	"CREATE FUNCTION zeroblob(n bigint) RETURNS bytea LANGUAGE sql AS $$"
	" SELECT decode(repeat('00', n::int), 'hex') $$;"
	"CREATE FUNCTION unicode(letter text) RETURNS bigint LANGUAGE sql AS $$"
	" SELECT ascii(letter) $$;"
	"CREATE FUNCTION printf(form text, n bigint) RETURNS text LANGUAGE sql AS $$"
	" SELECT regexp_replace(form, '%0?[0-9]*[dxX]', lpad(digits, greatest(width, length(digits)), '0'))"
	" FROM (SELECT CASE WHEN form ~ '%0?[0-9]*d' THEN n::text ELSE to_hex(n) END AS digits,"
	"  coalesce(nullif(substring(form FROM '%0?([0-9]*)[dxX]'), ''), '0')::int AS width) AS parts $$;"
	"CREATE FUNCTION forbidden() RETURNS trigger LANGUAGE plpgsql AS $$"
	" BEGIN RAISE EXCEPTION 'forbidden'; END $$;";

void temp_db_forbid(struct db *db, const char *kind, const char *table)
{
	_cleanup_free_ char *sql = mem_printf("CREATE TRIGGER no_%s_%s BEFORE %s ON %s %s", kind,
		table, kind, table,
		getenv("POSTERN_TEST_STORE") ? "FOR EACH ROW EXECUTE FUNCTION forbidden()"
					     : "BEGIN SELECT RAISE (ABORT, 'forbidden'); END");

	OK(db_exec(db, sql, &why));
}

void temp_db_allow(struct db *db, const char *kind, const char *table)
{
	bool on_server = getenv("POSTERN_TEST_STORE") != NULL;
	_cleanup_free_ char *sql = mem_printf("DROP TRIGGER no_%s_%s%s%s", kind, table,
		on_server ? " ON " : "", on_server ? table : "");

	OK(db_exec(db, sql, &why));
}

/* The name says what is in it, so a server that is used again with another schema gets another
 * model: FNV-1a of all that makes it. */
static char *model_name(void)
{
	uint64_t hash = 0xcbf29ce484222325;
	const char *c;

	for (int i = 0; i < migrations_n; i++)
		for (c = migrations[i].postgresql ? migrations[i].postgresql : ""; *c; c++)
			hash = (hash ^ (unsigned char)*c) * 0x100000001b3;
	for (c = server_functions; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 0x100000001b3;
	return mem_printf("model_%016" PRIx64, hash);
}

/* It gets its name when it is complete. */
static void make_model(const char *model)
{
	_cleanup_free_ char *name = mem_printf("test_%d", (int)getpid());
	_cleanup_free_ char *url = url_of(name), *create = mem_printf("CREATE DATABASE %s", name);
	_cleanup_free_ char *rename = mem_printf("ALTER DATABASE %s RENAME TO %s", name, model);
	struct db *db;
	int applied;

	command(create);
	OK(db_open(url, DB_CREATE, &db, &why));
	OK(temp_db_migrate(db, 1, &applied, &why));
	OK(db_exec(db, server_functions, &why));
	db_close(db);
	command(rename);
}

/* The first process that needs the model makes it; the others wait for the lock. */
static char *find_model(void)
{
	char *model = model_name();
	_cleanup_free_ char *look = mem_printf(
		"SELECT count(*) FROM pg_database WHERE datname = '%s'", model);
	struct db *db = server_db();

	while (temp_db_number(db, "SELECT pg_try_advisory_lock(1)::int::bigint") == 0)
		usleep(20000);
	if (temp_db_number(db, look) == 0)
		make_model(model);
	temp_db_number(db, "SELECT pg_advisory_unlock(1)::int::bigint");
	return model;
}

/* A copy of the model. */
static char *make_on_server(void)
{
	static char *model;
	static int made;
	_cleanup_free_ char *database = mem_printf("test_%d_%d", (int)getpid(), ++made);
	_cleanup_free_ char *sql = NULL;

	if (model == NULL)
		model = find_model();
	sql = mem_printf("CREATE DATABASE %s TEMPLATE %s STRATEGY FILE_COPY", database, model);
	command(sql);
	return url_of(database);
}

int temp_db_setup(void **state)
{
	struct temp_db *temp;

	temp_db_setup_folder(state);
	temp = *state;
	if (getenv("POSTERN_TEST_STORE")) {
		free(temp->name);
		temp->name = make_on_server();
	} else {
		temp_db_make(temp->path);
	}
	OK(db_open(temp->name, DB_WRITE, &temp->db, &why));
	if (db_is_url(temp->name))
		db_set_wait(temp->db, BUSY_WAIT_MS);
	return 0;
}

static void drop_on_server(const char *url)
{
	const char *name = strchr(strstr(url, "://") + 3, '/') + 1;
	_cleanup_free_ char *sql = mem_printf(
		"DROP DATABASE %.*s WITH (FORCE)", (int)strcspn(name, "?"), name);

	command(sql);
}

int temp_db_teardown(void **state)
{
	struct temp_db *temp = *state;

	db_close(temp->db);
	if (db_is_url(temp->name))
		drop_on_server(temp->name);
	temp_folder_free(temp->folder);
	free(temp->more);
	free(temp->name);
	free(temp->path);
	free(temp);
	return 0;
}

static struct db_stmt *first_row(struct db *db, const char *sql)
{
	struct err err = ERR_INIT;
	struct db_stmt *stmt;

	if (db_start(db, sql, NULL, &stmt, &err) != 0 || db_step(stmt, &err) != 1)
		fail_msg("%s: %s", sql, err.text);
	return stmt;
}

int64_t temp_db_number(struct db *db, const char *sql)
{
	struct db_stmt *stmt = first_row(db, sql);
	int64_t number = db_int(stmt, 0);

	db_reset(stmt);
	return number;
}

char *temp_db_text(struct db *db, const char *sql)
{
	struct db_stmt *stmt = first_row(db, sql);
	char *text = db_copy(stmt, 0);

	db_reset(stmt);
	return text;
}

void temp_db_in_child(int (*run)(void *arg), void *arg, bool as_nobody)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		if (as_nobody && geteuid() == 0 &&
			(setgroups(0, NULL) != 0 || setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
			_exit(99);
		_exit(run(arg));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

void temp_db_end_process(pid_t pid)
{
	assert_int_equal(kill(pid, SIGTERM), 0);
	while (kill(pid, 0) == 0)
		usleep(1000);
}

void temp_db_key(struct db *db, const struct temp_tenant *tenant, const char *name,
	const struct key_spec *spec, struct key *key_r)
{
	struct key_spec full = *spec;
	uint8_t hash[SECRET_HASH_LEN];

	full.company_id = tenant->company_id;
	full.name = name;
	secret_hash(name, strlen(name), hash);
	OK(store_key_create(db, &full, hash, 3, key_r, &why));
}

void temp_db_tenant(struct db *db, const char *company_name, const char *domain_name,
	struct temp_tenant *tenant_r)
{
	const struct key_spec spec = {.scopes = KEY_ALL};
	struct company company;
	struct domain domain;
	struct key key;

	OK(store_company_add(db, company_name, 1, &company, &why));
	OK(store_domain_add(db, company.id, domain_name, &(const struct domain){.active = true}, 2,
		&domain, &why));
	memcpy(tenant_r->company_id, company.id, ID_SIZE);
	memcpy(tenant_r->domain_id, domain.id, ID_SIZE);
	tenant_r->domain = domain_name;
	temp_db_key(db, tenant_r, company_name, &spec, &key);
	memcpy(tenant_r->key_id, key.id, ID_SIZE);
	secret_hash(company_name, strlen(company_name), tenant_r->hash);
	store_company_clear(&company);
	store_domain_clear(&domain);
	store_key_clear(&key);
}

static int find_domain(struct db *db, const char *word, struct domain *domain_r, struct err *err)
{
	int found = store_domain_get(db, NULL, word, domain_r, err);

	return found == 0 ? store_domain_find(db, word, domain_r, err) : found;
}

static int change_domain(struct db *db, struct domain *domain, struct err *err)
{
	int changed = store_domain_change(db, domain, err);

	store_domain_clear(domain);
	return changed;
}

int temp_db_activate(struct db *db, const char *word, bool active, struct err *err)
{
	struct domain domain;
	int found = find_domain(db, word, &domain, err);

	domain.active = active;
	return found > 0 ? change_domain(db, &domain, err) : found;
}

int temp_db_policy(struct db *db, const char *word, enum domain_policy policy, struct err *err)
{
	struct domain domain;
	int found = find_domain(db, word, &domain, err);

	domain.policy = policy;
	return found > 0 ? change_domain(db, &domain, err) : found;
}

int temp_db_subdomains(struct db *db, const char *word, bool covered, struct err *err)
{
	struct domain domain;
	int found = find_domain(db, word, &domain, err);

	domain.covers_subdomains = covered;
	return found > 0 ? change_domain(db, &domain, err) : found;
}

void temp_db_recipient(
	struct email *email, enum recipient_kind kind, const char *address, const char *mailbox)
{
	recipients_add(&email->recipients, kind, mem_strdup(address), mem_strdup(mailbox), true);
}

void temp_db_email(const struct temp_tenant *tenant, struct email *email_r)
{
	struct email email = {.created_us = 1700000000123456};

	id_new(email.id);
	memcpy(email.company_id, tenant->company_id, ID_SIZE);
	memcpy(email.key_id, tenant->key_id, ID_SIZE);
	secret_ticket(email.ticket);
	email.domain = mem_strdup(tenant->domain);
	email.sender = mem_printf("hello@%s", tenant->domain);
	email.from = mem_printf("Bärbel <hello@%s>", tenant->domain);
	temp_db_recipient(&email, RECIPIENT_TO, "a@dst.test", "Ünal <a@dst.test>");
	temp_db_recipient(&email, RECIPIENT_TO, "b@dst.test", NULL);
	temp_db_recipient(&email, RECIPIENT_BCC, "c@dst.test", NULL);
	email.subject = mem_strdup("Grüße");
	email.html = mem_strdup("<p>hi\n</p>");
	email.text = mem_strdup("hi\n");
	email.message_id = mem_printf("<%s@%s>", email.id, tenant->domain);
	*email_r = email;
}

void temp_db_list(
	struct db *db, const struct email_scope *scope, int limit, struct email_list *list_r)
{
	const struct email_filter any = {0};
	const struct page page = {.limit = limit};
	struct email_found found;
	struct err err = ERR_INIT;

	if (store_email_search(db, scope, &any, &page, &found, &err) != 1)
		fail_msg("%s", err.text);
	*list_r = found.list;
}

void temp_db_staged(struct db *db, struct temp_tenant *tenant_r, struct email *email_r)
{
	temp_db_tenant(db, "Acme", "example.com", tenant_r);
	temp_db_email(tenant_r, email_r);
	OK(store_email_stage(db, email_r, &why));
}
