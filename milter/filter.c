/*
 * filter: the callbacks of libmilter.
 *
 * Callbacks store in the session what Postfix sends and decide nothing. At the end of a message
 * the facts are read, verdict_decide() judges them, and the verdict is applied. Nothing is
 * answered earlier: mail from sendmail(1) that gets a tempfail before its end gets stuck in the
 * maildrop.
 *
 *   negotiate ─> connect ─> (mail ─> rcpt... ─> header... ─> eom | abort)... ─> close
 *
 * Threads: libmilter calls from its own threads, never from two at once for one connection, but
 * possibly from another thread each time. Per-connection state is kept with smfi_setpriv(). The
 * service is a global that is set before the first callback, because libmilter has no other
 * place for it.
 *
 * libmilter is never told to stop: it would wait for up to five seconds and finish nothing. Its
 * threads serve until the process ends. Once the service is closed, they answer tempfail. If an
 * answer does not reach Postfix, Postfix presents the message again, and the same record is
 * made again.
 */
#include "milter/filter.h"

#include <libmilter/mfapi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/thread.h"
#include "milter/apply.h"
#include "milter/facts.h"
#include "milter/session.h"

/* The listen backlog of the Unix socket. Beyond it, connections are refused, and Postfix defers
 * their mail. */
enum { BACKLOG = SOMAXCONN };

/* What we negotiate with Postfix, which supports all of it since version 2.6. */
enum {
	/* Change the sender, add and delete recipients, change and add header fields, hold
	 * messages, and name the macros we need, so that the macro lists in main.cf do not
	 * matter. */
	ACTIONS = SMFIF_ADDRCPT | SMFIF_DELRCPT | SMFIF_CHGHDRS | SMFIF_ADDHDRS | SMFIF_QUARANTINE |
		  SMFIF_CHGFROM | SMFIF_SETSYMLIST,
	/* Skip the steps that we do not use, and send no answer where it would always be
	 * "continue". SMFIP_SKIP: the body of a message that we do not copy is skipped after
	 * its first chunk. At negotiation it is not known yet who the client is. */
	STEPS = SMFIP_NOHELO | SMFIP_NODATA | SMFIP_NOEOH | SMFIP_NOUNKNOWN | SMFIP_NR_CONN |
		SMFIP_NR_MAIL | SMFIP_NR_RCPT | SMFIP_NR_HDR | SMFIP_SKIP,
};

static const struct {
	int stage;
	const char *macros;
} macros[] = {
	{SMFIM_ENVFROM, "i {auth_authen} {mail_addr} {daemon_name}"},
	{SMFIM_ENVRCPT, "{rcpt_addr}"},
	{SMFIM_EOM, "i"},
};

static struct service *service;
static _Atomic bool has_ended;

/* libmilter takes macro names as char *, not const. */
static char queue_id_macro[] = "i";
static char login_macro[] = "{auth_authen}";
static char resolved_macro[] = "{mail_addr}";
static char service_macro[] = "{daemon_name}";
static char recipient_macro[] = "{rcpt_addr}";

/* Has the committer expect the record of the message, if it may be an email of ours. */
static void expect_record(struct milter_session *session)
{
	session->expected = session->message.key_login ||
			    (session->submits && session->message.login == NULL);
	if (session->expected)
		committer_expect(service->committer, 1);
}

/* Call it between service_enter() and service_leave(). */
static void stop_expecting(struct milter_session *session)
{
	if (session->expected)
		committer_expect(service->committer, -1);
	session->expected = false;
}

/* Forgets a message that ends without a verdict. */
static void abandon(struct milter_session *session)
{
	if (session->expected && service_enter(service)) {
		stop_expecting(session);
		service_leave(service);
	}
	session->expected = false;
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
		if (service_enter(service)) {
			log_error(service->log, "negotiation_failed", "error",
				"the other side lacks what Postfix 2.6 has");
			service_leave(service);
		}
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
	if (session)
		abandon(session);
	session_free(session);
}

static sfsistat on_connect(SMFICTX *ctx, char *host, _SOCK_ADDR *peer)
{
	char client[ORIGIN_CLIENT_SIZE];
	struct milter_session *session = session_new(service_origin(service, peer),
		origin_client(peer, client) ? client : NULL, service->by_tcp);

	(void)host;
	session->room = &service->room;
	forget_session(ctx);
	smfi_setpriv(ctx, session);
	return SMFIS_NOREPLY;
}

static sfsistat on_mail(SMFICTX *ctx, char **arguments)
{
	struct milter_session *session = smfi_getpriv(ctx);

	abandon(session);
	session_begin(session, arguments[0], smfi_getsymval(ctx, login_macro));
	session_service(session, smfi_getsymval(ctx, service_macro));
	session_resolved(session, smfi_getsymval(ctx, resolved_macro));
	session_parameters(session, arguments + 1);
	if (service_enter(service)) {
		log_debug(service->log, "message", "sender", session->message.sender, "origin",
			origin_name(session_origin(session)));
		record_probe_sender(service, session);
		expect_record(session);
		service_leave(service);
	}
	return SMFIS_NOREPLY;
}

static sfsistat on_recipient(SMFICTX *ctx, char **arguments)
{
	session_recipient(smfi_getpriv(ctx), arguments[0], smfi_getsymval(ctx, recipient_macro));
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

static sfsistat on_eom(SMFICTX *ctx)
{
	struct milter_session *session = smfi_getpriv(ctx);
	sfsistat answer = SMFIS_TEMPFAIL;

	if (service_enter(service)) {
		_cleanup_facts_ struct facts facts = {0};
		struct verdict_facts *verdict = &facts.verdict;

		session_queue_id(session, smfi_getsymval(ctx, queue_id_macro));
		session_body(session, "", 0);
		facts_read(service->readers, session, &facts);
		facts_read_known(
			service->known, service_names_max_age_ms(service), session, &facts);
		/* A message that the rules let pass costs a token, as a request over HTTP does. */
		if (facts.key_found && verdict->from_one && verdict->sender == RULES_ALLOWED &&
			!verdict->other_claim)
			verdict->rate_limited = !service_take_rate(service, facts.login.company_id);
		if (verdict->ticket == TICKET_SENT && session_origin(session) == ORIGIN_LOCAL &&
			!verdict->other_way)
			verdict->presented_again = presented_again(
				service->presented, facts.ticket.id, clock_monotonic_us());
		answer = apply_verdict(ctx, service, session, &facts);
		stop_expecting(session);
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

	if (session != NULL) {
		abandon(session);
		session_reset(session);
	}
	return SMFIS_CONTINUE;
}

static sfsistat on_close(SMFICTX *ctx)
{
	forget_session(ctx);
	return SMFIS_CONTINUE;
}

int filter_open(struct service *shared, const struct conf *conf, struct err *err)
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
	mode_t umask_before;
	int opened;

	service = shared;
	if (smfi_register(callbacks) != MI_SUCCESS || smfi_setconn(address) != MI_SUCCESS ||
		smfi_setbacklog(BACKLOG) != MI_SUCCESS ||
		smfi_settimeout((int)(conf->milter.timeout_ms / 1000)) != MI_SUCCESS)
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
	smfi_main();
	has_ended = true;
	return arg;
}

/* libmilter's threads inherit the signal mask of this thread. */
int filter_start(struct err *err)
{
	pthread_t thread;

	if (thread_start(&thread, serve, NULL, err) < 0)
		return -1;
	pthread_detach(thread);
	return 0;
}

bool filter_has_ended(void)
{
	return has_ended;
}
