/*
 * postconf: reads the configuration of the local Postfix: its parameters and its own domains.
 *
 * Each call runs postconf(1) or postmap(1) and blocks until it ends, for at most ten seconds
 * per program: only for commands, start and reload. config_dir is the configuration directory
 * of the Postfix instance; "" or NULL: Postfix's default.
 */
#ifndef POSTERN_POSTFIX_POSTCONF_H
#define POSTERN_POSTFIX_POSTCONF_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/strv.h"

struct conf;

/* Reads n parameters with their references expanded (postconf -x). Parameters that Postfix does
 * not know are "". The caller frees each value. ERR_CONFIG if there is no Postfix or no such
 * configuration. */
int postconf_read(const char *config_dir, const char *const *names, size_t n, char **values_r,
	struct err *err);

/* If milter.socket is empty, sets it to postern/milter.sock in the queue directory of
 * submission.postfix_config, where Postfix connects to postern-milter. If Postfix cannot be
 * asked, uses the default queue directory and returns -1. */
int postconf_find_milter_socket(struct conf *conf, struct err *err);
/* Finds auth.socket, where Postfix reaches postern-auth: auth.sock beside the milter's socket. */
int postconf_find_auth_socket(struct conf *conf, struct err *err);

/* Appends all non-empty values of n parameters to their lists: from main.cf, and from services
 * in master.cf that override them. */
int postconf_values(const char *config_dir, const char *const *names, size_t n, struct strv *values,
	struct err *err);

/* Appends the parameters that services in master.cf override, as lines of `service/type/name =
 * value`. The n patterns are `SERVICE/TYPE/NAME`, each part of which may be `*`. */
int postconf_services(const char *config_dir, const char *const *patterns, size_t n,
	struct strv *lines, struct err *err);

/* Returns the next item of a list and moves the text past it; NULL at the end. `!` before the
 * item is removed and inverts *excepted. Text in braces is one item. The caller frees it. */
char *postconf_item(const char **text, bool *excepted);

/* Returns what Postfix does with mail while the milter of this item is not available: the item's
 * own default_action, as in `{ unix:a, default_action = tempfail }`, otherwise that of main.cf. The
 * rest of the item may follow. */
const char *postconf_milter_action(const char *item, const char *main_cf_action);

/* Looks the key up in each table until one has it. Returns 1 and a string that the caller
 * frees, 0 if none has it, or -1 if a table before that cannot be queried. */
int postconf_look_up(const char *config_dir, const char *tables, const char *key, char **answer_r,
	struct err *err);

/* The domains of Postfix: mydestination, myorigin, and the virtual and relay domains, including
 * the files and tables that they name. In each list the first matching item decides, and `!`
 * excludes what matches (postconf(5), mydestination). Names are compared in the form of
 * addr_domain_normalize(). */
struct postconf_domains;

/* Reads the lists; errors as postconf_read(). If a list cannot be read completely, look-ups
 * that need the rest fail. */
int postconf_domains_read(
	const char *config_dir, struct postconf_domains **domains_r, struct err *err);
void postconf_domains_free(struct postconf_domains *domains);
DEFINE_CLEANUP(postconf_domains, postconf_domains_free)

/* Looks for the normalized name. Returns 1 with the list in *parameter_r, 0 if it is in none,
 * or -1 if a file or table cannot be queried. */
int postconf_domains_find(const struct postconf_domains *domains, const char *name,
	const char **parameter_r, struct err *err);

/* The same, but a missing Postfix has no domains. An admin who adds a domain of Postfix's own
 * must give its policy, because people and programs may already send as it. */
int postconf_has_domain(
	const char *config_dir, const char *name, const char **parameter_r, struct err *err);

/* Returns all names in the form of postconf_names_have(); the caller frees it. ERR_CONFIG if
 * they cannot be listed: a list has a table or a pattern, or cannot be read. */
int postconf_domains_names(const struct postconf_domains *domains, char **names_r, struct err *err);

/* True if the name is in names, which are separated by blanks or commas. Compares without
 * regard to case, and also in normalized form. */
bool postconf_names_have(const char *names, const char *name);

#endif
