/*
 * id: UUIDs, formatted by libuuid. The random bytes come from libsodium, because libuuid makes
 * eight system calls for its own.
 */
#include "core/base/id.h"

#include <sodium.h>
#include <string.h>
#include <uuid.h>

#include "core/base/clock.h"
#include "core/base/mem.h"

void id_new(char id[static ID_SIZE])
{
	uint64_t now_ms = (uint64_t)clock_now_us(&clock_system) / 1000;
	uuid_t uuid;

	for (int i = 5; i >= 0; i--, now_ms >>= 8)
		uuid[i] = now_ms & 0xff;
	randombytes_buf(uuid + 6, sizeof(uuid) - 6);
	uuid[6] = 0x70 | (uuid[6] & 0x0f); /* the version */
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

	if (!id_bytes(text, uuid))
		return false;
	uuid_unparse_lower(uuid, id);
	return true;
}

bool id_bytes(const char *text, uint8_t bytes[static ID_BYTES])
{
	return strlen(text) == ID_SIZE - 1 && uuid_parse(text, bytes) == 0;
}

void id_format(const uint8_t bytes[static ID_BYTES], char id[static ID_SIZE])
{
	uuid_unparse_lower(bytes, id);
}
