/*
 * protocol: the milter protocol on a connection, and the threads that serve connections.
 *
 * A packet is a length (4 bytes, network byte order), a letter and data. Strings in it end with a
 * NUL. Numbers and letters are those of libmilter/mfdef.h. What violates the protocol ends the
 * connection; Postfix then puts the message off.
 *
 * Changes to a message are collected, and go out with the answer at its end.
 *
 * Threads: each waits in accept(), so the kernel wakes one for each new connection, and serves
 * that connection to its end. At least one thread is kept in accept(): a thread that accepts a
 * connection as the last one starts another first. Those that are too many end. The callbacks of
 * a connection run on its thread.
 */
#include "milter/protocol.h"

#include <stdbool.h> /* before mfapi.h, which would define its own bool */
#include <libmilter/mfapi.h>
#include <libmilter/mfdef.h>

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/thread.h"

enum {
	HEAD_LEN = MILTER_LEN_BYTES + 1, /* length and letter */
	PIECE_BYTES = 32 * 1024,         /* read at once */
	KEPT_BYTES = 128 * 1024,         /* a larger buffer is freed after its packet */
	PACKET_MAX = 1024 * 1024,        /* a header field may have 100 KB, or more by setting */
	ARGUMENTS_MAX = 64,              /* an address and its ESMTP parameters */
	REPLY_MAX = 980,                 /* of the text of a reply, as in libmilter */
	SPARE_THREADS = 8,               /* that wait for connections, at most */
	ACCEPT_PAUSE_MS = 100,           /* when accept() fails, as without descriptors */
};

/* The commands that macros come before, in the order of a session. The macros of a later one are
 * dropped when an earlier one has come again. */
static const char macro_stages[] = {SMFIC_CONNECT, SMFIC_HELO, SMFIC_MAIL, SMFIC_RCPT, SMFIC_DATA,
	SMFIC_HEADER, SMFIC_EOH, SMFIC_BODY, SMFIC_BODYEOB};
enum { STAGES = sizeof(macro_stages), STAGE_OF_MESSAGE = 2 /* MAIL */ };

/* A connection; libmilter's name for it. */
struct smfi_str {
	int fd;
	struct buf in;             /* what was received */
	size_t done;               /* bytes of it that were handled */
	struct buf out;            /* what is to be sent */
	struct buf macros[STAGES]; /* name, NUL, value, NUL, ... */
	struct buf symbols; /* macros to ask for, as the answer to the negotiation has them */
	char *reply;        /* set for a rejection or tempfail; NULL: Postfix's default */
	void *private;
	bool negotiated, connected, in_message;
};

struct packet {
	char letter;
	char *data;
	size_t len;
};

/* What the filter has set. Constant while connections are served. */
static struct {
	struct smfiDesc callbacks;
	char *path;
	int backlog, timeout_s, fd;
} server = {.backlog = SOMAXCONN, .timeout_s = 7210, .fd = -1};
static atomic_int waiting; /* threads in accept() */

/*
 * Packets.
 */

static uint32_t number_at(const char *data)
{
	uint32_t number;

	memcpy(&number, data, sizeof(number));
	return ntohl(number);
}

static void add_number(struct buf *out, size_t number)
{
	uint32_t bytes = htonl((uint32_t)number);

	buf_add(out, &bytes, sizeof(bytes));
}

static void add_packet(SMFICTX *ctx, char letter, const void *data, size_t len)
{
	add_number(&ctx->out, len + 1);
	buf_add_char(&ctx->out, letter);
	buf_add(&ctx->out, data, len);
}

