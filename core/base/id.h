/*
 * id: the UUIDs (RFC 9562) that name companies, domains, keys and emails.
 */
#ifndef POSTERN_BASE_ID_H
#define POSTERN_BASE_ID_H

#include <stdbool.h>
#include <stdint.h>

enum { ID_SIZE = 36 + 1 };

/* Makes a UUID of version 7 in lower case: the time in milliseconds and 74 random bits. So rows
 * that are added together are on the same pages of an index, however many rows there are. */
void id_new(char id[static ID_SIZE]);

/* Parses a UUID of 36 characters, ignoring case, and writes it in lower case. False if it is
 * none; then id is unchanged. */
bool id_parse(const char *text, char id[static ID_SIZE]);

/* The 16 bytes of a UUID, of any case, and back. id_bytes() is false if it is none; then the bytes
 * are unchanged. */
enum { ID_BYTES = 16 };
bool id_bytes(const char *text, uint8_t bytes[static ID_BYTES]);
void id_format(const uint8_t bytes[static ID_BYTES], char id[static ID_SIZE]);

/* A hash for tables. Not for ids that an attacker can choose. */
uint32_t id_hash(const char *id);

#endif
