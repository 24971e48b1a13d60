/*
 * addr: strict parser for mailboxes and domain names.
 *
 * The grammar is RFC 5322 3.4 without groups, comments, folding and obsolete forms, with the
 * lengths of RFC 5321 4.5.3.1 and the UTF-8 of RFC 6531 3.3.
 *
 * libidn2 converts U-labels to A-labels (UTS 46, non-transitional, as browsers do). ASCII names
 * bypass it, because it refuses names that exist in DNS, such as `r3---x.example.com` and
 * `xn--i-7iq.ws`, and would change none.
 */
#include "core/address/addr.h"

#include <glib.h>
#include <idn2.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/mime/mime_header.h"
#include "core/mime/mime_words.h"

enum {
	TEXT_MAX = 1024, /* bytes of a domain before conversion */
	DOMAIN_MAX = 253,
	LABEL_MAX = 63,
	LOCAL_MAX = 64,  /* octets */
	QUOTED_MAX = 100 /* bytes of an address or a domain shown in an error */
};

/* Returns what is wrong with a lower-case ASCII name (RFC 1123 2.1), or NULL. */
static const char *name_fault(const char *name)
{
	const char *label = name;

	if (*name == '\0')
		return "it is empty";
	if (strlen(name) > DOMAIN_MAX)
		return "it is longer than 253 bytes";
	for (;;) {
		size_t len = strcspn(label, ".");

		if (len == 0)
			return "a part between dots is empty";
		if (len > LABEL_MAX)
			return "a part between dots is longer than 63 bytes";
		if (label[0] == '-' || label[len - 1] == '-')
			return "a part between dots begins or ends with a hyphen";
		for (size_t i = 0; i < len; i++)
			if (!g_ascii_islower(label[i]) && !ascii_is_digit(label[i]) &&
				label[i] != '-')
				return "it has a character that no domain name has";
		if (label[len] == '\0')
			break;
		label += len + 1;
	}
	if (label == name)
		return "it has no dot";
	/* No top-level domain is numeric: this is an IPv4 address. */
	if (label[strspn(label, "0123456789")] == '\0')
		return "its last part is a number";
	return NULL;
}

/* Reads the name in this version of IDNA. Returns what is wrong with it, or NULL. */
static const char *normalize(const char *text, int version, char **domain_r)
{
	_cleanup_free_ char *name = NULL;
	const char *fault;
	char *converted;
	size_t len;

	if (strlen(text) > TEXT_MAX)
		return "it is too long";
	if (str_is_ascii(text)) {
		name = mem_strdup(text);
	} else {
		if (!str_utf8_valid(text, strlen(text)) ||
			idn2_to_ascii_8z(text, &converted, version | IDN2_NFC_INPUT) != IDN2_OK)
			return "it has a character or a label that IDNA does not allow";
		name = mem_strdup(converted);
		idn2_free(converted);
	}
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

	/* The result only matters if it is a name that could be registered. */
	if (str_is_ascii(text) || normalize(text, IDN2_TRANSITIONAL, &old))
		return -1;
	return normalize(old, IDN2_NONTRANSITIONAL, domain_r) ? -1 : 0;
}

/* Removes the quotes of quoted strings (RFC 5322 3.2.4). Returns true if the text looks like
 * several addresses: it has a separator and an @ outside quotes. */
static bool unquote(const char *text, size_t len, struct buf *out)
{
	bool quoted = false, separator = false, at = false;

	for (size_t i = 0; i < len; i++) {
		if (text[i] == '"') {
			quoted = !quoted;
			continue;
		}
		if (quoted && text[i] == '\\' && i + 1 < len)
			i++;
		separator |= !quoted && (text[i] == ',' || text[i] == ';');
		at |= !quoted && text[i] == '@';
		buf_add_char(out, text[i]);
	}
	return separator && at;
}

/* Reads the display name in the len bytes before the `<`: unquotes quoted strings, decodes
 * encoded words (RFC 2047), reduces runs of blanks. The text is a valid header value. The
 * caller frees the name. */
static int read_display_name(const char *text, size_t len, char **name_r, struct err *err)
{
	_cleanup_buf_ struct buf raw = BUF_INIT;
	_cleanup_free_ char *name = NULL, *again = NULL;

	if (unquote(text, len, &raw))
		return err_set(err, ERR_INVALID, "more than one address where one is wanted");
	name = mime_words_decode(buf_str(&raw));
	if (!mime_header_value_valid(name))
		return err_set(err, ERR_INVALID,
			"the name has a line break or another control character in an encoded word");
	/* A name that decodes twice could hide anything from the next reader. */
	again = mime_words_decode(name);
	if (!str_eq(name, again))
		return err_set(err, ERR_INVALID, "the name is encoded more than once");
	str_squeeze(name);
	*name_r = TAKE_PTR(name);
	return 0;
}