static int send_all(SMFICTX *ctx)
{
	size_t sent = 0;

	while (sent < ctx->out.len) {
		ssize_t n = send(ctx->fd, ctx->out.data + sent, ctx->out.len - sent, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return -1;
		sent += n > 0 ? (size_t)n : 0;
	}
	if (ctx->out.cap > KEPT_BYTES)
		buf_free(&ctx->out);
	buf_clear(&ctx->out);
	return 0;
}

/* Moves what is left to the front, so that the buffer does not grow without bound. */
static void forget_done(SMFICTX *ctx)
{
	size_t left = ctx->in.len - ctx->done;

	if (left)
		memmove(ctx->in.data, ctx->in.data + ctx->done, left);
	else if (ctx->in.cap > KEPT_BYTES)
		buf_free(&ctx->in);
	buf_clear(&ctx->in);
	if (left)
		buf_wrote(&ctx->in, left);
	ctx->done = 0;
}

/* Has at least that many unhandled bytes in the buffer, and reads all that is there when it has to
 * read. Returns 0, or -1 when the connection has ended or timed out. */
static int need(SMFICTX *ctx, size_t len)
{
	if (ctx->in.len - ctx->done >= len)
		return 0;
	forget_done(ctx);
	while (ctx->in.len < len) {
		size_t room = len - ctx->in.len > PIECE_BYTES ? len - ctx->in.len : PIECE_BYTES;
		ssize_t n = recv(ctx->fd, buf_reserve(&ctx->in, room), room, 0);

		if (n == 0 || (n < 0 && errno != EINTR))
			return -1;
		buf_wrote(&ctx->in, n > 0 ? (size_t)n : 0);
	}
	return 0;
}

/* The packet's data stays until the next packet is read. */
static int next_packet(SMFICTX *ctx, struct packet *packet_r)
{
	size_t len;

	if (need(ctx, HEAD_LEN) < 0)
		return -1;
	len = number_at(ctx->in.data + ctx->done);
	if (len == 0 || len > PACKET_MAX || need(ctx, MILTER_LEN_BYTES + len) < 0)
		return -1;
	*packet_r = (struct packet){
		.letter = ctx->in.data[ctx->done + MILTER_LEN_BYTES],
		.data = ctx->in.data + ctx->done + HEAD_LEN,
		.len = len - 1,
	};
	ctx->done += MILTER_LEN_BYTES + len;
	return 0;
}

/* Takes the next string from the packet. NULL if there is none that ends in it. */
static char *take_text(struct packet *packet)
{
	char *text = packet->data, *end = packet->len ? memchr(text, '\0', packet->len) : NULL;

	if (end == NULL)
		return NULL;
	packet->data = end + 1;
	packet->len -= (size_t)(end + 1 - text);
	return text;
}

/*
 * Macros.
 */

static int stage_of(char letter)
{
	const char *at = memchr(macro_stages, letter, sizeof(macro_stages));

	return at ? (int)(at - macro_stages) : -1;
}

static void drop_macros(SMFICTX *ctx, int from)
{
	for (int i = from; i < STAGES; i++)
		buf_clear(&ctx->macros[i]);
}

/* Returns 0, or -1 on a violation of the protocol. */
static int on_macros(SMFICTX *ctx, const struct packet *packet)
{
	int stage = packet->len ? stage_of(packet->data[0]) : -1;

	if (packet->len == 0 || (packet->len > 1 && packet->data[packet->len - 1] != '\0'))
		return -1;
	if (stage < 0)
		return 0;
	drop_macros(ctx, stage);
	buf_add(&ctx->macros[stage], packet->data + 1, packet->len - 1);
	return 0;
}

/* Postfix may send a name of one letter with braces or without. */
static bool is_macro(const char *name, const char *wanted)
{
	size_t len = strlen(name);

	if (name[0] == '{' && len == 3 && wanted[0] != '{')
		return name[1] == wanted[0] && wanted[1] == '\0';
	return str_eq(name, wanted);
}

char *smfi_getsymval(SMFICTX *ctx, char *name)
{
	for (int stage = STAGES - 1; stage >= 0; stage--) {
		struct packet macros = {
			.data = ctx->macros[stage].data, .len = ctx->macros[stage].len};
		char *found, *value;

		while ((found = take_text(&macros)) && (value = take_text(&macros)))
			if (is_macro(found, name))
				return value;
	}
	return NULL;
}

int smfi_setsymlist(SMFICTX *ctx, int where, char *names)
{
	add_number(&ctx->symbols, (size_t)where);
	buf_add(&ctx->symbols, names, strlen(names) + 1);
	return MI_SUCCESS;
}

/*
 * Changes and the reply, for the callback at the end of a message.
 */

/* first: with their NUL, unless NULL. */
static int add_texts(SMFICTX *ctx, char letter, const char *first, const char *second)
{
	_cleanup_buf_ struct buf data = BUF_INIT;

	buf_add(&data, first, strlen(first) + 1);
	if (second)
		buf_add(&data, second, strlen(second) + 1);
	add_packet(ctx, letter, data.data, data.len);
	return MI_SUCCESS;
}

int smfi_addheader(SMFICTX *ctx, char *name, char *value)
{
	return add_texts(ctx, SMFIR_ADDHEADER, name, value);
}

int smfi_chgheader(SMFICTX *ctx, char *name, int index, char *value)
{
	_cleanup_buf_ struct buf data = BUF_INIT;

	add_number(&data, (size_t)index);
	buf_add(&data, name, strlen(name) + 1);
	buf_add(&data, value ? value : "", (value ? strlen(value) : 0) + 1);
	add_packet(ctx, SMFIR_CHGHEADER, data.data, data.len);
	return MI_SUCCESS;
}

int smfi_addrcpt(SMFICTX *ctx, char *address)
{
	return add_texts(ctx, SMFIR_ADDRCPT, address, NULL);
}

int smfi_delrcpt(SMFICTX *ctx, char *address)
{
	return add_texts(ctx, SMFIR_DELRCPT, address, NULL);
}

int smfi_chgfrom(SMFICTX *ctx, char *address, char *parameters)
{
	return add_texts(ctx, SMFIR_CHGFROM, address, parameters);
}

int smfi_quarantine(SMFICTX *ctx, char *reason)
{
	return add_texts(ctx, SMFIR_QUARANTINE, reason, NULL);
}

int smfi_setreply(SMFICTX *ctx, char *code, char *status, char *text)
{
	if (strlen(text) > REPLY_MAX || strpbrk(text, "\r\n"))
		return MI_FAILURE;
	free(ctx->reply);
	ctx->reply = mem_printf("%s %s %s", code, status, text);
	return MI_SUCCESS;
}

int smfi_setpriv(SMFICTX *ctx, void *private)
{
	ctx->private = private;
	return MI_SUCCESS;
}

void *smfi_getpriv(SMFICTX *ctx)
{
	return ctx->private;
}

/*
 * Commands.
 */

static void answer(SMFICTX *ctx, sfsistat status)
{
	static const char letters[] = {
		[SMFIS_CONTINUE] = SMFIR_CONTINUE,
		[SMFIS_REJECT] = SMFIR_REJECT,
		[SMFIS_DISCARD] = SMFIR_DISCARD,
		[SMFIS_ACCEPT] = SMFIR_ACCEPT,
		[SMFIS_TEMPFAIL] = SMFIR_TEMPFAIL,
		[SMFIS_SKIP] = SMFIR_SKIP,
	};

	if (status == SMFIS_NOREPLY)
		return;
	if (ctx->reply && (status == SMFIS_REJECT || status == SMFIS_TEMPFAIL))
		add_packet(ctx, SMFIR_REPLYCODE, ctx->reply, strlen(ctx->reply) + 1);
	else
		add_packet(ctx, letters[status], NULL, 0);
	free(ctx->reply);
	ctx->reply = NULL;
}

static int on_negotiation(SMFICTX *ctx, const struct packet *packet)
{
	unsigned long actions, steps, none_a, none_b;
	_cleanup_buf_ struct buf data = BUF_INIT;
	uint32_t version;

	if (packet->len < MILTER_OPTLEN)
		return -1;
	version = number_at(packet->data);
	buf_clear(&ctx->symbols);
	if (server.callbacks.xxfi_negotiate(ctx, number_at(packet->data + MILTER_LEN_BYTES),
		    number_at(packet->data + 2 * MILTER_LEN_BYTES), 0, 0, &actions, &steps, &none_a,
		    &none_b) != SMFIS_CONTINUE)
		return -1;
	add_number(&data, version < SMFI_PROT_VERSION ? version : SMFI_PROT_VERSION);
	add_number(&data, actions);
	add_number(&data, steps);
	buf_add(&data, ctx->symbols.data, ctx->symbols.len);
	add_packet(ctx, SMFIC_OPTNEG, data.data, data.len);
	ctx->negotiated = true;
	return 0;
}

/* The client of the SMTP session. */
union peer {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;
};

/* Returns the address, NULL for a client without one. -1 in *result_r if there is none where the
 * packet has to have one. */
static struct sockaddr *read_peer(struct packet *packet, union peer *peer, int *result_r)
{
	static const char prefix[] = "IPv6:";
	char family = packet->len ? packet->data[0] : SMFIA_UNKNOWN;
	const char *text;
	uint16_t port;

	*result_r = 0;
	*peer = (union peer){0};
	if (family != SMFIA_INET && family != SMFIA_INET6 && family != SMFIA_UNIX)
		return NULL;
	*result_r = -1;
	if (packet->len < 1 + sizeof(port))
		return NULL;
	memcpy(&port, packet->data + 1, sizeof(port));
	packet->data += 1 + sizeof(port);
	packet->len -= 1 + sizeof(port);
	text = take_text(packet);
	if (text == NULL)
		return NULL;
	if (family == SMFIA_UNIX) {
		peer->un.sun_family = AF_UNIX;
		snprintf(peer->un.sun_path, sizeof(peer->un.sun_path), "%s", text);
		*result_r = 0;
	} else if (family == SMFIA_INET) {
		peer->in = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = port};
		*result_r = inet_pton(AF_INET, text, &peer->in.sin_addr) == 1 ? 0 : -1;
	} else {
		peer->in6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = port};
		if (str_starts_nocase(text, prefix))
			text += strlen(prefix);
		*result_r = inet_pton(AF_INET6, text, &peer->in6.sin6_addr) == 1 ? 0 : -1;
	}
	return &peer->any;
}

