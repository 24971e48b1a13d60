/*
 * noop_milter: a milter that takes everything, to compare postern-milter with.
 *
 * It asks Postfix for the same steps as postern-milter does, so that what
 * differs is our own work and not the protocol's; but for the first piece of a
 * body, which costs postern-milter an answer.
 *
 * usage: noop_milter SOCKET
 */
#include <libmilter/mfapi.h>
#include <stdio.h>
#include <sysexits.h>

enum {
	STEPS = SMFIP_NOHELO | SMFIP_NODATA | SMFIP_NOEOH | SMFIP_NOBODY | SMFIP_NOUNKNOWN |
		SMFIP_NR_CONN | SMFIP_NR_MAIL | SMFIP_NR_RCPT | SMFIP_NR_HDR,
	BACKLOG = 256,
};

static sfsistat on_negotiate(SMFICTX *ctx, unsigned long f0, unsigned long f1, unsigned long f2,
	unsigned long f3, unsigned long *pf0, unsigned long *pf1, unsigned long *pf2,
	unsigned long *pf3)
{
	(void)ctx;
	(void)f0;
	(void)f1;
	(void)f2;
	(void)f3;
	*pf0 = SMFIF_CHGHDRS;
	*pf1 = STEPS;
	*pf2 = *pf3 = 0;
	return SMFIS_CONTINUE;
}

static sfsistat on_connect(SMFICTX *ctx, char *host, _SOCK_ADDR *peer)
{
	(void)ctx;
	(void)host;
	(void)peer;
	return SMFIS_NOREPLY;
}

static sfsistat on_mail(SMFICTX *ctx, char **arguments)
{
	(void)ctx;
	(void)arguments;
	return SMFIS_NOREPLY;
}

static sfsistat on_recipient(SMFICTX *ctx, char **arguments)
{
	(void)ctx;
	(void)arguments;
	return SMFIS_NOREPLY;
}

static sfsistat on_header(SMFICTX *ctx, char *name, char *value)
{
	(void)ctx;
	(void)name;
	(void)value;
	return SMFIS_NOREPLY;
}

static sfsistat on_eom(SMFICTX *ctx)
{
	(void)ctx;
	return SMFIS_ACCEPT;
}

int main(int argc, char **argv)
{
	struct smfiDesc callbacks = {
		.xxfi_name = (char[]){"noop"},
		.xxfi_version = SMFI_VERSION,
		.xxfi_flags = SMFIF_CHGHDRS,
		.xxfi_connect = on_connect,
		.xxfi_envfrom = on_mail,
		.xxfi_envrcpt = on_recipient,
		.xxfi_header = on_header,
		.xxfi_eom = on_eom,
		.xxfi_negotiate = on_negotiate,
	};

	if (argc != 2) {
		fputs("usage: noop_milter SOCKET\n", stderr);
		return EX_USAGE;
	}
	if (smfi_register(callbacks) != MI_SUCCESS || smfi_setconn(argv[1]) != MI_SUCCESS ||
		smfi_setbacklog(BACKLOG) != MI_SUCCESS || smfi_opensocket(true) != MI_SUCCESS)
		return EX_UNAVAILABLE;
	return smfi_main() == MI_SUCCESS ? EX_OK : EX_SOFTWARE;
}
