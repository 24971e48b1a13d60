/*
 * dkim: parses selector records as receivers do.
 */
#include "core/dns/dkim.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/str.h"

enum { TAGS_MAX = 32 };

char *dkim_record_name(const char *domain, const char *selector)
{
	return mem_printf("%s._domainkey.%s", selector, domain);
}

char *dkim_record_value(const char *key)
{
	return mem_printf("v=DKIM1; k=rsa; p=%s", key);
}

/* Returns the text without blanks and base64 padding. The caller frees it. */
static char *bare(const char *text)
{
	struct buf out = BUF_INIT;

	buf_add_str(&out, "");
	for (; *text; text++)
		if (!ascii_is_space(*text))
			buf_add_char(&out, *text);
	while (out.len > 0 && out.data[out.len - 1] == '=')
		out.data[--out.len] = '\0';
	return buf_take(&out);
}

/* True if the colon-separated list has the word, or `all`, which stands for every word. */
static bool has_word(const char *list, const char *word, const char *all)
{
	_cleanup_strv_ struct strv items = STRV_INIT;

	strv_split(&items, list, ':');
	for (size_t i = 0; i < items.n; i++) {
		_cleanup_free_ char *item = str_trim(items.items[i], strlen(items.items[i]));

		if (str_eq(item, word) || (all && str_eq(item, all)))
			return true;
	}
	return false;
}

enum dkim_record dkim_record_parse(const char *text, char **key_r)
{
	_cleanup_strv_ struct strv tags = STRV_INIT, names = STRV_INIT;
	_cleanup_free_ char *key = NULL;
	bool is_rsa = true, is_valid = true;

	strv_split(&tags, text, ';');
	if (tags.n > TAGS_MAX)
		return DKIM_RECORD_INVALID;
	for (size_t i = 0; i < tags.n; i++) {
		_cleanup_free_ char *tag = str_trim(tags.items[i], strlen(tags.items[i]));
		size_t len = strcspn(tag, "=");
		_cleanup_free_ char *name = str_trim(tag, len);
		_cleanup_free_ char *value = NULL;

		if (*tag == '\0')
			continue;
		if (tag[len] == '\0')
			return i == 0 ? DKIM_RECORD_NONE : DKIM_RECORD_INVALID;
		value = str_trim(tag + len + 1, strlen(tag + len + 1));
		is_valid &= !strv_has(&names, name);
		strv_add(&names, name);
		if (str_eq(name, "v")) {
			/* v= must be the first tag, if there is one. */
			if (!str_eq(value, "DKIM1"))
				return DKIM_RECORD_NONE;
			is_valid &= i == 0;
		} else if (str_eq(name, "k")) {
			is_rsa = str_eq(value, "rsa");
		} else if (str_eq(name, "h")) {
			is_valid &= has_word(value, "sha256", NULL);
		} else if (str_eq(name, "s")) {
			is_valid &= has_word(value, "email", "*");
		} else if (str_eq(name, "p") && key == NULL) {
			key = bare(value);
		}
	}
	if (!strv_has(&names, "p") && !strv_has(&names, "v"))
		return DKIM_RECORD_NONE;
	if (!is_valid || !is_rsa || key == NULL)
		return DKIM_RECORD_INVALID;
	if (*key == '\0')
		return DKIM_RECORD_REVOKED;
	*key_r = TAKE_PTR(key);
	return DKIM_RECORD_KEY;
}

enum dkim_result dkim_check(struct dns *dns, const char *domain, const struct dkim_key_public *key)
{
	_cleanup_free_ char *name = dkim_record_name(domain, key->selector);
	_cleanup_free_ char *found = NULL, *wanted = bare(key->key);
	_cleanup_strv_ struct strv texts = STRV_INIT;
	enum dkim_record record = DKIM_RECORD_NONE;

	if (dns_txt(dns, name, &texts) < 0)
		return DKIM_UNKNOWN;
	for (size_t i = 0; i < texts.n; i++) {
		_cleanup_free_ char *other = NULL;
		enum dkim_record one = dkim_record_parse(texts.items[i], &other);

		if (one == DKIM_RECORD_NONE)
			continue;
		/* With several records receivers may use any of them (RFC 6376 3.6.2.2). */
		if (record != DKIM_RECORD_NONE)
			return DKIM_INVALID;
		record = one;
		found = TAKE_PTR(other);
	}
	switch (record) {
	case DKIM_RECORD_KEY:
		return str_eq(found, wanted) ? DKIM_SAME : DKIM_OTHER;
	case DKIM_RECORD_REVOKED:
		return DKIM_REVOKED;
	case DKIM_RECORD_INVALID:
		return DKIM_INVALID;
	default:
		return texts.n > 0 ? DKIM_INVALID : DKIM_MISSING;
	}
}
