/*
 * mime_read_addrs: the mailboxes of a header field, read by GMime, each of
 * which must then be good for addr too.
 *
 * GMime calls itself for each group in a group, so that it is not given values
 * with many colons. Encoded words are kept from it. Threads: any; holds no
 * state.
 */
#include <gmime/gmime.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/mail/addr.h"
#include "core/mail/mime_header.h"
#include "core/mail/mime_init.h"
#include "core/mail/mime_read_private.h"
#include "core/mail/mime_words_decode.h"

enum {
	VALUE_MAX = 100 * 1024, /* about where Postfix cuts a field */
	COLONS_MAX = 100,       /* each may begin a group */
	ADDRS_MAX = 2000,
};

/* The name as it goes into the result, NULL for none. */
static char *read_name(const char *hidden)
{
	_cleanup_free_ char *raw = NULL;
	char *name;

	if (hidden == NULL)
		return NULL;
	raw = mime_words_show(hidden);
	name = mime_words_decode(raw);
	if (!mime_header_value_valid(name)) {
		free(name);
		return NULL;
	}
	return name;
}

/* The text of the mailbox, NULL when it is malformed. A name that would not be
 * read back is left out. */
static char *format(const char *spec, const char *hidden_name)
{
	_cleanup_addr_ struct addr addr = {0};
	_cleanup_addr_ struct addr again = {0};
	_cleanup_free_ char *text = NULL;
	char *name;

	if (addr_parse(spec, &addr, NULL) < 0)
		return NULL;
	name = read_name(hidden_name);
	if (name) {
		free(addr.name);
		addr.name = name;
	}
	text = addr_format(&addr);
	if (addr_parse(text, &again, NULL) == 0 &&
		str_eq(again.local, addr.local) &&
		str_eq(again.domain, addr.domain))
		return TAKE_PTR(text);
	return addr_spec(&addr);
}

static void add_mailbox(InternetAddress *address, struct strv *list)
{
	const char *spec = internet_address_mailbox_get_addr(
		INTERNET_ADDRESS_MAILBOX(address));
	char *text = spec ? format(spec, internet_address_get_name(address))
			  : NULL;

	if (text)
		strv_take(list, text);
}

/* Calls itself for groups in groups, which COLONS_MAX bounds. */
static void add_all(InternetAddressList *from, struct strv *list)
{
	int n = from ? internet_address_list_length(from) : 0;

	for (int i = 0; i < n && list->n < ADDRS_MAX; i++) {
		InternetAddress *address = internet_address_list_get_address(
			from, i);

		if (INTERNET_ADDRESS_IS_GROUP(address))
			add_all(internet_address_group_get_members(
					INTERNET_ADDRESS_GROUP(address)),
				list);
		else
			add_mailbox(address, list);
	}
}

static bool has_few_colons(const char *value)
{
	size_t colons = 0;

	for (const char *p = strchr(value, ':'); p; p = strchr(p + 1, ':'))
		colons++;
	return colons <= COLONS_MAX;
}

void mime_read_addrs(const struct mime_scan_field *field, struct strv *list)
{
	_cleanup_free_ char *value = NULL;
	_cleanup_free_ char *hidden = NULL;
	InternetAddressList *parsed;

	if (field->value.len > VALUE_MAX || list->n >= ADDRS_MAX)
		return;
	value = mime_scan_value(field);
	if (!has_few_colons(value))
		return;
	hidden = mime_words_hide(value);
	mime_init();
	parsed = internet_address_list_parse(NULL, hidden);
	add_all(parsed, list);
	if (parsed)
		g_object_unref(parsed);
}