static int on_connection(SMFICTX *ctx, struct packet *packet)
{
	char *host = take_text(packet);
	struct sockaddr *address;
	union peer peer;
	int result;

	if (host == NULL)
		return -1;
	address = read_peer(packet, &peer, &result);
	if (result < 0)
		return -1;
	ctx->connected = true;
	answer(ctx, server.callbacks.xxfi_connect(ctx, host, address));
	return 0;
}

/* MAIL or RCPT. */
static int on_envelope(
	SMFICTX *ctx, struct packet *packet, sfsistat (*callback)(SMFICTX *, char **))
{
	char *arguments[ARGUMENTS_MAX + 1] = {NULL};
	size_t n = 0;

	while (packet->len > 0) {
		if (n == ARGUMENTS_MAX || (arguments[n++] = take_text(packet)) == NULL)
			return -1;
	}
	if (n == 0)
		return -1;
	ctx->in_message = true;
	answer(ctx, callback(ctx, arguments));
	return 0;
}

static int on_field(SMFICTX *ctx, struct packet *packet)
{
	char *name = take_text(packet), *value = take_text(packet);

	if (name == NULL || value == NULL)
		return -1;
	answer(ctx, server.callbacks.xxfi_header(ctx, name, value));
	return 0;
}

static sfsistat give_body(SMFICTX *ctx, const struct packet *packet)
{
	return server.callbacks.xxfi_body(ctx, (unsigned char *)packet->data, packet->len);
}

