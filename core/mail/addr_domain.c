/*
 * addr_domain: domain names, as they are stored and compared.
 *
 * libidn2 turns U-labels into A-labels (UTS 46, non-transitional, as browsers
 * do). What is ASCII already does not pass through it: it refuses names that
 * DNS knows, such as `r3---x.example.com`.
 *
 * Threads: any; holds no state.
 */
#include <idn2.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/str.h"
#include "core/base/ascii.h"
#include "core/mail/addr.h"
#include "core/mail/addr_private.h"

enum {
	TEXT_MAX = 1024, /* bytes of a name before it is converted */
	DOMAIN_MAX = 253,
	LABEL_MAX = 63,
	QUOTED_MAX = 100 /* of a domain in an error text */
};

/* Whether libidn2 must look at the name. */
static bool needs_idn(const char *text)
{
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p >= 0x80)
			return true;
	for (const char *p = text; p; p = strchr(p, '.')) {
		p += *p == '.';
		if (str_starts_nocase(p, "xn--"))
			return true;
	}
	return false;
}

/* A new string; NULL when it is no name that this version of IDNA allows. */
static char *to_ascii(const char *text, int version)
{
	const int flags = version | IDN2_NFC_INPUT;
	char *result = NULL, *copy;

	if (!needs_idn(text))
		return mem_strdup(text);
	if (!str_utf8_valid(text, strlen(text)) ||
		idn2_to_ascii_8z(text, &result, flags) != IDN2_OK)
		return NULL;
	copy = mem_strdup(result);
	idn2_free(result);
	return copy;
}

static const char *label_fault(const char *label, size_t len)
{
	if (len == 0)
		return "a part between dots is empty";
	if (len > LABEL_MAX)
		return "a part between dots is longer than 63 bytes";
	if (label[0] == '-' || label[len - 1] == '-')
		return "a part between dots begins or ends with a hyphen";
	for (size_t i = 0; i < len; i++)
		if (!ascii_is_digit(label[i]) && label[i] != '-' &&
			!(label[i] >= 'a' && label[i] <= 'z'))
			return "it has a character that no domain name has";
	return NULL;
}

/* What is wrong with a name in ASCII and lower case (RFC 1123 2.1). */
static const char *name_fault(const char *name)
{
	size_t labels = 0;
	const char *label = name;

	if (*name == '\0')
		return "it is empty";
	if (strlen(name) > DOMAIN_MAX)
		return "it is longer than 253 bytes";
	for (;; labels++) {
		const char *end = strchrnul(label, '.');
		const char *fault = label_fault(label, (size_t)(end - label));

		if (fault)
			return fault;
		if (*end == '\0')
			break;
		label = end + 1;
	}
	if (labels == 0)
		return "it has no dot";
	/* No top-level domain is a number: this is an IPv4 address. */
	if (label[strspn(label, "0123456789")] == '\0')
		return "its last part is a number";
	return NULL;
}

static const char *normalize(const char *text, int version, char **domain_r)
{
	_cleanup_free_ char *name = NULL;
	const char *fault;
	size_t len;

	if (strlen(text) > TEXT_MAX)
		return "it is too long";
	name = to_ascii(text, version);
	if (name == NULL)
		return "it has a character or a label that IDNA does not allow";
	str_lower(name);
	len = strlen(name);
	if (len > 0 && name[len - 1] == '.')
		name[len - 1] = '\0';
	fault = name_fault(name);
	if (fault == NULL)
		*domain_r = TAKE_PTR(name);
	return fault;
}

int addr_domain_normalize(const char *text, char **domain_r, struct err *err)
{
	const char *fault = normalize(text, IDN2_NONTRANSITIONAL, domain_r);

	if (fault == NULL)
		return 0;
	return err_set(err, ERR_INVALID, "\"%.*s\" is no domain name: %s",
		(int)str_utf8_cut(text, QUOTED_MAX), text, fault);
}

int addr_domain_transitional(const char *text, char **domain_r)
{
	_cleanup_free_ char *old = NULL;

	/* Of what comes out, only a name that could be registered matters. */
	if (!needs_idn(text) || normalize(text, IDN2_TRANSITIONAL, &old))
		return -1;
	return normalize(old, IDN2_NONTRANSITIONAL, domain_r) ? -1 : 0;
}
