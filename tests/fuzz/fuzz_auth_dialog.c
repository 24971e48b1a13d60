/*
 * Fuzzes dialog_input() with any bytes from smtpd, in pieces of two sizes. The replies are the
 * same for both, each reply is a whole line, no login succeeds without the password, and none
 * reaches the check without TLS except from loopback.
 */
#include <string.h>

#include "auth/dialog.h"
#include "core/base/cidr.h"
#include "core/base/secret.h"
#include "tests/fuzz/fuzz.h"

struct run {
	bool tls;  /* the input says `secured` */
	int right; /* logins with the password */
};

static enum auth_answer check_login(
	void *arg, const struct auth_attempt *attempt, char key_id[static ID_SIZE])
{
	struct run *run = arg;

	CHECK(run->tls || cidr_is_loopback(attempt->client));
	CHECK(attempt->password[attempt->len] == '\0');
	CHECK(strlen(attempt->client) <= 64);
	if (attempt->len != 3 || memcmp(attempt->password, "key", 3) != 0)
		return attempt->len % 2 ? AUTH_FAIL : AUTH_TEMP;
	memset(key_id, 'k', ID_SIZE - 1);
	key_id[ID_SIZE - 1] = '\0';
	run->right++;
	return AUTH_OK;
}

static int count_ok(const struct buf *out)
{
	const char *text = buf_str(out);
	int n = 0;

	CHECK(strlen(text) == out->len);
	CHECK(out->len > 0 && text[out->len - 1] == '\n');
	for (const char *at = text; (at = strstr(at, "\nOK\t")) != NULL; at++)
		n++;
	return n;
}

static void talk(const uint8_t *data, size_t size, size_t piece, struct buf *out)
{
	_cleanup_(dialog) struct dialog *dialog = NULL;
	struct buf hello = BUF_INIT;
	struct run run = {.tls = memmem(data, size, "secured", 7) != NULL};

	dialog = dialog_new(check_login, &run, 1, &hello);
	buf_free(&hello);
	buf_add_str(out, "\n");
	for (size_t at = 0; at < size; at += piece) {
		size_t len = size - at < piece ? size - at : piece;

		if (dialog_input(dialog, (const char *)data + at, len, out) != 0)
			break;
	}
	CHECK(count_ok(out) == run.right);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf whole = BUF_INIT, bytes = BUF_INIT;

	CHECK(secret_init() == 0);
	talk(data, size, size ? size : 1, &whole);
	talk(data, size, 1, &bytes);
	CHECK(whole.len == bytes.len && memcmp(whole.data, bytes.data, whole.len) == 0);
	buf_free(&whole);
	buf_free(&bytes);
	return 0;
}
