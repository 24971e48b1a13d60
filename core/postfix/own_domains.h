/*
 * postfix_domains: which domains Postfix has as its own, by their names.
 */
#ifndef POSTERN_POSTFIX_OWN_DOMAINS_H
#define POSTERN_POSTFIX_OWN_DOMAINS_H

#include <stdbool.h>

#include "core/base/err.h"

struct conf;

/* The words of mydestination, myorigin and the virtual and relay domains, and
 * of the files they name, of Postfix with the configuration folder of
 * submission; a new string. ERR_CONFIG when one of them is a table, a pattern
 * or a file that cannot be read: then the names are not known. Blocks while
 * postconf(1) runs: for start and reload only. */
int postfix_domains_read(
	const struct conf *conf, char **words_r, struct err *err);

/* Whether the name is one of the words, which blanks and commas separate; it is
 * in the form that addr_domain_normalize() makes. */
bool postfix_domains_have(const char *words, const char *name);

#endif
