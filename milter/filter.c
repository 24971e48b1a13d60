/*
 * filter: the callbacks of libmilter.
 *
 * They store in the session what Postfix tells, and decide nothing; at the end
 * of a message the facts are read, judged and the verdict applied. Nothing is
 * answered earlier: mail from sendmail(1) that is put off before its end sticks
 * in the maildrop.
 *
 *   negotiate ─> connect ─> (mail ─> rcpt... ─> header... ─> eom | abort)... ─> close
 *
 * Threads: libmilter calls from threads of its own, for one connection never
 * from two at once, and each time maybe from another. State hangs on the
 * context (smfi_setpriv); the service is a global, set before the first
 * callback, because libmilter has no place to hang it on.
 *
 * libmilter is never told to stop: it would wait for up to five seconds and
 * finish nothing. Its threads serve until the process ends; once the service is
 * closed, they put messages off. A message whose answer does not reach Postfix
 * any more is presented again, and its record made again.
 */
#include "milter/filter.h"

#include <libmilter/mfapi.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/str.h"
#include "milter/apply.h"
#include "milter/facts.h"
#include "milter/session.h"

/* Clients of a Unix socket are refused, not kept waiting, once so many are in
 * its queue: Postfix puts off their mail. */
enum { BACKLOG = SOMAXCONN };

/* What is asked of Postfix, which has offered all of it since version 2.6. */
enum {
	/* Change the sender; add and delete recipients; change and add header fields; hold
	 * messages; name the macros that are needed, so that those lists in
	 * main.cf do not matter. */
	ACTIONS = SMFIF_ADDRCPT | SMFIF_DELRCPT | SMFIF_CHGHDRS | SMFIF_ADDHDRS | SMFIF_QUARANTINE |
		  SMFIF_CHGFROM | SMFIF_SETSYMLIST,
	/* Leave out what is not looked at; expect no answer where there is
	 * never one but "go on". Of a body whose message is not kept the first piece comes,
	 * and no other (SKIP): who the client is nobody knows when this is agreed. */
	STEPS = SMFIP_NOHELO | SMFIP_NODATA | SMFIP_NOEOH | SMFIP_NOUNKNOWN | SMFIP_NR_CONN |
		SMFIP_NR_MAIL | SMFIP_NR_RCPT | SMFIP_NR_HDR | SMFIP_SKIP,
};

static const struct {
	int stage;
	const char *macros;
} macros[] = {
	{SMFIM_ENVFROM, "i {auth_authen} {mail_addr} {daemon_name}"},
	{SMFIM_EOM, "i"},
};

static struct service *service;
static _Atomic enum filter_state state = FILTER_SERVES;

/* libmilter takes names as it gives them: not const. */
static char queue_id_macro[] = "i";
static char login_macro[] = "{auth_authen}";
static char resolved_macro[] = "{mail_addr}";
static char service_macro[] = "{daemon_name}";

static void complain(const char *text)
{
	if (!service_enter(service))
		return;
	log_error(service->log, "negotiation_failed", "error", text);
	service_leave(service);
}

static void note_begin(const struct milter_session *session)
{
	if (!service_enter(service))
		return;
	log_debug(service->log, "message", "sender", session->message.sender, "origin",
		origin_name(session_origin(session)));
	service_leave(service);
}

static int ask_for_macros(SMFICTX *ctx)
{
	for (size_t i = 0; i < ARRAY_SIZE(macros); i++) {
		_cleanup_free_ char *list = mem_strdup(macros[i].macros);

		if (smfi_setsymlist(ctx, macros[i].stage, list) != MI_SUCCESS)
			return -1;
	}
	return 0;
}

static sfsistat on_negotiate(SMFICTX *ctx, unsigned long f0, unsigned long f1, unsigned long f2,
	unsigned long f3, unsigned long *pf0, unsigned long *pf1, unsigned long *pf2,
	unsigned long *pf3)
{
	(void)f2;
	(void)f3;
	if ((f0 & ACTIONS) != ACTIONS || (f1 & STEPS) != STEPS || ask_for_macros(ctx) < 0) {
		complain("the other side lacks what Postfix 2.6 has");
		return SMFIS_REJECT;
	}
	*pf0 = ACTIONS;
	*pf1 = STEPS;
	*pf2 = *pf3 = 0;
	return SMFIS_CONTINUE;
}

static void forget_session(SMFICTX *ctx)
{
	struct milter_session *session = smfi_getpriv(ctx);

	smfi_setpriv(ctx, NULL);
	session_free(session);
}

static struct milter_session *begin_session(const struct sockaddr *peer)
{
	enum mail_origin origin = service_origin(service, peer);
	char client[ORIGIN_CLIENT_SIZE];

	struct milter_session *session = session_new(
		origin, origin_client(peer, client) ? client : NULL, service->by_tcp);

	session->room = &service->room;
	return session;
}

static sfsistat on_connect(SMFICTX *ctx, char *host, _SOCK_ADDR *peer)
{
	(void)host;
	forget_session(ctx);
	smfi_setpriv(ctx, begin_session(peer));
	return SMFIS_NOREPLY;
}

