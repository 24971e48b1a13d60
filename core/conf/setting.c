/*
 * setting: converts a setting's value between text and struct conf.
 *
 * Each type is a row of a table: how it is parsed, written and described. Threads: any; a
 * struct conf is used by one thread at a time.
 */
#include "core/conf/setting.h"

#include <string.h>

#include "core/base/cidr.h"
#include "core/base/mem.h"
#include "core/base/socket.h"
#include "core/base/str.h"
#include "core/conf/conf.h"

/* Units in ascending order; each list ends with a row without a name. */
static const struct unit plain_units[] = {{"", 1}, {0}};
static const struct unit byte_units[] = {
	{"", 1}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {0}};
/* Of two units with the same factor, the later one is used for output. */
static const struct unit duration_units[] = {{"ms", 1}, {"s", 1000}, {"min", 60 * 1000},
	{"m", 60 * 1000}, {"h", 3600 * 1000}, {"d", 24 * 3600 * 1000}, {0}};
static const struct unit age_units[] = {{"ms", 1}, {"s", 1000}, {"min", 60 * 1000},
	{"h", 3600 * 1000}, {"d", 24 * 3600 * 1000}, {0}};
/* In an age these could mean minutes or months. */
static const struct unit month_units[] = {
	{"m", 1}, {"M", 1}, {"mo", 1}, {"month", 1}, {"months", 1}, {0}};
enum { DAYS_OF_MONTH = 30 };

struct type {
	/* Stored as text: returns true if the text is valid. */
	bool (*valid)(const char *text);
	/* Stored as a number: its units. */
	const struct unit *units;
	const char *noun;
	const char *example;
};

static char **text_at(const struct setting *setting, const struct conf *conf)
{
	return (char **)((char *)conf + setting->offset);
}

static int64_t *number_at(const struct setting *setting, const struct conf *conf)
{
	return (int64_t *)((char *)conf + setting->offset);
}

static bool valid_path(const char *text)
{
	return text[0] == '/' || text[0] == '\0';
}

static bool valid_mode(const char *text)
{
	return text[strspn(text, "01234567")] == '\0' && (strlen(text) == 3 || text[0] == '0');
}

static int check_networks(const char *text, struct err *err)
{
	_cleanup_cidr_list_ struct cidr_list list = CIDR_LIST_INIT;

	return cidr_list_parse_excepting(text, &list, err);
}

static bool valid_networks(const char *text)
{
	return check_networks(text, NULL) == 0;
}

static int check_peers(const char *text, struct err *err)
{
	_cleanup_cidr_list_ struct cidr_list list = CIDR_LIST_INIT;

	return cidr_list_parse_peers(text, &list, err);
}

static bool valid_peers(const char *text)
{
	return check_peers(text, NULL) == 0;
}

/* Non-ASCII names must be given as A-labels. */
static bool valid_domains(const char *text)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_., \t\r\n";

	return text[strspn(text, allowed)] == '\0';
}

/* True for a code or a prefix of codes; neither ends with a dot. */
static bool valid_code(const char *code, size_t len)
{
	size_t digits[3] = {0}, n = 0;

	for (size_t i = 0; i < len; i++) {
		if (code[i] == '.')
			n++;
		else if (code[i] < '0' || code[i] > '9')
			return false;
		else
			digits[n]++;
		if (n > 2)
			return false;
	}
	return n > 0 && digits[0] == 1 && code[0] == '5' && digits[1] > 0 && digits[1] < 4 &&
	       (n == 1 || (digits[2] > 0 && digits[2] < 4));
}

static bool valid_codes(const char *text)
{
	static const char *const never[] = {"5.7", "5.2", "5.2.2"};

	for (const char *at = text; *(at += strspn(at, ", \t"));) {
		size_t len = strcspn(at, ", \t");

		if (!valid_code(at, len) || (len > 4 && strncmp(at, "5.7.", 4) == 0))
			return false;
		for (size_t i = 0; i < ARRAY_SIZE(never); i++)
			if (len == strlen(never[i]) && strncmp(at, never[i], len) == 0)
				return false;
		at += len;
	}
	return true;
}

static bool valid_group(const char *text)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

	return text[strspn(text, allowed)] == '\0' && text[0] != '-';
}

static bool valid_recipient(const char *text)
{
	const char *at = strchr(text, '@');

	return text[strcspn(text, " \t<>()\\,;:\"")] == '\0' && text[0] != '-' && at != text &&
	       (at == NULL || (at[1] != '\0' && strchr(at + 1, '@') == NULL));
}

static const char unix_prefix[] = "unix:";

static bool valid_socket(const char *path)
{
	return path[0] == '/' && strlen(path) <= SETTING_SOCKET_PATH;
}

/* 127.0.0.1:80, [::1]:80 or unix:/path. Empty text is valid here; the setting's minimum length
 * decides. */
static bool valid_address(const char *text)
{
	union socket_address address;
	socklen_t len;

	if (str_empty(text))
		return true;
	if (str_starts(text, unix_prefix))
		return valid_socket(text + strlen(unix_prefix));
	return socket_parse(text, &address, &len);
}