/* Returns the length of the quoted string at text, including its quotes; 0 if it is not closed. */
static size_t quoted_len(const char *text)
{
	for (size_t i = 1; text[i] != '\0'; i++) {
		if (text[i] == '"')
			return i + 1;
		if (text[i] == '\\' && text[++i] == '\0')
			return 0;
	}
	return 0;
}

/* Returns the length of the atext (RFC 5322 3.2.3, RFC 6532 3.2) and dots at text. */
static size_t dot_atom_len(const char *text)
{
	const char *end = text;

	while (g_ascii_isalnum(*end) || (unsigned char)*end >= 0x80 ||
		(*end != '\0' && strchr("!#$%&'*+-/=?^_`{|}~.", *end)))
		end++;
	return (size_t)(end - text);
}

/* Returns what is wrong with a dot-atom of len bytes, or NULL. */
static const char *dot_atom_fault(const char *text, size_t len)
{
	if (len == 0)
		return "nothing stands before the @";
	if (text[0] == '.' || text[len - 1] == '.')
		return "the part before the @ begins or ends with a dot";
	if (memmem(text, len, "..", 2) != NULL)
		return "two dots follow each other before the @";
	return NULL;
}

/* Writes a quoted local part as Postfix does: quotes only where needed, a backslash only before
 * `"` and `\`. So the staged address equals the one that the milter sees. */
static const char *read_quoted(const char *text, size_t len, char **local_r)
{
	_cleanup_buf_ struct buf content = BUF_INIT, quoted = BUF_INIT;
	const char *p;

	for (size_t i = 1; i < len - 1; i++) {
		if (text[i] == '\\')
			i++;
		buf_add_char(&content, text[i]);
	}
	p = buf_str(&content);
	if (dot_atom_len(p) == content.len && dot_atom_fault(p, content.len) == NULL) {
		*local_r = buf_take(&content);
		return NULL;
	}
	if (*p == '\0')
		return "nothing stands before the @";
	if (strchr(p, '\t'))
		return "it has a tab";
	/* Postfix takes `@a:b` for a source route even inside quotes, and changes it to b. */
	if (*p == '@')
		return "the part before the @ begins with another @";
	mime_quoted_add(&quoted, p);
	*local_r = buf_take(&quoted);
	return NULL;
}

/* Reads the local part at text, up to the @. Returns what is wrong with it, or NULL. */
static const char *read_local(const char *text, char **local_r, size_t *len_r)
{
	bool quoted = text[0] == '"';
	size_t len = quoted ? quoted_len(text) : dot_atom_len(text);
	const char *fault;

	if (*text == '\0')
		return "the address is empty";
	if (quoted && len == 0)
		return "a quote is not closed";
	if (strchr(text + len, '@') == NULL)
		return "it has no @";
	if (text[len] != '@')
		return "the part before the @ has a character that needs quotes";
	fault = quoted ? read_quoted(text, len, local_r) : dot_atom_fault(text, len);
	if (fault)
		return fault;
	if (!quoted)
		*local_r = mem_dup(text, len);
	*len_r = len;
	return strlen(*local_r) > LOCAL_MAX ? "the part before the @ is longer than 64 bytes"
					    : NULL;
}

static int read_spec(const char *spec, struct addr *addr, struct err *err)
{
	size_t len = 0;
	const char *fault = read_local(spec, &addr->local, &len), *domain;

	if (fault)
		return err_set(err, ERR_INVALID, "%s", fault);
	domain = spec + len + 1;
	if (strpbrk(domain, ",;"))
		return err_set(err, ERR_INVALID, "more than one address where one is wanted");
	if (*domain != '\0' && domain[strlen(domain) - 1] == '.')
		return err_set(err, ERR_INVALID, "the domain ends with a dot");
	return addr_domain_normalize(domain, &addr->domain, err);
}

/* Returns the `<` that opens the address, or NULL if there is none outside quotes. */
static const char *find_angle(const char *text)
{
	for (; *text; text++) {
		if (*text == '<')
			return text;
		if (*text == '"') {
			size_t len = quoted_len(text);

			if (len == 0)
				return NULL;
			text += len - 1;
		}
	}
	return NULL;
}

