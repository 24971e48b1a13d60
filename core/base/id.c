/*
 * id: UUIDs, made by libuuid.
 *
 * Threads: any; holds no state.
 */
#include "core/base/id.h"

#include <string.h>
#include <uuid.h>

void id_new(char id[static ID_SIZE])
{
	uuid_t uuid;

	uuid_generate_random(uuid);
	uuid_unparse_lower(uuid, id);
}

bool id_parse(const char *text, char id[static ID_SIZE])
{
	uuid_t uuid;

	if (strlen(text) != ID_SIZE - 1 || uuid_parse(text, uuid) != 0)
		return false;
	uuid_unparse_lower(uuid, id);
	return true;
}
