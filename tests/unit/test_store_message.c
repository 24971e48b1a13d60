/* store_message: messages in rows and in files, missing ones, cut ones, forgotten
 * ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/db/db_file.h"
#include "core/store/email/store_message.h"
#include "core/store/outbox/store_outbox.h"
#include "tests/unit/temp_db.h"

static void fill(struct buf *message, size_t len)
{
	for (size_t i = 0; i < len; i++)
		buf_add_char(message, (char)('a' + i % 26));
}

static char *file_of(const struct temp_db *temp, const char *id)
{
	return mem_printf("%s-messages/%s", temp->path, id);
}

/* An email with a message of this length in the outbox. */
static void add(struct temp_db *temp, size_t len, struct email *email_r, struct buf *message_r)
{
	struct temp_tenant tenant = {.domain = "example.com"};

	id_new(tenant.company_id);
	temp_db_email(&tenant, email_r);
	fill(message_r, len);
	OK(store_email_stage(temp->db, email_r, &why));
	OK(store_message_write(temp->path, email_r->id, message_r, &why));
	OK(store_message_keep(temp->db, email_r, message_r, &why));
	OK(store_outbox_add(temp->db, email_r->seq, (int64_t)len, 0, &why));
}

static void test_kept(void **state)
{
	static const size_t sizes[] = {
		1, MESSAGE_FILE_BYTES, MESSAGE_FILE_BYTES + 1, 1000000, 1 << 20, 3000001};
	struct temp_db *temp = *state;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		_cleanup_buf_ struct buf message = BUF_INIT, got = BUF_INIT;
		_cleanup_free_ char *file = NULL;
		struct message_left until = {(int64_t)i, INT64_MAX};
		struct email email;

		add(temp, sizes[i], &email, &message);
		file = file_of(temp, email.id);
		assert_int_equal(access(file, F_OK) == 0, sizes[i] > MESSAGE_FILE_BYTES);
		FOUND(store_message_read(temp->db, temp->path, email.id, &got, &why));
		assert_int_equal(got.len, message.len);
		assert_true(got.len == 0 || memcmp(got.data, message.data, got.len) == 0);
		assert_int_equal(store_outbox_remove(temp->db, email.id, i + 1, NULL), 1);
		FOUND(store_message_read(temp->db, temp->path, email.id, &got, &why));
		assert_int_equal(store_message_clean(temp->db, temp->path, &until, 10, NULL), 0);
		until.us++;
		assert_int_equal(store_message_clean(temp->db, temp->path, &until, 10, NULL), 1);
		assert_int_equal(store_message_sweep(temp->db, temp->path, 0, NULL), 0);
		assert_int_equal(store_message_read(temp->db, temp->path, email.id, &got, NULL), 0);
		assert_int_not_equal(access(file, F_OK), 0);
		store_email_clear(&email);
	}
}

static void test_file_is_missing_or_cut(void **state)
{
	struct temp_db *temp = *state;
	_cleanup_buf_ struct buf message = BUF_INIT, got = BUF_INIT;
	_cleanup_free_ char *file = NULL;
	struct email email;

	add(temp, 100000, &email, &message);
	file = file_of(temp, email.id);
	assert_int_equal(truncate(file, 99999), 0);
	assert_int_equal(store_message_read(temp->db, temp->path, email.id, &got, NULL), 0);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(store_message_read(temp->db, temp->path, email.id, &got, NULL), 0);
	assert_int_equal(got.len, 0);
	store_email_clear(&email);
}

/* Files that no row names go, but not those that are being written, nor others. */
static void test_sweep(void **state)
{
	struct temp_db *temp = *state;
	_cleanup_buf_ struct buf message = BUF_INIT, got = BUF_INIT;
	_cleanup_free_ char *lost_file = NULL, *other_file = NULL;
	struct email email;
	char lost[ID_SIZE];

	assert_int_equal(store_message_sweep(temp->db, temp->path, 0, NULL), 0);
	add(temp, 100000, &email, &message);
	id_new(lost);
	OK(store_message_write(temp->path, lost, &message, &why));
	lost_file = file_of(temp, lost);
	other_file = file_of(temp, "README");
	assert_int_equal(link(lost_file, other_file), 0);
	assert_int_equal(store_message_sweep(temp->db, temp->path, 3600, NULL), 0);
	assert_int_equal(store_message_sweep(temp->db, temp->path, 0, NULL), 1);
	assert_int_not_equal(access(lost_file, F_OK), 0);
	assert_int_equal(access(other_file, F_OK), 0);
	FOUND(store_message_read(temp->db, temp->path, email.id, &got, &why));
	store_email_clear(&email);
}

