/*
 * dkim: parses selector records as receivers do.
 */
#include "core/dns/dkim.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/span.h"
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

/* Returns the base64 without blanks and padding. The caller frees it. */
static char *bare_key(struct span text)
{
	struct buf out = BUF_INIT;

	buf_add_str(&out, "");
	for (size_t i = 0; i < text.len; i++)
		if (!ascii_is_space(text.data[i]))
			buf_add_char(&out, text.data[i]);
	while (out.len > 0 && out.data[out.len - 1] == '=')
		out.data[--out.len] = '\0';
	return buf_take(&out);
}

/* True if the colon-separated list has the word, or `all`, which stands for every word. */
static bool has_word(struct span list, const char *word, const char *all)
{
	while (list.len > 0) {
		struct span item = span_trim(span_cut(&list, ':'));

		if (span_is(item, word) || (all && span_is(item, all)))
			return true;
	}
	return false;
}

enum dkim_record dkim_record_parse(const char *text, char **key_r)
{
	struct span rest = {text, strlen(text)};
	_cleanup_strv_ struct strv names = STRV_INIT;
	_cleanup_free_ char *key = NULL;
	bool is_rsa = true, is_valid = true;

	for (int i = 0; rest.len > 0; i++) {
		struct span value = span_trim(span_cut(&rest, ';')), tag;
		char *name;

		if (value.len == 0)
			continue;
		if (i >= TAGS_MAX || memchr(value.data, '=', value.len) == NULL)
			return i == 0 ? DKIM_RECORD_NONE : DKIM_RECORD_INVALID;
		tag = span_trim(span_cut(&value, '='));
		value = span_trim(value);
		name = mem_dup(tag.data, tag.len);
		is_valid &= !strv_has(&names, name);
		strv_take(&names, name);
		if (str_eq(name, "v")) {
			/* v= must be the first tag, if there is one. */
			if (!span_is(value, "DKIM1"))
				return DKIM_RECORD_NONE;
			is_valid &= i == 0;
		} else if (str_eq(name, "k")) {
			is_rsa = span_is(value, "rsa");
		} else if (str_eq(name, "h")) {
			is_valid &= has_word(value, "sha256", NULL);
		} else if (str_eq(name, "s")) {
			is_valid &= has_word(value, "email", "*");
		} else if (str_eq(name, "p") && key == NULL) {
			key = bare_key(value);
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
	_cleanup_free_ char *found = NULL,
			    *wanted = bare_key((struct span){key->key, strlen(key->key)});
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
