/*
 * id: the UUIDs (RFC 9562) that name companies, domains, keys and emails.
 */
#ifndef POSTERN_BASE_ID_H
#define POSTERN_BASE_ID_H

#include <stdbool.h>
#include <stdint.h>

enum { ID_SIZE = 36 + 1 };

/* Makes a random UUID (version 4) in lower case. */
void id_new(char id[static ID_SIZE]);

/* Parses a UUID of 36 characters, ignoring case, and writes it in lower case. False if it is
 * none; then id is unchanged. */
bool id_parse(const char *text, char id[static ID_SIZE]);

/* A hash for tables. Not for ids that an attacker can choose. */
uint32_t id_hash(const char *id);

#endif
