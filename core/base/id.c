/*
 * id: UUIDs, written and read by libuuid, of libsodium's random bytes: libuuid
 * makes eight system calls for its own.
 */
#include "core/base/id.h"

#include <sodium.h>
#include <string.h>
#include <uuid.h>

void id_new(char id[static ID_SIZE])
{
	uuid_t uuid;

	randombytes_buf(uuid, sizeof(uuid));
	uuid[6] = 0x40 | (uuid[6] & 0x0f); /* the version */
	uuid[8] = 0x80 | (uuid[8] & 0x3f); /* the variant */
	uuid_unparse_lower(uuid, id);
}

/* FNV-1a */
uint32_t id_hash(const char *id)
{
	uint32_t hash = 2166136261u;

	for (; *id; id++)
		hash = (hash ^ (unsigned char)*id) * 16777619u;
	return hash;
}

bool id_parse(const char *text, char id[static ID_SIZE])
{
	uuid_t uuid;

	if (strlen(text) != ID_SIZE - 1 || uuid_parse(text, uuid) != 0)
		return false;
	uuid_unparse_lower(uuid, id);
	return true;
}
