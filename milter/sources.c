/*
 * sources: collects from the sender fields of a message what readers see.
 *
 * Threads: any; holds no state.
 */
#include "milter/sources.h"

#include "core/base/str.h"
#include "core/mail/addr_header.h"

static void add_domains(struct sources *sources, const struct strv *domains)
{
	for (size_t i = 0; i < domains->n; i++) {
		if (sources->domains.n > SOURCES_DOMAINS)
			return;
		if (!strv_has(&sources->domains, domains->items[i]))
			strv_add(&sources->domains, domains->items[i]);
	}
}

/* Postfix may read an unusual address in another way than it looks. */
static void add_envelope(struct sources *sources, const char *address)
{
	_cleanup_addr_header_ struct addr_header header;

	addr_header_read(address, &header);
	add_domains(sources, &header.domains);
}

static void add_froms(struct sources *sources, const struct strv *values)
{
	for (size_t i = 0; i < values->n; i++) {
		_cleanup_addr_header_ struct addr_header header;

		addr_header_read(values->items[i], &header);
		add_domains(sources, &header.domains);
		sources->unclear |= header.unclear || values->n > 1;
		if (values->n == 1)
			sources->from = TAKE_PTR(header.mailbox);
	}
}

/* They name the author again, or else there is not one. */
static void add_others(struct sources *sources, const struct strv *values)
{
	for (size_t i = 0; i < values->n; i++) {
		_cleanup_addr_header_ struct addr_header header;

		addr_header_read(values->items[i], &header);
		add_domains(sources, &header.domains);
		sources->unclear |= header.unclear;
		if (sources->from && header.mailbox &&
			str_eq(sources->from, header.mailbox))
			continue;
		free(sources->from);
		sources->from = NULL;
	}
}

void sources_find(const struct session_message *message, struct sources *sources_r)
{
	*sources_r = (struct sources){0};
	add_envelope(sources_r, message->sender);
	if (message->resolved && !str_eq(message->resolved, message->sender))
		add_envelope(sources_r, message->resolved);
	add_froms(sources_r, &message->froms.values);
	add_others(sources_r, &message->others.values);
}

void sources_clear(struct sources *sources)
{
	strv_free(&sources->domains);
	free(sources->from);
	*sources = (struct sources){0};
}
