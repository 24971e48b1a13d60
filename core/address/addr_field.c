/*
 * addr_field: splits a field into tokens and groups them into addresses.
 *
 * Like Postfix, it reads tokens from the left and groups them from the right: the end of an
 * address is known before the text in front of it. That text is a display name if the address
 * is in brackets, otherwise it belongs to other addresses. Threads: any.
 */
#include "core/address/addr_field.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/address/addr.h"
#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/mime/mime_header.h"

/* The kind of a token: a word of one of these kinds, or a separator character. */
enum { ATOM = 'a', QUOTED = '"', LITERAL = '[', COMMENT = '(' };

struct token {
	char kind;
	struct span text; /* the token as it stands in the value */
};

struct field {
	struct token *tokens;
	size_t n;
	struct span value;
	/* The first invalid address: the tokens from first up to end, and what is wrong. why is
	 * NULL if there is none. */
	size_t first, end;
	const char *why;
};

bool addr_field_is(const char *name)
{
	static const char *const names[] = {"From", "Sender", "Reply-To", "To", "Cc", "Bcc",
		"Apparently-To", "Disposition-Notification-To", "Errors-To", "Mail-Followup-To",
		"Return-Path", "Return-Receipt-To", "Resent-From", "Resent-Sender",
		"Resent-Reply-To", "Resent-To", "Resent-Cc", "Resent-Bcc"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (str_eq_nocase(name, names[i]))
			return true;
	return false;
}

/* Reads the token at text, which does not begin with a blank. */
static struct token read_token(struct span text)
{
	static const char separators[] = "|%!()<>@,;:\\\".[]";
	static const char ends[] = " \t\r\n|%!()<>@,;:\".[]";
	char open = text.data[0];
	bool enclosed = open == COMMENT || open == LITERAL || open == QUOTED;
	char closing = open == COMMENT ? ')' : open == LITERAL ? ']' : QUOTED;
	struct token token = {enclosed ? open : ATOM, text};
	size_t depth = 1, i = enclosed;

	if (!enclosed && open != '\\' && open && strchr(separators, open)) {
		token.kind = open;
		token.text.len = 1;
		return token;
	}
	for (; i < text.len; i++) {
		char c = text.data[i];

		if (c == '\\') {
			i++;
		} else if (!enclosed && c && strchr(ends, c)) {
			token.text.len = i;
			break;
		} else if (enclosed && c == closing && --depth == 0) {
			token.text.len = i + 1;
			break;
		} else if (open == COMMENT && c == COMMENT) {
			depth++;
		}
	}
	return token;
}

/* Splits the value into tokens. False if there are more than Postfix reads. */
static bool read_tokens(struct field *field)
{
	struct span rest = field->value;

	/* Each token has at least one byte. */
	field->tokens = mem_alloc(
		rest.len < ADDR_FIELD_TOKENS_MAX ? rest.len + 1 : ADDR_FIELD_TOKENS_MAX,
		sizeof(*field->tokens));
	while (rest.len > 0) {
		size_t len = 1;

		if (!ascii_is_space(rest.data[0])) {
			if (field->n == ADDR_FIELD_TOKENS_MAX)
				return false;
			field->tokens[field->n] = read_token(rest);
			len = field->tokens[field->n++].text.len;
		}
		rest.data += len;
		rest.len -= len;
	}
	return true;
}

/* Returns what is wrong with the domain made of these tokens, or NULL. Postfix does not change
 * a domain that has dots, but none at its ends. */
static const char *domain_fault(const struct token *tokens, size_t n)
{
	static const char wrong[] = "its domain is none";
	bool dot = false;

	if (n == 1 && tokens[0].kind == LITERAL)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		dot |= tokens[i].kind == '.';
		if (tokens[i].kind != '.' && tokens[i].kind != ATOM)
			return wrong;
		if (i > 0 && tokens[i].kind == ATOM && tokens[i - 1].kind == ATOM)
			return wrong;
		if (memchr(tokens[i].text.data, '\\', tokens[i].text.len))
			return wrong;
	}
	if (n == 0 || tokens[0].kind == '.' || tokens[n - 1].kind == '.')
		return wrong;
	return dot ? NULL : "its domain has no dot";
}

/* Returns what is wrong with the local part made of these tokens, or NULL. Dots separate words;
 * `|`, `%` and `!` count as letters. */
static const char *local_fault(const struct token *tokens, size_t n)
{
	static const char wrong[] = "the part before the @ needs quotes";
	bool word = false;

	/* Unneeded quotes and backslashes are accepted: Postfix removes them as addr_parse() does.
	 */
	if (n == 1 && tokens[0].kind == QUOTED) {
		_cleanup_free_ char *spec = mem_printf(
			"%.*s@example.com", (int)tokens[0].text.len, tokens[0].text.data);
		_cleanup_addr_ struct addr addr = {0};

		return addr_parse(spec, &addr, NULL) < 0 ? "the part before the @ is none" : NULL;
	}
	for (size_t i = 0; i < n; i++) {
		const struct token *token = &tokens[i];

		if (token->kind == '.' ? !word : !strchr("a|%!", token->kind))
			return wrong;
		if (memchr(token->text.data, '\\', token->text.len))
			return wrong;
		if (token->kind == ATOM && i > 0 && tokens[i - 1].kind == ATOM)
			return wrong;
		word = token->kind != '.';
	}
	return word ? NULL : wrong;
}

