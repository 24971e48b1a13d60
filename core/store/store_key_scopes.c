/*
 * store_key_scopes: what a key may do, as words.
 *
 * Threads: any; the table is constant.
 */
#include <string.h>

#include "core/base/str.h"
#include "core/base/strv.h"
#include "core/store/store_key.h"

static const struct {
	enum key_scope bit;
	const char *word;
} scopes_known[] = {
	{KEY_SENDING, "sending"},
	{KEY_READING, "reading"},
	{KEY_MANAGING, "managing"},
};

static unsigned bit_of(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(scopes_known); i++)
		if (str_eq(scopes_known[i].word, word))
			return scopes_known[i].bit;
	return 0;
}

int store_key_scopes_parse(const char *text, unsigned *scopes_r, struct err *err)
{
	_cleanup_strv_ struct strv words = STRV_INIT;
	unsigned scopes = 0;

	strv_split(&words, text, ',');
	for (size_t i = 0; i < words.n; i++) {
		_cleanup_free_ char *word = str_trim(
			words.items[i], strlen(words.items[i]));

		if (bit_of(word) == 0)
			return err_set(err, ERR_INVALID,
				"\"%s\" is no scope: these are sending, "
				"reading and managing",
				word);
		scopes |= bit_of(word);
	}
	if (scopes == 0)
		return err_set(err, ERR_INVALID,
			"no scope is given: there are sending, reading and "
			"managing");
	*scopes_r = scopes;
	return 0;
}

char *store_key_scopes_format(unsigned scopes)
{
	_cleanup_strv_ struct strv words = STRV_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(scopes_known); i++)
		if (scopes & scopes_known[i].bit)
			strv_add(&words, scopes_known[i].word);
	return strv_join(&words, ",");
}
