/*
 * usage: what the command takes, in words, printed from the table of verbs.
 */
#ifndef POSTERN_CLI_USAGE_H
#define POSTERN_CLI_USAGE_H

#include "cli/verb.h"
#include "core/base/buf.h"

/* Appends all nouns, or all names of a noun's verbs, as `add, list, remove`. */
void usage_add_nouns(struct buf *out);
void usage_add_names(const char *noun, struct buf *out);

/* Appends one line, as `postern domain add NAME --company ID [--inactive]`. */
void usage_add_line(const struct verb *verb, struct buf *out);

/* Appends the line, the help and the options of a verb. */
void usage_add_verb(const struct verb *verb, struct buf *out);

/* Appends the lines of all verbs of a noun, or of all nouns for NULL. */
void usage_add_all(const char *noun, struct buf *out);

#endif