/* The origin as browsers serialize it (RFC 6454): no path, lower case. */
static bool valid_origin(const char *text)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-.:[]";
	const char *host = strstr(text, "://");

	if (str_empty(text))
		return true;
	return (str_starts(text, "http://") || str_starts(text, "https://")) && host[3] != '\0' &&
	       host[3 + strspn(host + 3, allowed)] == '\0';
}

static bool valid_smtp_url(const char *text)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-.:[]";
	const char *host = strstr(text, "://");
	const char *colon = strrchr(text, ':');
	int64_t port;

	if (str_empty(text))
		return true;
	if ((!str_starts(text, "smtp://") && !str_starts(text, "smtps://")) || host[3] == '\0' ||
		host[3] == ':' || host[3 + strspn(host + 3, allowed)] != '\0')
		return false;
	return colon == host || strchr(colon, ']') || str_int(colon + 1, 1, 65535, &port) == 0;
}

static bool valid_store_url(const char *text)
{
	return str_empty(text) || str_starts(text, "postgresql://") ||
	       str_starts(text, "postgres://");
}

static bool valid_host(const char *text)
{
	static const char allowed[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		"0123456789-_.";

	return text[strspn(text, allowed)] == '\0';
}

/* True for a server on this host. */
static bool valid_server(const char *text)
{
	static const char in[] = "inet:";

	if (str_empty(text))
		return true;
	if (str_starts(text, unix_prefix))
		return valid_socket(text + strlen(unix_prefix));
	if (!str_starts(text, in) || str_empty(text + strlen(in)) ||
		!valid_address(text + strlen(in)))
		return false;
	return str_starts(text + strlen(in), "127.") || str_starts(text + strlen(in), "[::1]:");
}

static const struct type types[] = {
	[SETTING_PATH] = {.valid = valid_path, .noun = "an absolute path"},
	[SETTING_ADDRESS] = {.valid = valid_address,
		.noun = "a numeric address and a port, or a socket",
		.example = "127.0.0.1:8587, [::1]:8587 or unix:/run/postern/api.sock"},
	[SETTING_ORIGIN] = {.valid = valid_origin,
		.noun = "scheme and host of a URL",
		.example = "https://mail.example.com"},
	[SETTING_SMTP_URL] = {.valid = valid_smtp_url,
		.noun = "scheme, host and port of a URL",
		.example = "smtp://mail.example.com:587 or smtps://mail.example.com:465"},
	[SETTING_STORE_URL] = {.valid = valid_store_url,
		.noun = "the URL of a database",
		.example = "postgresql://postern@db.example.com/postern"},
	[SETTING_HOST] = {.valid = valid_host, .noun = "the name of a host", .example = "mx1"},
	[SETTING_SERVER] = {.valid = valid_server,
		.noun = "a server on this host",
		.example = "unix:/var/spool/postfix/public/postern or inet:127.0.0.1:10025"},
	[SETTING_MODE] = {.valid = valid_mode, .noun = "octal permissions", .example = "0660"},
	[SETTING_GROUP] = {.valid = valid_group,
		.noun = "the name of a group",
		.example = "www-data"},
	[SETTING_RECIPIENT] = {.valid = valid_recipient,
		.noun = "an address",
		.example = "postmaster@example.com"},
	[SETTING_NETWORKS] = {.valid = valid_networks,
		.noun = "a list of addresses and networks",
		.example = "127.0.0.0/8 [::1]/128"},
	[SETTING_PEERS] = {.valid = valid_peers,
		.noun = "a list of addresses and networks, or the word unix",
		.example = "127.0.0.1 10.0.0.0/8 unix"},
	[SETTING_DOMAINS] = {.valid = valid_domains,
		.noun = "a list of domain names",
		.example = "example.com mail.example.com"},
	[SETTING_CODES] = {.valid = valid_codes,
		.noun = "a list of enhanced status codes 5.x.x, none of which is 5.7.x or 5.2.2",
		.example = "5.4.4 5.0"},
	[SETTING_INT] = {.units = plain_units, .noun = "a whole number"},
	[SETTING_BYTES] = {.units = byte_units,
		.noun = "a size in bytes",
		.example = "512, 64K, 40M, 1G"},
	[SETTING_DURATION] = {.units = duration_units,
		.noun = "a duration",
		.example = "250ms, 5s, 2m, 1h, 30d"},
	[SETTING_AGE] = {.units = age_units, .noun = "a duration", .example = "90min, 12h, 30d"},
	[SETTING_CHOICE] = {.noun = "one of"},
};

const struct setting *setting_find(const char *section, const char *name)
{
	for (size_t i = 0; i < settings_n; i++)
		if (str_eq(settings[i].section, section) && str_eq(settings[i].name, name))
			return &settings[i];
	return NULL;
}

bool setting_section_known(const char *section)
{
	for (size_t i = 0; i < settings_n; i++)
		if (str_eq(settings[i].section, section))
			return true;
	return false;
}

/* True if the value is stored as text, a char * at the setting's offset. */
static bool is_text(const struct setting *setting)
{
	return types[setting->type].valid != NULL;
}

bool setting_adds_up(const struct setting *setting)
{
	return setting->type == SETTING_NETWORKS || setting->type == SETTING_PEERS ||
	       setting->type == SETTING_DOMAINS;
}

const char *setting_text(const struct setting *setting, const struct conf *conf)
{
	return *text_at(setting, conf);
}

int64_t setting_number(const struct setting *setting, const struct conf *conf)
{
	return *number_at(setting, conf);
}

static void write_number(int64_t number, const struct unit *units, struct buf *out)
{
	const struct unit *best = units;

	for (; units->name; units++)
		if (number >= units->factor && number % units->factor == 0)
			best = units;
	buf_printf(out, "%lld%s", (long long)(number / best->factor), best->name);
}

static void describe_bounds(const struct setting *setting, struct buf *out)
{
	const struct unit *units = types[setting->type].units;

	buf_add_str(out, " from ");
	write_number(setting->min, units, out);
	buf_add_str(out, " to ");
	write_number(setting->max, units, out);
}

static void describe_choices(const struct setting *setting, struct buf *out)
{
	for (int64_t i = 0; i <= setting->max; i++)
		buf_printf(out, "%s%s", i ? ", " : " ", setting->choices[i]);
}

void setting_describe(const struct setting *setting, struct buf *out)
{
	const struct type *type = &types[setting->type];

	buf_add_str(out, type->noun);
	if (setting->type == SETTING_CHOICE)
		describe_choices(setting, out);
	else if (type->units)
		describe_bounds(setting, out);
	else if (setting->type == SETTING_PATH)
		buf_printf(out, " of at most %lld bytes", (long long)setting->max);
	if (type->example)
		buf_printf(out, " (as %s)", type->example);
}

static int refuse_value(const struct setting *setting, const char *text, struct err *err)
{
	_cleanup_buf_ struct buf expected = BUF_INIT;
	int64_t months;

	if (setting->type == SETTING_AGE && str_amount(text, month_units, &months) == 0 &&
		months < INT64_MAX / DAYS_OF_MONTH)
		return err_set(err, ERR_CONFIG,
			"\"%s\": minutes or months? Write %lldmin for minutes, %lldd for months of "
			"%d days",
			text, (long long)months, (long long)months * DAYS_OF_MONTH, DAYS_OF_MONTH);
	if (setting->type == SETTING_NETWORKS && check_networks(text, err) < 0)
		return -1;
	if (setting->type == SETTING_PEERS && check_peers(text, err) < 0)
		return -1;
	setting_describe(setting, &expected);
	return err_set(err, ERR_CONFIG, "\"%s\" is not %s", text, buf_str(&expected));
}

static int parse_text(
	const struct setting *setting, const char *text, struct conf *conf, struct err *err)
{
	char **value = text_at(setting, conf);
	int64_t len = (int64_t)strlen(text);

	if (len < setting->min || len > setting->max || !types[setting->type].valid(text))
		return refuse_value(setting, text, err);
	free(*value);
	*value = mem_strdup(text);
	return 0;
}

static int parse_choice(
	const struct setting *setting, const char *text, struct conf *conf, struct err *err)
{
	for (int64_t i = 0; i <= setting->max; i++) {
		if (!str_eq(setting->choices[i], text))
			continue;
		*number_at(setting, conf) = i;
		return 0;
	}
	return refuse_value(setting, text, err);
}

int setting_parse(
	const struct setting *setting, const char *text, struct conf *conf, struct err *err)
{
	int64_t number;

	if (is_text(setting))
		return parse_text(setting, text, conf, err);
	if (setting->type == SETTING_CHOICE)
		return parse_choice(setting, text, conf, err);
	/* 0 needs no unit. */
	if (str_amount(text, types[setting->type].units, &number) < 0 &&
		(str_amount(text, plain_units, &number) < 0 || number != 0))
		return refuse_value(setting, text, err);
	if (number < setting->min || number > setting->max)
		return refuse_value(setting, text, err);
	*number_at(setting, conf) = number;
	return 0;
}

void setting_format(const struct setting *setting, const struct conf *conf, struct buf *out)
{
	if (is_text(setting))
		buf_add_str(out, setting_text(setting, conf));
	else if (setting->type == SETTING_CHOICE)
		buf_add_str(out, setting->choices[setting_number(setting, conf)]);
	else
		write_number(setting_number(setting, conf), types[setting->type].units, out);
}

bool setting_equal(const struct setting *setting, const struct conf *a, const struct conf *b)
{
	if (is_text(setting))
		return str_eq(setting_text(setting, a), setting_text(setting, b));
	return setting_number(setting, a) == setting_number(setting, b);
}

void setting_copy(const struct setting *setting, struct conf *to, const struct conf *from)
{
	if (!is_text(setting)) {
		*number_at(setting, to) = setting_number(setting, from);
		return;
	}
	setting_clear(setting, to);
	*text_at(setting, to) = mem_strdup(setting_text(setting, from));
}

void setting_clear(const struct setting *setting, struct conf *conf)
{
	if (!is_text(setting))
		return;
	free(*text_at(setting, conf));
	*text_at(setting, conf) = NULL;
}
