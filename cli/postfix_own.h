/*
 * postfix_own: whether Postfix treats a domain as one of its own, so that
 * people and programs here may have been sending as it all along.
 */
#ifndef POSTERN_CLI_POSTFIX_OWN_H
#define POSTERN_CLI_POSTFIX_OWN_H

#include <stdbool.h>

/* Looks through mydestination, myorigin and the virtual and relay domains with
 * postconf(1) and, for tables, postmap(1), of the instance with this folder
 * ("": the default one). The name is in A-labels and lower case. Gives the
 * parameter that has it; NULL for none, and when there is no Postfix to ask. */
const char *postfix_own_find(const char *config, const char *name);

#endif
