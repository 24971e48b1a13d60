/*
 * fake_smfi: what the milter calls of libmilter. Defined in the program, these
 * go before the library's.
 */
#include "tests/unit/fake_smfi.h"

#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"

struct smfiDesc fake_smfi_callbacks;
struct strv fake_smfi_macros;
char fake_smfi_address[256];

SMFICTX *fake_smfi_ctx(struct fake_smfi *fake)
{
	return (SMFICTX *)(void *)fake;
}

static struct fake_smfi *fake_of(SMFICTX *ctx)
{
	return (struct fake_smfi *)(void *)ctx;
}

void fake_smfi_clear(struct fake_smfi *fake)
{
	strv_free(&fake->deleted);
	strv_free(&fake->added);
	strv_free(&fake->recipients);
	strv_free(&fake_smfi_macros);
}

int smfi_register(struct smfiDesc callbacks)
{
	fake_smfi_callbacks = callbacks;
	return MI_SUCCESS;
}

int smfi_setconn(char *address)
{
	snprintf(fake_smfi_address, sizeof(fake_smfi_address), "%s", address);
	return MI_SUCCESS;
}

int smfi_setbacklog(int backlog)
{
	return backlog > 0 ? MI_SUCCESS : MI_FAILURE;
}

int smfi_settimeout(int seconds)
{
	return seconds > 0 ? MI_SUCCESS : MI_FAILURE;
}

int smfi_opensocket(bool remove_old)
{
	return remove_old ? MI_FAILURE : MI_SUCCESS;
}

int smfi_setsymlist(SMFICTX *ctx, int stage, char *list)
{
	(void)ctx;
	strv_take(&fake_smfi_macros, mem_printf("%d:%s", stage, list));
	return MI_SUCCESS;
}

char *smfi_getsymval(SMFICTX *ctx, char *name)
{
	const struct fake_smfi *fake = fake_of(ctx);

	if (str_eq(name, "i"))
		return (char *)(uintptr_t)fake->queue_id;
	if (str_eq(name, "{auth_authen}"))
		return (char *)(uintptr_t)fake->login;
	if (str_eq(name, "{daemon_name}"))
		return (char *)(uintptr_t)fake->daemon;
	return NULL;
}

int smfi_setpriv(SMFICTX *ctx, void *data)
{
	fake_of(ctx)->private = data;
	return MI_SUCCESS;
}

void *smfi_getpriv(SMFICTX *ctx)
{
	return fake_of(ctx)->private;
}

int smfi_chgheader(SMFICTX *ctx, char *name, int index, char *value)
{
	struct fake_smfi *fake = fake_of(ctx);

	if (fake->chgheader_fails || value != NULL)
		return MI_FAILURE;
	strv_take(&fake->deleted, mem_printf("%s#%d", name, index));
	return MI_SUCCESS;
}

int smfi_setreply(SMFICTX *ctx, char *code, char *status, char *text)
{
	struct fake_smfi *fake = fake_of(ctx);

	snprintf(fake->code, sizeof(fake->code), "%s", code);
	snprintf(fake->status, sizeof(fake->status), "%s", status);
	snprintf(fake->text, sizeof(fake->text), "%s", text);
	return MI_SUCCESS;
}

int smfi_addheader(SMFICTX *ctx, char *name, char *value)
{
	struct fake_smfi *fake = fake_of(ctx);

	if (fake->chgheader_fails)
		return MI_FAILURE;
	strv_take(&fake->added, mem_printf("%s: %s", name, value));
	return MI_SUCCESS;
}

static int change_recipient(SMFICTX *ctx, char sign, const char *address)
{
	struct fake_smfi *fake = fake_of(ctx);
	_cleanup_free_ char *change = mem_printf("%c%s", sign, address);

	if (fake->recipient_fails && str_eq(change, fake->recipient_fails))
		return MI_FAILURE;
	strv_add(&fake->recipients, change);
	return MI_SUCCESS;
}

int smfi_addrcpt(SMFICTX *ctx, char *address)
{
	return change_recipient(ctx, '+', address);
}

int smfi_delrcpt(SMFICTX *ctx, char *address)
{
	return change_recipient(ctx, '-', address);
}

int smfi_quarantine(SMFICTX *ctx, char *reason)
{
	struct fake_smfi *fake = fake_of(ctx);

	if (fake->quarantine_fails)
		return MI_FAILURE;
	snprintf(fake->held, sizeof(fake->held), "%s", reason);
	return MI_SUCCESS;
}
