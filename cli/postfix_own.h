/*
 * postfix_own: whether Postfix treats a domain as one of its own, so that
 * people and programs here may have been sending as it all along.
 */
#ifndef POSTERN_CLI_POSTFIX_OWN_H
#define POSTERN_CLI_POSTFIX_OWN_H

#include "core/base/err.h"

/* Looks through mydestination, myorigin and the virtual and relay domains, and
 * through the files and tables that they name, of the instance with this folder
 * ("": the default one). The name is in A-labels and lower case. 1 when one of
 * them has it, which *parameter_r then names; 0 for none, and when there is no
 * Postfix to ask; -1 when one of them cannot be read, or takes too long. */
int postfix_own_find(const char *config, const char *name,
	const char **parameter_r, struct err *err);

#endif
