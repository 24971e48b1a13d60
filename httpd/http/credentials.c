/*
 * credentials: the API key that a request's head carries.
 *
 * Threads: any; holds no state.
 */
#include "httpd/http/credentials.h"

#include <string.h>

#include "core/base/base64.h"
#include "core/base/secret.h"
#include "core/base/str.h"

/* What stands behind the scheme in the Authorization field. */
static bool find_credentials(const struct http_head *head, const char *scheme,
	struct http_text *found)
{
	const struct http_text *field = http_head_field(head, "Authorization");
	size_t skip = strlen(scheme);

	if (field == NULL || field->len <= skip ||
		!str_starts_nocase(field->data, scheme) ||
		field->data[skip] != ' ')
		return false;
	while (skip < field->len && field->data[skip] == ' ')
		skip++;
	found->data = field->data + skip;
	found->len = field->len - skip;
	return found->len > 0;
}

bool credentials_bearer(const struct http_head *head, struct buf *key)
{
	struct http_text found;

	if (!find_credentials(head, "Bearer", &found))
		return false;
	buf_add(key, found.data, found.len);
	return true;
}

bool credentials_basic(const struct http_head *head, struct buf *key)
{
	static const char user[] = "api:";
	const size_t skip = sizeof(user) - 1;
	struct buf pair = BUF_INIT;
	struct http_text found;
	bool is_ours;

	if (!find_credentials(head, "Basic", &found) ||
		base64_decode(found.data, found.len, &pair) < 0) {
		buf_free(&pair);
		return false;
	}
	is_ours = pair.len > skip && memcmp(pair.data, user, skip) == 0;
	if (is_ours)
		buf_add(key, pair.data + skip, pair.len - skip);
	if (pair.data)
		secret_wipe(pair.data, pair.len);
	buf_free(&pair);
	return is_ours;
}
