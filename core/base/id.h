/*
 * id: the UUIDs (RFC 9562) that name companies, domains, keys and emails.
 */
#ifndef POSTERN_BASE_ID_H
#define POSTERN_BASE_ID_H

#include <stdbool.h>
#include <stdint.h>

enum { ID_SIZE = 36 + 1 };

/* A new random UUID (version 4), lower case. */
void id_new(char id[static ID_SIZE]);

/* Reads a UUID in its 36-character form, any letter case; writes it in lower
 * case. False when text is none; id is then untouched. */
bool id_parse(const char *text, char id[static ID_SIZE]);

/* Spreads ids over the places of a table. Not against a client that chooses
 * them. */
uint32_t id_hash(const char *id);

#endif