static sfsistat on_mail(SMFICTX *ctx, char **arguments)
{
	struct milter_session *session = smfi_getpriv(ctx);

	session_begin(session, arguments[0], smfi_getsymval(ctx, login_macro));
	session_service(session, smfi_getsymval(ctx, service_macro));
	session_resolved(session, smfi_getsymval(ctx, resolved_macro));
	session_parameters(session, arguments + 1);
	note_begin(session);
	if (service_enter(service)) {
		record_probe_sender(service, session);
		service_leave(service);
	}
	return SMFIS_NOREPLY;
}

static sfsistat on_recipient(SMFICTX *ctx, char **arguments)
{
	session_recipient(smfi_getpriv(ctx), arguments[0]);
	session_parameters(smfi_getpriv(ctx), arguments + 1);
	return SMFIS_NOREPLY;
}

static sfsistat on_header(SMFICTX *ctx, char *name, char *value)
{
	session_header(smfi_getpriv(ctx), name, value);
	return SMFIS_NOREPLY;
}

static sfsistat on_body(SMFICTX *ctx, unsigned char *data, size_t len)
{
	return session_body(smfi_getpriv(ctx), data, len) ? SMFIS_CONTINUE : SMFIS_SKIP;
}

/* Every message of a key that may go out counts, as a request does over HTTP. */
static void take_rate(struct facts *facts)
{
	struct verdict_facts *verdict = &facts->verdict;

	if (facts->key_found && verdict->from_one && verdict->sender == RULES_ALLOWED &&
		!verdict->other_claim)
		verdict->rate_limited = !service_take_rate(service, facts->key.company_id);
}

static sfsistat on_eom(SMFICTX *ctx)
{
	struct milter_session *session = smfi_getpriv(ctx);
	sfsistat answer = SMFIS_TEMPFAIL;

	if (service_enter(service)) {
		_cleanup_facts_ struct facts facts = {0};

		session_queue_id(session, smfi_getsymval(ctx, queue_id_macro));
		session_body(session, "", 0);
		facts_read(service->readers, session, &facts);
		take_rate(&facts);
		answer = apply_verdict(ctx, service, session, &facts);
		service_leave(service);
	} else {
		counts_add(
			&service->counts, (struct verdict){VERDICT_TEMPFAIL, REASON_STORE_FAILED});
	}
	session_reset(session);
	return answer;
}

static sfsistat on_abort(SMFICTX *ctx)
{
	struct milter_session *session = smfi_getpriv(ctx);

	if (session != NULL)
		session_reset(session);
	return SMFIS_CONTINUE;
}

static sfsistat on_close(SMFICTX *ctx)
{
	forget_session(ctx);
	return SMFIS_CONTINUE;
}

static int set_up(const struct conf *conf)
{
	struct smfiDesc callbacks = {
		.xxfi_name = (char[]){"postern-milter"},
		.xxfi_version = SMFI_VERSION,
		.xxfi_flags = ACTIONS,
		.xxfi_connect = on_connect,
		.xxfi_envfrom = on_mail,
		.xxfi_envrcpt = on_recipient,
		.xxfi_header = on_header,
		.xxfi_body = on_body,
		.xxfi_eom = on_eom,
		.xxfi_abort = on_abort,
		.xxfi_close = on_close,
		.xxfi_negotiate = on_negotiate,
	};
	_cleanup_free_ char *address = mem_printf("unix:%s", conf->milter.socket);

	if (smfi_register(callbacks) != MI_SUCCESS || smfi_setconn(address) != MI_SUCCESS ||
		smfi_setbacklog(BACKLOG) != MI_SUCCESS ||
		smfi_settimeout((int)(conf->milter.timeout_ms / 1000)) != MI_SUCCESS)
		return -1;
	return 0;
}

int filter_open(struct service *shared, const struct conf *conf, struct err *err)
{
	mode_t umask_before;
	int opened;

	service = shared;
	if (set_up(conf) < 0)
		return err_set(err, ERR_INTERNAL, "cannot set libmilter up");
	umask_before = umask(0177);
	opened = smfi_opensocket(false);
	umask(umask_before);
	if (opened != MI_SUCCESS)
		return err_set(err, ERR_CONFIG, "cannot listen on %s (milter.socket)",
			conf->milter.socket);
	return 0;
}

static void *serve(void *arg)
{
	state = smfi_main() == MI_SUCCESS ? FILTER_STOPPED : FILTER_FAILED;
	return arg;
}

/* libmilter's threads inherit the signal mask of this one. */
int filter_start(struct err *err)
{
	pthread_attr_t attributes;
	pthread_t thread;
	sigset_t all;
	int failed;

	sigfillset(&all);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setsigmask_np(&attributes, &all);
	failed = pthread_create(&thread, &attributes, serve, NULL);
	pthread_attr_destroy(&attributes);
	if (failed)
		return err_set(err, ERR_TEMPORARY, "cannot start a thread: %s", strerror(failed));
	return 0;
}

enum filter_state filter_state(void)
{
	return state;
}