/* Checks an address that Postfix sees, the tokens from first up to end. Callers go from right
 * to left, so the last fault noted is the leftmost. */
static void add_address(struct field *field, size_t first, size_t end)
{
	struct token *tokens = mem_alloc(end - first + 1, sizeof(*tokens));
	const char *why;
	size_t n = 0, at = 0;

	for (size_t i = first; i < end; i++)
		if (field->tokens[i].kind != COMMENT)
			tokens[n++] = field->tokens[i];
	while (at < n && tokens[at].kind != '@')
		at++;
	if (at == n)
		why = "it has no domain (a name with a comma in it needs quotes)";
	else if (at == 0)
		why = "nothing stands before the @";
	else if ((why = local_fault(tokens, at)) == NULL)
		why = domain_fault(tokens + at + 1, n - at - 1);
	if (n > 0 && why) {
		field->first = first;
		field->end = end;
		field->why = why;
	}
	free(tokens);
}

/* Returns the index after the last token before end that is of one of these kinds; 0 if there
 * is none. */
static size_t behind_last(const struct field *field, size_t end, const char *kinds)
{
	while (end > 0 && !strchr(kinds, field->tokens[end - 1].kind))
		end--;
	return end;
}

/* Groups tokens into addresses. Two words without a separator belong to two addresses. Text
 * before `<`, back to the previous separator, is a name. A colon starts a group if a semicolon
 * ends one. */
static void find_addresses(struct field *field)
{
	size_t i = field->n, end = field->n;
	bool in_group = false, word_fits = true;

	while (i > 0) {
		char kind = field->tokens[i - 1].kind;

		switch (kind) {
		case ';':
		case ',':
			add_address(field, i, end);
			in_group |= kind == ';';
			word_fits = true;
			end = --i;
			break;
		case '>':
			add_address(field, i, end);
			end = i - 1;
			i = behind_last(field, end, "<");
			add_address(field, i, end);
			end = i = behind_last(field, i, ">;,:");
			word_fits = true;
			break;
		case ATOM:
		case QUOTED:
		case LITERAL:
			if (!word_fits) {
				add_address(field, i, end);
				end = i;
			}
			word_fits = false;
			i--;
			break;
		case COMMENT:
			i--;
			break;
		case ':':
			if (in_group) {
				add_address(field, i, end);
				end = i = behind_last(field, i, ",");
				break;
			}
			/* fall through */
		default:
			word_fits = true;
			i--;
		}
	}
	add_address(field, 0, end);
}

/* Returns the text from one token up to another, unfolded. The caller frees it. */
static char *text_of(const struct field *field, size_t first, size_t end)
{
	const struct token *last = &field->tokens[end - 1];
	const char *from = field->tokens[first].text.data;
	_cleanup_free_ char *text = mem_dup(
		from, (size_t)(last->text.data - from) + last->text.len);
	char *line = str_unfolded(text);

	str_utf8_mend(line);
	return line;
}

/* Returns the mailbox that was probably meant, with quotes around its name; NULL if it cannot
 * be guessed. The caller frees it. */
static char *with_quotes(const struct field *field)
{
	size_t open = field->first, close;
	_cleanup_free_ char *name = NULL, *rest = NULL;
	struct buf out = BUF_INIT;

	while (open < field->n && !strchr("<>@\"", field->tokens[open].kind))
		open++;
	if (open == field->n || field->tokens[open].kind != '<' || open == field->first)
		return NULL;
	for (close = open; close < field->n; close++)
		if (field->tokens[close].kind == '>')
			break;
	if (close == field->n)
		return NULL;
	name = text_of(field, field->first, open);
	rest = text_of(field, open, close + 1);
	mime_quoted_add(&out, name);
	buf_printf(&out, " %s", rest);
	return buf_take(&out);
}

/* Bytes of the field that an error shows. */
enum { SHOWN_MAX = 120 };

static int refuse_field(const struct field *field, struct err *err)
{
	_cleanup_free_ char *text = text_of(field, field->first, field->end);
	_cleanup_free_ char *quoted = with_quotes(field);
	int len = (int)str_utf8_cut(text, SHOWN_MAX);

	if (quoted && strstr(quoted, "=?"))
		return err_set(err, ERR_INVALID,
			"Postfix reads \"%.*s\" in it as an address of its own; encode the "
			"separators of the name too, a comma as =2C",
			len, text);
	if (quoted)
		return err_set(err, ERR_INVALID,
			"Postfix reads \"%.*s\" in it as an address of its own; a name like this "
			"needs quotes: %.*s",
			len, text, (int)str_utf8_cut(quoted, SHOWN_MAX), quoted);
	return err_set(err, ERR_INVALID,
		"Postfix reads \"%.*s\" in it as an address, and would change it: %s", len, text,
		field->why);
}

int addr_field_check(struct span value, struct err *err)
{
	struct field field = {.value = value};
	int result = 0;

	if (!read_tokens(&field)) {
		result = err_set(err, ERR_INVALID,
			"it has more than %d words and separators, which are all that Postfix "
			"reads",
			ADDR_FIELD_TOKENS_MAX);
	} else {
		find_addresses(&field);
		if (field.why)
			result = refuse_field(&field, err);
	}
	free(field.tokens);
	return result;
}