static void end_message(SMFICTX *ctx)
{
	ctx->in_message = false;
	drop_macros(ctx, STAGE_OF_MESSAGE);
}

static void abort_message(SMFICTX *ctx)
{
	if (ctx->in_message)
		server.callbacks.xxfi_abort(ctx);
	end_message(ctx);
}

static int on_end(SMFICTX *ctx, const struct packet *packet)
{
	if (packet->len > 0)
		give_body(ctx, packet);
	answer(ctx, server.callbacks.xxfi_eom(ctx));
	end_message(ctx);
	return 0;
}

static void end_connection(SMFICTX *ctx)
{
	abort_message(ctx);
	if (ctx->negotiated)
		server.callbacks.xxfi_close(ctx);
	drop_macros(ctx, 0);
	ctx->connected = false;
}

/* Returns 0 to go on, -1 when the connection is to be closed. */
static int on_packet(SMFICTX *ctx, struct packet *packet)
{
	switch (packet->letter) {
	case SMFIC_OPTNEG:
		return ctx->negotiated ? -1 : on_negotiation(ctx, packet);
	case SMFIC_MACRO:
		return on_macros(ctx, packet);
	case SMFIC_CONNECT:
		return ctx->negotiated && !ctx->in_message ? on_connection(ctx, packet) : -1;
	case SMFIC_MAIL:
		if (!ctx->connected)
			return -1;
		if (ctx->in_message)
			server.callbacks.xxfi_abort(ctx);
		ctx->in_message = false;
		return on_envelope(ctx, packet, server.callbacks.xxfi_envfrom);
	case SMFIC_RCPT:
		return ctx->in_message ? on_envelope(ctx, packet, server.callbacks.xxfi_envrcpt)
				       : -1;
	case SMFIC_HEADER:
		return ctx->in_message ? on_field(ctx, packet) : -1;
	case SMFIC_BODY:
		if (!ctx->in_message)
			return -1;
		answer(ctx, give_body(ctx, packet));
		return 0;
	case SMFIC_BODYEOB:
		return ctx->in_message ? on_end(ctx, packet) : -1;
	case SMFIC_ABORT:
		abort_message(ctx);
		return 0;
	case SMFIC_QUIT_NC:
		end_connection(ctx);
		return 0;
	/* Steps that the filter does not ask for. */
	case SMFIC_HELO:
	case SMFIC_DATA:
	case SMFIC_EOH:
	case SMFIC_UNKNOWN:
		answer(ctx, SMFIS_CONTINUE);
		return 0;
	default: /* SMFIC_QUIT among them */
		return -1;
	}
}