static int read_mailbox(const char *text, struct addr *addr, struct err *err)
{
	const char *angle = find_angle(text), *last = strrchr(text, '>');
	_cleanup_free_ char *spec = NULL;

	if (angle == NULL)
		return read_spec(text, addr, err);
	if (last < angle)
		return err_set(err, ERR_INVALID, "the closing > is missing");
	if (last[1] != '\0')
		return err_set(err, ERR_INVALID, "something stands behind the closing >");
	if (read_display_name(text, (size_t)(angle - text), &addr->name, err) < 0)
		return -1;
	spec = mem_dup(angle + 1, (size_t)(last - angle - 1));
	return read_spec(spec, addr, err);
}

int addr_parse(const char *text, struct addr *addr_r, struct err *err)
{
	_cleanup_free_ char *trimmed = str_trim(text, strlen(text));
	_cleanup_addr_ struct addr addr = {0};

	if (!mime_header_value_valid(text))
		return err_set(err, ERR_INVALID,
			"an address is not UTF-8, or has a line break or another control character");
	if (read_mailbox(trimmed, &addr, err) < 0)
		return err_prefix(err, "\"%.*s\"", (int)str_utf8_cut(trimmed, QUOTED_MAX), trimmed);
	addr_r->name = addr.name ? TAKE_PTR(addr.name) : mem_strdup("");
	addr_r->local = TAKE_PTR(addr.local);
	addr_r->domain = TAKE_PTR(addr.domain);
	return 0;
}

char *addr_spec(const struct addr *addr)
{
	return mem_printf("%s@%s", addr->local, addr->domain);
}

char *addr_format(const struct addr *addr)
{
	const char *name = addr->name;
	struct buf out = BUF_INIT;

	if (str_empty(name))
		return addr_spec(addr);
	/* Only a name that read_display_name() would misread gets quotes. */
	if (strpbrk(name, "\"<") || (strpbrk(name, ",;") && strchr(name, '@')))
		mime_quoted_add(&out, name);
	else
		buf_add_str(&out, name);
	buf_printf(&out, " <%s@%s>", addr->local, addr->domain);
	return buf_take(&out);
}

char *addr_folded(const char *address)
{
	const char *at = strrchr(address, '@');
	_cleanup_free_ char *given = at ? mem_dup(address, (size_t)(at - address)) : NULL;
	_cleanup_free_ char *local = given ? str_folded(given) : NULL;
	_cleanup_free_ char *domain = NULL;

	if (at == NULL)
		return str_folded(address);
	if (addr_domain_normalize(at + 1, &domain, NULL) < 0)
		domain = str_folded(at + 1);
	return mem_printf("%s@%s", local, domain);
}

bool addr_equal(const struct addr *a, const struct addr *b)
{
	return str_eq(a->local, b->local) && str_eq(a->domain, b->domain);
}

void addr_clear(struct addr *addr)
{
	free(addr->name);
	free(addr->local);
	free(addr->domain);
	*addr = (struct addr){0};
}

/* Returns the length of the first item, which ends at a comma outside quotes and <>. */
static size_t item_len(const char *text)
{
	bool quoted = false, angle = false;
	size_t i;

	for (i = 0; text[i] != '\0'; i++) {
		char c = text[i];

		if (quoted && c == '\\' && text[i + 1] != '\0')
			i++;
		else if (c == '"')
			quoted = !quoted;
		else if (!quoted && (c == '<' || c == '>'))
			angle = c == '<';
		else if (!quoted && !angle && c == ',')
			break;
	}
	return i;
}

int addr_list_parse(const char *text, struct addr_list *list, struct err *err)
{
	size_t before = list->n;

	if (text[strspn(text, " \t")] == '\0')
		return 0;
	for (;;) {
		size_t len = item_len(text);
		_cleanup_free_ char *item = mem_dup(text, len);

		if (item[strspn(item, " \t")] == '\0') {
			err_set(err, ERR_INVALID, "a comma has no address on one of its sides");
			break;
		}
		if (addr_parse(item, addr_list_add(list), err) < 0)
			break;
		if (text[len] == '\0')
			return 0;
		text += len + 1;
	}
	while (list->n > before)
		addr_clear(&list->items[--list->n]);
	return -1;
}

struct addr *addr_list_add(struct addr_list *list)
{
	list->items = mem_append(list->items, list->n, sizeof(*list->items));
	return &list->items[list->n++];
}

bool addr_list_has(const struct addr_list *list, const struct addr *addr)
{
	for (size_t i = 0; i < list->n; i++)
		if (addr_equal(&list->items[i], addr))
			return true;
	return false;
}

void addr_list_clear(struct addr_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		addr_clear(&list->items[i]);
	free(list->items);
	*list = (struct addr_list){0};
}
