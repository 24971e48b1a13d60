/*
 * outcome: tables of codes, words and names.
 */
#include "core/store/event/outcome.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/mem.h"

/* True if the text contains one of the words, which are separated by blanks, ignoring letter
 * case. */
static bool has_word_of(const char *text, const char *words)
{
	for (const char *word = words; *word;) {
		size_t len = strcspn(word, " ");
		char one[32];

		snprintf(one, sizeof(one), "%.*s", (int)len, word);
		if (strcasestr(text, one))
			return true;
		word += len;
		word += *word == ' ';
	}
	return false;
}

/* True if dsn is X.code for any class X. A code that ends in a dot matches any detail. */
static bool is_code(const char *dsn, const char *code)
{
	size_t len = strlen(code);

	return dsn[0] && dsn[1] == '.' && strncmp(dsn + 2, code, len) == 0 &&
	       (dsn[2 + len] == '\0' || code[len - 1] == '.');
}

/* The first matching row decides. Servers that detect spam say so in words; their code may be any
 * 5.7.x, some 5.1.x or none. */
const char *outcome_reason(const char *dsn, const char *text)
{
	static const struct {
		const char *code;  /* NULL: any, or none */
		const char *words; /* NULL: any */
		const char *reason;
	} rows[] = {
		{"1.2", NULL, "no_domain"},
		{"4.4", "not found", "no_domain"},
		{"1.8", NULL, "policy"},
		{"1.7", NULL, "policy"},
		{NULL, "spam spamhaus blocklist blacklist blocked reputation barracuda", "spam"},
		{"1.", NULL, "no_mailbox"},
		{"2.1", NULL, "disabled"},
		{"2.2", NULL, "full"},
		{"2.3", NULL, "too_large"},
		{"3.4", NULL, "too_large"},
		{"7.", NULL, "policy"},
		{"4.", NULL, "unreachable"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if ((rows[i].code == NULL || (dsn && is_code(dsn, rows[i].code))) &&
			(rows[i].words == NULL || (text && has_word_of(text, rows[i].words))))
			return rows[i].reason;
	return "other";
}

/* Suffixes of the host names of mail servers, and domains of mailboxes. */
static const struct {
	const char *domain;
	const char *provider;
} providers[] = {
	{"google.com", "google"},
	{"googlemail.com", "google"},
	{"gmail.com", "google"},
	{"psmtp.com", "google"},
	{"outlook.com", "microsoft"},
	{"mx.microsoft", "microsoft"},
	{"hotmail.com", "microsoft"},
	{"hotmail.co.uk", "microsoft"},
	{"hotmail.de", "microsoft"},
	{"hotmail.fr", "microsoft"},
	{"live.com", "microsoft"},
	{"msn.com", "microsoft"},
	{"yahoodns.net", "yahoo"},
	{"yahoo.com", "yahoo"},
	{"yahoo.co.uk", "yahoo"},
	{"yahoo.de", "yahoo"},
	{"yahoo.fr", "yahoo"},
	{"ymail.com", "yahoo"},
	{"aol.com", "yahoo"},
	{"icloud.com", "apple"},
	{"me.com", "apple"},
	{"mac.com", "apple"},
	{"gmx.net", "gmx"},
	{"gmx.de", "gmx"},
	{"gmx.at", "gmx"},
	{"gmx.ch", "gmx"},
	{"web.de", "gmx"},
	{"kundenserver.de", "ionos"},
	{"ionos.com", "ionos"},
	{"ionos.de", "ionos"},
	{"1and1.com", "ionos"},
	{"t-online.de", "telekom"},
	{"protonmail.ch", "proton"},
	{"proton.me", "proton"},
	{"protonmail.com", "proton"},
	{"pm.me", "proton"},
	{"messagingengine.com", "fastmail"},
	{"fastmail.com", "fastmail"},
	{"zoho.com", "zoho"},
	{"zoho.eu", "zoho"},
	{"yandex.net", "yandex"},
	{"yandex.ru", "yandex"},
	{"mail.ru", "mail.ru"},
	{"qq.com", "tencent"},
	{"163.com", "netease"},
	{"pphosted.com", "proofpoint"},
	{"ppe-hosted.com", "proofpoint"},
	{"mimecast.com", "mimecast"},
	{"barracudanetworks.com", "barracuda"},
	{"messagelabs.com", "symantec"},
	{"iphmx.com", "cisco"},
	{"hornetsecurity.com", "hornetsecurity"},
	{"secureserver.net", "godaddy"},
	{"mailbox.org", "mailbox.org"},
	{"posteo.de", "posteo"},
	{"ovh.net", "ovh"},
	{"hostedemail.com", "tucows"},
	{"comcast.net", "comcast"},
	{"orange.fr", "orange"},
	{"free.fr", "free"},
	{"laposte.net", "laposte"},
	{"seznam.cz", "seznam"},
	{"wp.pl", "wp.pl"},
	{"rzone.de", "strato"},
	{"libero.it", "libero"},
	{"amazonaws.com", "amazon"},
};

static const char *find_provider(const char *host, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(providers); i++) {
		size_t n = strlen(providers[i].domain);

		if (len >= n && strncasecmp(host + len - n, providers[i].domain, n) == 0 &&
			(len == n || host[len - n - 1] == '.'))
			return providers[i].provider;
	}
	return NULL;
}

const char *outcome_provider(const char *relay, const char *address)
{
	const char *at = address ? strrchr(address, '@') : NULL, *provider = NULL;

	/* gmail-smtp-in.l.google.com[192.0.2.1]:25 */
	if (relay)
		provider = find_provider(relay, strcspn(relay, "[:"));
	if (provider == NULL && at)
		provider = find_provider(at + 1, strlen(at + 1));
	return provider ? provider : "other";
}

static const int64_t ends_ms[OUTCOME_DELAYS] = {50, 100, 200, 500, 1000, 1500, 2000, 3000, 5000,
	7500, 10000, 15000, 20000, 30000, 45000, 60000, 120000, 300000, 600000, 1200000, 1800000,
	3600000, 7200000, 14400000, 28800000, 86400000, 172800000, 432000000};

size_t outcome_delay_class(int64_t delay_us)
{
	size_t class = 0;

	while (class < OUTCOME_DELAYS - 1 && delay_us >= ends_ms[class] * 1000)
		class ++;
	return class;
}

const char *outcome_delay_name(size_t class)
{
	static const char names[OUTCOME_DELAYS][3] = {"00", "01", "02", "03", "04", "05", "06",
		"07", "08", "09", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19", "20",
		"21", "22", "23", "24", "25", "26", "27"};

	return names[class];
}

int64_t outcome_delay_percentile_ms(const int64_t counts[static OUTCOME_DELAYS], int percent)
{
	int64_t all = 0, before = 0, rank;

	for (size_t i = 0; i < OUTCOME_DELAYS; i++)
		all += counts[i];
	if (all == 0)
		return -1;
	rank = (all * percent + 99) / 100;
	for (size_t i = 0; i < OUTCOME_DELAYS; i++) {
		int64_t begin = i > 0 ? ends_ms[i - 1] : 0;

		if (before + counts[i] >= rank)
			return begin + (ends_ms[i] - begin) * (rank - before) / counts[i];
		before += counts[i];
	}
	return ends_ms[OUTCOME_DELAYS - 1];
}