void protocol_serve(int fd)
{
	const struct timeval timeout = {.tv_sec = server.timeout_s};
	struct smfi_str ctx = {.fd = fd};
	struct packet packet;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	while (next_packet(&ctx, &packet) == 0)
		if (on_packet(&ctx, &packet) < 0 || (ctx.out.len > 0 && send_all(&ctx) < 0))
			break;
	end_connection(&ctx);
	close(fd);
	buf_free(&ctx.in);
	buf_free(&ctx.out);
	buf_free(&ctx.symbols);
	for (size_t i = 0; i < STAGES; i++)
		buf_free(&ctx.macros[i]);
	free(ctx.reply);
}

/*
 * The server.
 */

int smfi_register(struct smfiDesc callbacks)
{
	server.callbacks = callbacks;
	return MI_SUCCESS;
}

/* path: `unix:` and the path, which is kept. */
int smfi_setconn(char *path)
{
	static const char prefix[] = "unix:";

	if (!str_starts(path, prefix))
		return MI_FAILURE;
	free(server.path);
	server.path = mem_strdup(path + strlen(prefix));
	return MI_SUCCESS;
}

int smfi_setbacklog(int backlog)
{
	server.backlog = backlog;
	return MI_SUCCESS;
}

int smfi_settimeout(int timeout_s)
{
	server.timeout_s = timeout_s;
	return MI_SUCCESS;
}

int smfi_opensocket(bool remove_first)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	(void)remove_first; /* socket_lock() has done so */
	if (strlen(server.path) >= sizeof(address.sun_path))
		return MI_FAILURE;
	strcpy(address.sun_path, server.path);
	server.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (server.fd >= 0 && bind(server.fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
		listen(server.fd, server.backlog) == 0)
		return MI_SUCCESS;
	if (server.fd >= 0)
		close(server.fd);
	server.fd = -1;
	return MI_FAILURE;
}

static void *serve(void *arg);

/* Where no thread can be started, connections wait in the backlog until this one serves again. */
static void add_thread(void)
{
	pthread_t thread;

	if (thread_start(&thread, serve, NULL, NULL) == 0)
		pthread_detach(thread);
}

/* Serves connections, one after the other, until enough other threads wait for them. */
static void *serve(void *arg)
{
	static const struct timespec pause = {.tv_nsec = ACCEPT_PAUSE_MS * 1000L * 1000};
	int fd;

	do {
		atomic_fetch_add(&waiting, 1);
		while ((fd = accept4(server.fd, NULL, NULL, SOCK_CLOEXEC)) < 0)
			if (errno != EINTR && errno != ECONNABORTED)
				nanosleep(&pause, NULL);
		if (atomic_fetch_sub(&waiting, 1) == 1)
			add_thread();
		protocol_serve(fd);
	} while (atomic_load(&waiting) < SPARE_THREADS);
	return arg;
}

int smfi_main(void)
{
	for (;;)
		serve(NULL);
}
