/*
 * id: UUIDs, formatted by libuuid. The random bytes come from libsodium, because libuuid makes
 * eight system calls for its own.
 */
#include "core/base/id.h"

#include <sodium.h>
#include <string.h>
#include <uuid.h>

#include "core/base/mem.h"

void id_new(char id[static ID_SIZE])
{
	uuid_t uuid;

	randombytes_buf(uuid, sizeof(uuid));
	uuid[6] = 0x40 | (uuid[6] & 0x0f); /* the version */
	uuid[8] = 0x80 | (uuid[8] & 0x3f); /* the variant */
	uuid_unparse_lower(uuid, id);
}

uint32_t id_hash(const char *id)
{
	return (uint32_t)mem_hash(MEM_HASH, id, strlen(id));
}

bool id_parse(const char *text, char id[static ID_SIZE])
{
	uuid_t uuid;

	if (strlen(text) != ID_SIZE - 1 || uuid_parse(text, uuid) != 0)
		return false;
	uuid_unparse_lower(uuid, id);
	return true;
}
