/*
 * mime_gmime: the only file that uses GMime.
 */
#include "core/mime/mime_gmime.h"

#include <gmime/gmime.h>
#include <pthread.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"

/* A colon may start a group, and GMime's parser recurses for each nested group. */
enum { COLONS_MAX = 100 };

/* Creates the classes that threads use, inside pthread_once(), which orders it before every
 * use: ThreadSanitizer does not see GLib's locks. */
static void init(void)
{
	g_mime_init();
	g_type_class_ref(INTERNET_ADDRESS_TYPE_MAILBOX);
	g_type_class_ref(INTERNET_ADDRESS_TYPE_GROUP);
}

void mime_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, init);
}

int mime_date_parse(const char *text, int64_t *time_us_r)
{
	GDateTime *date;

	mime_init();
	date = g_mime_utils_header_decode_date(text);
	if (date == NULL)
		return -1;
	*time_us_r = g_date_time_to_unix(date) * 1000000;
	g_date_time_unref(date);
	return 0;
}

/* Replaces "=?" while GMime parses, so that it decodes no encoded words: it caches every
 * charset name forever. This code point is a noncharacter that no text has (Unicode 23.7). */
#define HIDDEN "\xef\xbf\xbf"

/* Returns the text with each `from` replaced by `to`. The caller frees it. */
static char *replace_text(const char *text, const char *from, const char *to)
{
	struct buf out = BUF_INIT;
	const char *found;

	while ((found = strstr(text, from)) != NULL) {
		buf_add(&out, text, (size_t)(found - text));
		buf_add_str(&out, to);
		text = found + strlen(from);
	}
	buf_add_str(&out, text);
	return buf_take(&out);
}

struct walk {
	void (*on_mailbox)(void *user, const char *spec, const char *name);
	void *user;
};

/* Recurses for nested groups, whose depth COLONS_MAX limits. */
static void visit(const struct walk *walk, InternetAddressList *list)
{
	int n = list ? internet_address_list_length(list) : 0;

	for (int i = 0; i < n; i++) {
		InternetAddress *address = internet_address_list_get_address(list, i);
		_cleanup_free_ char *spec = NULL, *name = NULL;
		const char *hidden;

		if (INTERNET_ADDRESS_IS_GROUP(address)) {
			visit(walk, internet_address_group_get_members(
					    INTERNET_ADDRESS_GROUP(address)));
			continue;
		}
		hidden = internet_address_mailbox_get_addr(INTERNET_ADDRESS_MAILBOX(address));
		if (hidden == NULL)
			continue;
		spec = replace_text(hidden, HIDDEN, "=?");
		hidden = internet_address_get_name(address);
		name = replace_text(hidden ? hidden : "", HIDDEN, "=?");
		walk->on_mailbox(walk->user, spec, name);
	}
}

void mime_mailboxes(const char *value,
	void (*on_mailbox)(void *user, const char *spec, const char *name), void *user)
{
	_cleanup_free_ char *hidden = NULL;
	InternetAddressList *list;
	size_t colons = 0;

	for (const char *p = strchr(value, ':'); p; p = strchr(p + 1, ':'))
		if (++colons > COLONS_MAX)
			return;
	mime_init();
	hidden = replace_text(value, "=?", HIDDEN);
	list = internet_address_list_parse(NULL, hidden);
	visit(&(struct walk){on_mailbox, user}, list);
	if (list)
		g_object_unref(list);
}
