/*
 * filter: the callbacks of libmilter.
 *
 * They record into the session and decide nothing; at the end of a message the
 * facts are read, judged and the verdict applied. Nothing is answered earlier:
 * mail from sendmail(1) that is put off before its end sticks in the maildrop.
 *
 *   negotiate ─> connect ─> (mail ─> rcpt... ─> header... ─> eom | abort)... ─> close
 *
 * Threads: libmilter calls from threads of its own, for one connection never
 * from two at once, and each time maybe from another. State hangs on the
 * context (smfi_setpriv); the one global is the service, set before the first
 * callback, because libmilter has no place to hang it on.
 */
#include "milter/filter.h"

#include <libmilter/mfapi.h>
#include <sys/stat.h>

#include "core/base/str.h"
#include "milter/apply.h"
#include "milter/facts.h"
#include "milter/origin.h"
#include "milter/session.h"

enum { BACKLOG = 256 };

/* What is asked of Postfix, which has offered all of it since version 2.6. */
enum {
	/* Change and add header fields; hold messages; name the macros that
	 * are needed, so that those lists in main.cf do not matter. */
	ACTIONS = SMFIF_CHGHDRS | SMFIF_ADDHDRS | SMFIF_QUARANTINE |
		  SMFIF_SETSYMLIST,
	/* Leave out what is not looked at; expect no answer where there is
	 * never one but "go on". */
	STEPS = SMFIP_NOHELO | SMFIP_NODATA | SMFIP_NOEOH | SMFIP_NOBODY |
		SMFIP_NOUNKNOWN | SMFIP_NR_CONN | SMFIP_NR_MAIL |
		SMFIP_NR_RCPT | SMFIP_NR_HDR,
};

static const struct {
	int stage;
	const char *macros;
} macros[] = {
	{SMFIM_ENVFROM, "i {auth_authen} {mail_addr}"},
	{SMFIM_EOM, "i"},
};

static struct service *service;

/* libmilter takes names as it gives them: not const. */
static char queue_id_macro[] = "i";
static char login_macro[] = "{auth_authen}";
static char resolved_macro[] = "{mail_addr}";

/* Outside of decisions the log may be gone, when the process ends; so these
 * two enter as if there was one to make. */
static void complain(const char *text)
{
	if (!drain_enter(service->drain))
		return;
	log_error(service->log, "negotiation_failed", "error", text);
	drain_leave(service->drain);
}

static void note_begin(const struct session *session)
{
	if (!drain_enter(service->drain))
		return;
	log_debug(service->log, "message", "sender", session->message.sender,
		"origin", origin_name(session_origin(session)));
	drain_leave(service->drain);
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

static sfsistat on_negotiate(SMFICTX *ctx, unsigned long f0, unsigned long f1,
	unsigned long f2, unsigned long f3, unsigned long *pf0,
	unsigned long *pf1, unsigned long *pf2, unsigned long *pf3)
{
	(void)f2;
	(void)f3;
	if ((f0 & ACTIONS) != ACTIONS || (f1 & STEPS) != STEPS ||
		ask_for_macros(ctx) < 0) {
		complain("the other side lacks what Postfix 2.6 has");
		return SMFIS_REJECT;
	}
	*pf0 = ACTIONS;
	*pf1 = STEPS;
	*pf2 = *pf3 = 0;
	return SMFIS_CONTINUE;
}

/* libmilter goes on with the connection: what it had to write is written. */
static void note_answered(struct session *session)
{
	if (session->answering)
		drain_answered(service->drain);
	session->answering = false;
}

/* The message, if any, has ended in some way. */
static void forget_message(struct session *session)
{
	if (session->message.counted)
		drain_end(service->drain);
	session_reset(session);
}

static void forget_session(SMFICTX *ctx)
{
	struct session *session = smfi_getpriv(ctx);

	if (session == NULL)
		return;
	smfi_setpriv(ctx, NULL);
	note_answered(session);
	forget_message(session);
	session_free(session);
}

static struct session *begin_session(const struct sockaddr *peer)
{
	enum mail_origin origin = service_origin(service, peer);
	char client[ORIGIN_CLIENT_SIZE];

	return session_new(origin, origin_client(peer, client) ? client : NULL);
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
	struct session *session = smfi_getpriv(ctx);

	note_answered(session);
	forget_message(session);
	session_begin(session, arguments[0], smfi_getsymval(ctx, login_macro));
	session_resolved(session, smfi_getsymval(ctx, resolved_macro));
	session->message.counted = drain_begin(service->drain);
	note_begin(session);
	return SMFIS_NOREPLY;
}

static sfsistat on_recipient(SMFICTX *ctx, char **arguments)
{
	session_recipient(smfi_getpriv(ctx), arguments[0]);
	return SMFIS_NOREPLY;
}

static sfsistat on_header(SMFICTX *ctx, char *name, char *value)
{
	session_header(smfi_getpriv(ctx), name, value);
	return SMFIS_NOREPLY;
}

static sfsistat decide(SMFICTX *ctx, const struct session *session)
{
	_cleanup_facts_ struct facts facts = {0};

	facts_read(service->readers, session, &facts);
	return apply_verdict(ctx, service, session, &facts);
}

static sfsistat on_eom(SMFICTX *ctx)
{
	struct session *session = smfi_getpriv(ctx);
	sfsistat answer = SMFIS_TEMPFAIL;

	if (drain_enter(service->drain)) {
		session_queue_id(session, smfi_getsymval(ctx, queue_id_macro));
		answer = decide(ctx, session);
		session->answering = true;
		drain_answer(service->drain);
		drain_leave(service->drain);
	} else {
		counts_add(&service->counts, VERDICT_TEMPFAIL);
	}
	forget_message(session);
	return answer;
}

static sfsistat on_abort(SMFICTX *ctx)
{
	struct session *session = smfi_getpriv(ctx);

	if (session == NULL)
		return SMFIS_CONTINUE;
	note_answered(session);
	forget_message(session);
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
		.xxfi_eom = on_eom,
		.xxfi_abort = on_abort,
		.xxfi_close = on_close,
		.xxfi_negotiate = on_negotiate,
	};
	_cleanup_free_ char *address = mem_printf("unix:%s", conf->milter.socket);

	if (smfi_register(callbacks) != MI_SUCCESS ||
		smfi_setconn(address) != MI_SUCCESS ||
		smfi_setbacklog(BACKLOG) != MI_SUCCESS ||
		smfi_settimeout((int)(conf->milter.timeout_ms / 1000)) !=
			MI_SUCCESS)
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
		return err_set(err, ERR_CONFIG,
			"cannot listen on %s (milter.socket)",
			conf->milter.socket);
	return 0;
}

bool filter_run(void)
{
	return smfi_main() == MI_SUCCESS;
}

void filter_stop(void)
{
	smfi_stop();
}
