/*
 * postfix_domains: which domains Postfix has as its own, by their names.
 *
 * Exceptions (`!name`) count as names: who asks wants to stay clear of all that
 * could be Postfix's.
 */
#include "core/postfix/own_domains.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/address/addr.h"
#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/postfix/postconf.h"

static const char separators[] = ", \t\r\n";

/* The next word of the text, which moves on behind it; NULL at its end. */
static char *next_word(const char **text)
{
	const char *begin = *text + strspn(*text, separators);
	size_t len = strcspn(begin, separators);

	*text = begin + len;
	if (len == 0)
		return NULL;
	begin += strspn(begin, "!");
	return mem_dup(begin, (size_t)(*text - begin));
}

/* Adds names; anything else cannot be told. */
static int add_names(struct buf *words, const char *text, struct err *err)
{
	char *word;

	while ((word = next_word(&text)) != NULL) {
		bool name = word[0] != '.' && strpbrk(word, ":/{}") == NULL;

		if (name)
			buf_printf(words, "%s ", word);
		else
			err_set(err, ERR_CONFIG,
				"has %s, in which httpd does not look", word);
		free(word);
		if (!name)
			return -1;
	}
	return 0;
}

static int add_file(struct buf *words, const char *path, struct err *err)
{
	FILE *file = fopen(path, "re");
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	int result = 0;

	if (file == NULL)
		return err_set(err, ERR_CONFIG, "cannot read %s: %s", path,
			strerror(errno));
	while (result == 0 && getline(&line, &size, file) >= 0)
		if (line[0] != '#')
			result = add_names(words, line, err);
	fclose(file);
	return result < 0 ? err_prefix(err, "%s", path) : 0;
}

static int add_list(struct buf *words, const char *text, struct err *err)
{
	int result = 0;
	char *word;

	while (result == 0 && (word = next_word(&text)) != NULL) {
		result = word[0] == '/' ? add_file(words, word, err)
					: add_names(words, word, err);
		free(word);
	}
	return result;
}

int postfix_domains_read(const struct conf *conf, char **words_r, struct err *err)
{
	_cleanup_buf_ struct buf words = BUF_INIT;
	char *values[POSTCONF_OWN_DOMAINS];
	int result = 0;

	if (postconf_read(conf->submission.postfix_config, postconf_own_domains,
		    POSTCONF_OWN_DOMAINS, values, err) < 0)
		return -1;
	for (size_t i = 0; i < POSTCONF_OWN_DOMAINS; i++) {
		if (result == 0 && add_list(&words, values[i], err) < 0)
			result = err_prefix(err, "%s", postconf_own_domains[i]);
		free(values[i]);
	}
	if (result == 0)
		*words_r = mem_strdup(buf_str(&words));
	return result;
}

bool postfix_domains_have(const char *words, const char *name)
{
	bool has = false;
	char *word;

	while (!has && (word = next_word(&words)) != NULL) {
		_cleanup_free_ char *domain = NULL;

		has = addr_domain_normalize(word, &domain, NULL) == 0 &&
		      str_eq(domain, name);
		free(word);
	}
	return has;
}
