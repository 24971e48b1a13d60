/* change: a write goes to the committer and comes back on the worker's loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <event2/event.h>
#include <event2/http.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/store/store_audit.h"
#include "core/store/company/store_company.h"
#include "httpd/worker/worker.h"
#include "httpd/admission/change.h"
#include "tests/unit/count_syncs.h"
#include "tests/unit/temp_db.h"

struct rig {
	struct worker_shared shared;
	struct worker worker;
	struct request request;
};

struct adding {
	struct change change; /* first */
	const char *name;
	int steps; /* that follow */
	int done;
};

static int setup(void **state)
{
	struct rig *rig = mem_new(struct rig);
	struct temp_tenant tenant;
	struct temp_db *temp;

	temp_db_setup(state);
	temp = *state;
	temp->more = rig;
	rig->shared.clock = &clock_system;
	rig->shared.committer = committer_new_inline(temp->db);
	rig->worker.shared = &rig->shared;
	rig->worker.base = event_base_new();
	rig->worker.tasks = task_queue_new(rig->worker.base);
	rig->request.worker = &rig->worker;
	rig->request.evreq = evhttp_request_new(NULL, NULL);
	temp_db_tenant(temp->db, "Tenant", "example.com", &tenant);
	OK(store_key_get(temp->db, NULL, tenant.key_id, &rig->request.admission.key, &why) - 1);
	return 0;
}

static int teardown(void **state)
{
	struct temp_db *temp = *state;
	struct rig *rig = temp->more;

	store_key_clear(&rig->request.admission.key);
	evhttp_request_free(rig->request.evreq);
	task_queue_free(rig->worker.tasks);
	event_base_free(rig->worker.base);
	committer_free(rig->shared.committer);
	return temp_db_teardown(state);
}

static int add_run(struct db *db, void *arg, struct err *err)
{
	struct adding *adding = arg;
	struct company company;

	if (store_company_add(db, adding->name, 1, &company, err) < 0)
		return -1;
	store_company_clear(&company);
	return 7;
}

static void on_added(struct change *change)
{
	((struct adding *)change)->done++;
}

/* Adds a company of the name; it is back only after the loop has run. */
static void add(struct rig *rig, struct adding *adding)
{
	change_submit(&rig->request, &adding->change, add_run, on_added);
	assert_int_equal(adding->done, 0);
	event_base_loop(rig->worker.base, EVLOOP_ONCE);
	assert_int_equal(adding->done, 1);
	assert_ptr_equal(adding->change.request, &rig->request);
}

static void test_done(void **state)
{
	static const char sql_count[] = "SELECT count(*) FROM company WHERE name = 'Acme'";
	struct temp_db *temp = *state;
	struct adding adding = {.name = "Acme"};

	add(temp->more, &adding);
	assert_int_equal(adding.change.result, 7);
	/* In the name of the request's key. */
	assert_int_equal(temp_db_number(temp->db,
				 "SELECT count(*) FROM audit JOIN api_key"
				 " ON api_key.id = actor_id WHERE actor = 'key'"
				 " AND actor_name = api_key.name"),
		1);
	assert_int_equal(temp_db_number(temp->db, sql_count), 1);
}

static void test_failed(void **state)
{
	struct temp_db *temp = *state;
	struct adding first = {.name = "Acme"}, again = {.name = "Acme"};
	struct problem problem = PROBLEM_INIT;

	add(temp->more, &first);
	add(temp->more, &again);
	assert_int_equal(again.change.result, -1);
	assert_int_equal(again.change.err.code, ERR_EXISTS);
	assert_int_equal(change_failed(&again.change, "test", &problem), -1);
	assert_int_equal(problem_status(&problem), 500);
	assert_null(strstr(problem.text, "Acme"));
}

/* A key that is revoked while the write waits makes none. */
static void test_revoked(void **state)
{
	struct temp_db *temp = *state;
	struct rig *rig = temp->more;
	struct adding adding = {.name = "Acme"};
	struct problem problem = PROBLEM_INIT;

	assert_int_equal(store_key_revoke(temp->db, &(const struct key_range){0},
				 rig->request.admission.key.id, 1, NULL),
		1);
	add(rig, &adding);
	assert_int_equal(adding.change.result, -1);
	assert_int_equal(change_failed(&adding.change, "test", &problem), -1);
	assert_int_equal(problem_status(&problem), 401);
	assert_int_equal(temp_db_number(temp->db,
				 "SELECT count(*) FROM company"
				 " WHERE name = 'Acme'"),
		0);
}

static int step_run(struct db *db, void *arg, struct err *err)
{
	struct adding *adding = arg;
	_cleanup_free_ char *name = mem_printf("%s %d", adding->name, adding->steps);
	struct company company;

	if (store_company_add(db, name, 1, &company, err) < 0)
		return -1;
	store_company_clear(&company);
	return adding->steps-- > 0 ? STORE_MORE : 1;
}

/* All are durable at the end, by one sync. */
static void test_steps(void **state)
{
	struct temp_db *temp = *state;
	struct rig *rig = temp->more;
	struct adding adding = {.name = "Acme", .steps = 3};
	int syncs = count_syncs();

	change_submit(&rig->request, &adding.change, step_run, on_added);
	while (adding.done == 0)
		event_base_loop(rig->worker.base, EVLOOP_ONCE);
	assert_int_equal(adding.change.result, 1);
	assert_int_equal(
		temp_db_number(temp->db, "SELECT count(*) FROM company WHERE name LIKE 'Acme %'"),
		4);
	if (!db_is_url(temp->name))
		assert_int_equal(count_syncs() - syncs, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(done),
		TEST(failed),
		TEST(revoked),
		TEST(steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
