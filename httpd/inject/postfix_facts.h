/*
 * postfix_facts: what the local Postfix is configured to, as far as sending
 * depends on it.
 */
#ifndef POSTERN_HTTPD_POSTFIX_FACTS_H
#define POSTERN_HTTPD_POSTFIX_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"

struct conf;

struct postfix_facts {
	int64_t message_size_limit; /* bytes; 0: none */
	bool milter_sees_us;      /* postfix_facts_milters() lists our milter */
	bool rewrites_recipients; /* before the milter sees those of mail from
				   * sendmail(1) */
};

/* The parameter that lists the milters for what we submit. */
const char *postfix_facts_milters(const struct conf *conf);

/* Asks postconf(1) for the configuration folder of submission. Blocks while it
 * runs: for start and reload only. */
int postfix_facts_read(const struct conf *conf, struct postfix_facts *facts_r,
	struct err *err);

#endif