/* What is purged counts no more. */
static void test_purged_counts_no_more(void **state)
{
	struct temp_db *temp = *state;
	struct message_bound bound = {.max_bytes = 100000};

	for (int i = 0; i < 2; i++) {
		_cleanup_buf_ struct buf message = BUF_INIT;
		struct email email;

		add(temp, 100000, &email, &message);
		assert_int_equal(store_outbox_remove(temp->db, email.id, i + 1, NULL), 1);
		if (i == 1)
			OK(store_message_erase(temp->db, temp->path,
				temp_db_number(temp->db, "SELECT max(seq) FROM email"), &why));
		store_email_clear(&email);
	}
	assert_int_equal(store_message_bound(temp->db, &bound, 10, NULL), 0);
	assert_false(bound.too_many);
}

/* What root writes, as postern(1) does, the daemons can read. */
static void test_owner(void **state)
{
	struct temp_db *temp = *state;
	_cleanup_buf_ struct buf message = BUF_INIT;
	_cleanup_free_ char *parent = db_file_folder(temp->path);
	_cleanup_free_ char *folder = file_of(temp, ""), *file = NULL;
	struct stat of_folder, of_file;
	struct email email;

	if (geteuid() != 0)
		skip();
	assert_int_equal(chown(parent, 12345, 54321), 0);
	add(temp, 100000, &email, &message);
	file = file_of(temp, email.id);
	assert_int_equal(stat(folder, &of_folder), 0);
	assert_int_equal(stat(file, &of_file), 0);
	assert_int_equal(of_folder.st_uid, 12345);
	assert_int_equal(of_folder.st_gid, 54321);
	assert_int_equal(of_file.st_uid, 12345);
	assert_int_equal(of_file.st_gid, 54321);
	assert_int_equal(of_file.st_mode & 0777, 0640);
	store_email_clear(&email);
}

/* Five of 100,000 bytes left at 1 to 5: as many of the newest stay as have room. */
static void test_bound(void **state)
{
	static const struct {
		int64_t max_bytes, before_us;
	} cases[] = {{500000, 0}, {499999, 1}, {400000, 1}, {399999, 2}, {100000, 4}, {1, 5}};
	struct temp_db *temp = *state;
	const struct message_left fourth = {4, INT64_MAX};
	struct message_cut cut = {10, 4}, last;

	for (int i = 0; i < 5; i++) {
		_cleanup_buf_ struct buf message = BUF_INIT;
		struct email email;

		add(temp, 100000, &email, &message);
		assert_int_equal(store_outbox_remove(temp->db, email.id, i + 1, NULL), 1);
		store_email_clear(&email);
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (int rows = 1; rows < 7; rows++) {
			struct message_bound bound = {.max_bytes = cases[i].max_bytes};
			int more;

			while ((more = store_message_bound(temp->db, &bound, rows, NULL)) == 1)
				assert_false(bound.too_many);
			assert_int_equal(more, 0);
			assert_int_equal(bound.too_many, cases[i].before_us > 0);
			if (bound.too_many)
				assert_int_equal(bound.last.us, cases[i].before_us);
		}
	assert_int_equal(store_message_clean(temp->db, temp->path, &fourth, 10, NULL), 4);
	assert_int_equal(temp_db_number(temp->db, "SELECT count(*) FROM message"), 1);
	assert_int_equal(store_message_last_cut(temp->db, &last, NULL), 0);
	for (int i = 0; i < 2; i++)
		OK(store_message_cut(temp->db, &cut, &why));
	FOUND(store_message_last_cut(temp->db, &last, &why));
	assert_int_equal(last.cut_us, 10);
	assert_int_equal(last.left_us, 4);
}

/* Of those that have left at one instant no more go than have to. */
static void test_bound_in_an_instant(void **state)
{
	struct temp_db *temp = *state;
	struct message_bound bound = {.max_bytes = 250000};

	for (int i = 0; i < 5; i++) {
		_cleanup_buf_ struct buf message = BUF_INIT;
		struct email email;

		add(temp, 100000, &email, &message);
		assert_int_equal(store_outbox_remove(temp->db, email.id, 7, NULL), 1);
		store_email_clear(&email);
	}
	assert_int_equal(store_message_bound(temp->db, &bound, 10, NULL), 0);
	assert_true(bound.too_many);
	assert_int_equal(store_message_clean(temp->db, temp->path, &bound.last, 10, NULL), 3);
	assert_int_equal(temp_db_number(temp->db, "SELECT count(*) FROM message"), 2);
	assert_int_equal(temp_db_number(temp->db, "SELECT count(*) FROM message_kept"), 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, temp_db_setup, temp_db_teardown)
	const struct CMUnitTest tests[] = {
		TEST(kept),
		TEST(file_is_missing_or_cut),
		TEST(sweep),
		TEST(bound),
		TEST(bound_in_an_instant),
		TEST(purged_counts_no_more),
		TEST(owner),
	};

	return cmocka_run_group_tests_name("store_message", tests, NULL, NULL);
}
