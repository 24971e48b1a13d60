/*
 * addr: one mailbox, strictly read.
 *
 * The grammar is RFC 5322 3.4 without groups, comments in the address, folding
 * and everything obsolete, with the lengths of RFC 5321 4.5.3.1 and the UTF-8
 * of RFC 6531 3.3.
 *
 * Threads: any; holds no state.
 */
#include "core/mail/addr.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/mail/addr_private.h"
#include "core/mail/mime_header.h"

enum {
	LOCAL_MAX = 64,  /* octets */
	QUOTED_MAX = 100 /* of an address in an error text */
};

static bool is_atext(char c)
{
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		(c >= '0' && c <= '9') || (unsigned char)c >= 0x80)
		return true;
	return c != '\0' && strchr("!#$%&'*+-/=?^_`{|}~", c) != NULL;
}

/* The length of the quoted string at text, with its quotes; 0 when it does not
 * end. */
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

static size_t dot_atom_len(const char *text)
{
	size_t len = 0;

	while (is_atext(text[len]) || text[len] == '.')
		len++;
	return len;
}

/* What is wrong with a dot-atom of len bytes. */
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

/* What is wrong with the content of a quoted string. */
static const char *content_fault(const char *content)
{
	if (*content == '\0')
		return "nothing stands before the @";
	if (strchr(content, '\t'))
		return "it has a tab";
	/* Also inside quotes Postfix takes `@a:b` for a source route, and
	 * makes it b. */
	if (*content == '@')
		return "the part before the @ begins with another @";
	return NULL;
}

/* Writes the local part that a quoted string means as Postfix does: quotes
 * only around what needs them, a backslash only before `"` and `\`. So what is
 * staged is what the milter sees. */
static const char *read_quoted(const char *text, size_t len, char **local_r)
{
	_cleanup_buf_ struct buf content = BUF_INIT, quoted = BUF_INIT;
	const char *fault, *p;

	for (size_t i = 1; i < len - 1; i++) {
		if (text[i] == '\\')
			i++;
		buf_add_char(&content, text[i]);
	}
	p = buf_str(&content);
	if (dot_atom_len(p) == content.len &&
		dot_atom_fault(p, content.len) == NULL) {
		*local_r = buf_take(&content);
		return NULL;
	}
	fault = content_fault(p);
	if (fault)
		return fault;
	buf_add_char(&quoted, '"');
	for (; *p; p++) {
		if (*p == '"' || *p == '\\')
			buf_add_char(&quoted, '\\');
		buf_add_char(&quoted, *p);
	}
	buf_add_char(&quoted, '"');
	*local_r = buf_take(&quoted);
	return NULL;
}

/* Reads the local part at text, which an @ must follow; says what is wrong
 * with it. */
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
		return "the part before the @ has a character that needs "
		       "quotes";
	fault = quoted ? read_quoted(text, len, local_r)
		       : dot_atom_fault(text, len);
	if (fault)
		return fault;
	if (!quoted)
		*local_r = mem_dup(text, len);
	*len_r = len;
	return strlen(*local_r) > LOCAL_MAX
		       ? "the part before the @ is longer than 64 bytes"
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
		return err_set(err, ERR_INVALID,
			"more than one address where one is wanted");
	if (*domain != '\0' && domain[strlen(domain) - 1] == '.')
		return err_set(err, ERR_INVALID, "the domain ends with a dot");
	return addr_domain_normalize(domain, &addr->domain, err);
}

/* The `<` that opens the address, NULL when there is none outside quotes. */
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
		return err_set(err, ERR_INVALID,
			"something stands behind the closing >");
	if (addr_name_read(text, (size_t)(angle - text), &addr->name, err) < 0)
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
			"an address is not UTF-8, or has a line break or "
			"another control character");
	if (read_mailbox(trimmed, &addr, err) < 0)
		return err_prefix(err, "\"%.*s\"",
			(int)str_utf8_cut(trimmed, QUOTED_MAX), trimmed);
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
	_cleanup_free_ char *name = NULL;

	if (str_empty(addr->name))
		return addr_spec(addr);
	name = addr_name_write(addr->name);
	return mem_printf("%s <%s@%s>", name, addr->local, addr->domain);
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
