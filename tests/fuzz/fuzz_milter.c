/*
 * Fuzzes protocol_serve(): whatever comes on a milter connection. Steps arrive in order, their
 * strings end, and each answer is a whole packet.
 */
#include "milter/protocol.h"

#include <stdbool.h> /* before mfapi.h, which else makes a bool of its own */
#include <libmilter/mfapi.h>

#include <arpa/inet.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "tests/fuzz/fuzz.h"

enum { INPUT_MAX = 64 * 1024, HEAD_LEN = 5 };

static enum { OUTSIDE, CONNECTED, IN_MESSAGE } state;
static size_t seen; /* bytes of all strings */

static char macro[] = "i", field[] = "X-A", value[] = "b", address[] = "<a@b.test>";

static void look(SMFICTX *ctx)
{
	const char *id = smfi_getsymval(ctx, macro);

	seen += id ? strlen(id) : 0;
}

static sfsistat on_negotiate(SMFICTX *ctx, unsigned long f0, unsigned long f1, unsigned long f2,
	unsigned long f3, unsigned long *pf0, unsigned long *pf1, unsigned long *pf2,
	unsigned long *pf3)
{
	(void)f2;
	CHECK(state == OUTSIDE);
	*pf0 = f0;
	*pf1 = f1;
	*pf2 = *pf3 = f3;
	smfi_setsymlist(ctx, SMFIM_EOM, macro);
	return f0 % 2 ? SMFIS_REJECT : SMFIS_CONTINUE;
}

static sfsistat on_connect(SMFICTX *ctx, char *host, _SOCK_ADDR *peer)
{
	CHECK(state != IN_MESSAGE);
	state = CONNECTED;
	seen += strlen(host) + (peer ? peer->sa_family : 0);
	look(ctx);
	return SMFIS_NOREPLY;
}

static sfsistat on_envelope(SMFICTX *ctx, char **arguments)
{
	CHECK(arguments[0] != NULL);
	for (; *arguments; arguments++)
		seen += strlen(*arguments);
	look(ctx);
	return SMFIS_NOREPLY;
}

static sfsistat on_mail(SMFICTX *ctx, char **arguments)
{
	CHECK(state == CONNECTED);
	state = IN_MESSAGE;
	return on_envelope(ctx, arguments);
}

static sfsistat on_recipient(SMFICTX *ctx, char **arguments)
{
	CHECK(state == IN_MESSAGE);
	return on_envelope(ctx, arguments);
}

static sfsistat on_header(SMFICTX *ctx, char *name, char *text)
{
	CHECK(state == IN_MESSAGE);
	seen += strlen(name) + strlen(text);
	look(ctx);
	return SMFIS_NOREPLY;
}

static sfsistat on_body(SMFICTX *ctx, unsigned char *data, size_t len)
{
	(void)ctx;
	CHECK(state == IN_MESSAGE);
	for (size_t i = 0; i < len; i++)
		seen += data[i];
	return len % 2 ? SMFIS_SKIP : SMFIS_CONTINUE;
}

static sfsistat on_eom(SMFICTX *ctx)
{
	CHECK(state == IN_MESSAGE);
	state = CONNECTED;
	look(ctx);
	smfi_addheader(ctx, field, value);
	smfi_chgheader(ctx, field, 1, NULL);
	smfi_addrcpt(ctx, address);
	smfi_delrcpt(ctx, address);
	smfi_chgfrom(ctx, address, value);
	smfi_quarantine(ctx, value);
	smfi_setreply(ctx, value, value, value);
	return seen % 2 ? SMFIS_TEMPFAIL : SMFIS_ACCEPT;
}

static sfsistat on_abort(SMFICTX *ctx)
{
	(void)ctx;
	CHECK(state == IN_MESSAGE);
	state = CONNECTED;
	return SMFIS_CONTINUE;
}

static sfsistat on_close(SMFICTX *ctx)
{
	(void)ctx;
	CHECK(state != IN_MESSAGE);
	state = OUTSIDE;
	return SMFIS_CONTINUE;
}

/* Reads what was answered until the connection has ended. */
static void check_answers(int fd)
{
	_cleanup_buf_ struct buf all = BUF_INIT;
	size_t at = 0;
	ssize_t n;

	while ((n = read(fd, buf_reserve(&all, INPUT_MAX), INPUT_MAX)) > 0)
		buf_wrote(&all, (size_t)n);
	while (at < all.len) {
		uint32_t len;

		CHECK(all.len - at >= HEAD_LEN);
		memcpy(&len, all.data + at, sizeof(len));
		len = ntohl(len);
		CHECK(len >= 1 && len <= all.len - at - sizeof(len));
		at += sizeof(len) + len;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct smfiDesc callbacks = {
		.xxfi_negotiate = on_negotiate,
		.xxfi_connect = on_connect,
		.xxfi_envfrom = on_mail,
		.xxfi_envrcpt = on_recipient,
		.xxfi_header = on_header,
		.xxfi_body = on_body,
		.xxfi_eom = on_eom,
		.xxfi_abort = on_abort,
		.xxfi_close = on_close,
	};
	int fds[2];

	if (size > INPUT_MAX)
		return 0;
	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
	CHECK(send(fds[0], data, size, 0) == (ssize_t)size);
	shutdown(fds[0], SHUT_WR);
	smfi_register(callbacks);
	/* Where all answers together are too many for the socket, writing fails after a second. */
	smfi_settimeout(1);
	state = OUTSIDE;
	protocol_serve(fds[1]);
	CHECK(state == OUTSIDE);
	check_answers(fds[0]);
	close(fds[0]);
	return 0;
}
