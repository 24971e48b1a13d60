/*
 * log_corpus: the lines of tests/data/postfix.log, section by section.
 */
#ifndef POSTERN_TESTS_LOG_CORPUS_H
#define POSTERN_TESTS_LOG_CORPUS_H

#include "core/base/strv.h"

/* The instances of Postfix that it has. */
#define LOG_CORPUS_INSTANCES "postfix postfix-out postfix-hop2"

/* The lines of a section, named as "24b"; none when there is no such one. */
void log_corpus_read(const char *section, struct strv *lines_r);

/* The names of all sections. */
void log_corpus_sections(struct strv *names_r);

#endif
