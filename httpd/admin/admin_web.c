/*
 * admin_web: the files of the dashboard.
 *
 * Those of httpd/web are in the program, so that pages and routes always have
 * the same version. Bootstrap and Chart.js are read at the start from where
 * Debian's packages install them; without them the pages are plain. All files
 * stay in memory, compressed when a client first accepts that. A name in a
 * request is looked up among them, and no file is opened.
 *
 * The page names all files below /web/VERSION/, a hash of them all: browsers keep
 * these without asking again, and modules find each other there by relative names.
 * Files of another version, for a page that was loaded before an upgrade, and those
 * directly below /web/ are revalidated.
 *
 * Threads: the one worker of the listener for admins.
 */
#include "httpd/admin/admin.h"

#include <stdio.h>
#include <string.h>

#include "core/base/gzip.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "httpd/transport/reply.h"
#include "httpd/worker/worker.h"

/* The files that the Makefile found in httpd/web: WEB_FILE(symbol, name). */
#define WEB_FILE(symbol, name)                                                                     \
	__asm__(".pushsection .rodata\n"                                                           \
		"web_" #symbol                                                                     \
		":\n"                                                                              \
		".incbin \"httpd/web/" name                                                        \
		"\"\n"                                                                             \
		"web_" #symbol                                                                     \
		"_end:\n"                                                                          \
		".popsection\n");                                                                  \
	extern const char web_##symbol[], web_##symbol##_end[];
#include "gen/web_files.h"
#undef WEB_FILE

static const struct {
	const char *name;
	const char *data;
	const char *end;
} own[] = {
#define WEB_FILE(symbol, name) {name, web_##symbol, web_##symbol##_end},
#include "gen/web_files.h"
#undef WEB_FILE
};

static const struct {
	const char *name;
	const char *path; /* below WEB_PACKAGED */
	const char *package;
} packaged[] = {
	{"bootstrap.css", "bootstrap5/css/bootstrap.min.css", "libjs-bootstrap5"},
	{"chart.js", "chart.js/chart.min.js", "libjs-chart.js"},
};

static const struct {
	const char *suffix;
	const char *type;
} types[] = {
	{".html", "text/html; charset=utf-8"},
	{".css", "text/css; charset=utf-8"},
	{".js", "text/javascript; charset=utf-8"},
	{".svg", "image/svg+xml"},
};

/* The Content-Security-Policy of the pages: nothing from elsewhere is loaded or
 * run. The frame is for an email's HTML, a document of its own. */
static const char page_policy[] =
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
	"connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; "
	"frame-ancestors 'none'";

enum { TAG_SIZE = 24 };

struct web_file {
	const char *name;
	const char *type;
	struct span plain;
	struct buf made;    /* owns plain, unless it is embedded in the program */
	struct buf packed;  /* gzip; empty until the first client accepts it */
	char tag[TAG_SIZE]; /* for ETag */
	char packed_tag[TAG_SIZE];
};

struct web {
	char version[TAG_SIZE]; /* changes with any file */
	struct web_file files[ARRAY_SIZE(own) + ARRAY_SIZE(packaged)];
	size_t n;
};

/* Sets the type and the tags of a file from its name and content. */
static void complete(struct web_file *file)
{
	const char *suffix = strrchr(file->name, '.');
	uint8_t hash[SECRET_HASH_LEN];
	unsigned long long begin = 0;

	file->type = "application/octet-stream";
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (suffix && str_eq(suffix, types[i].suffix))
			file->type = types[i].type;
	secret_hash(file->plain.data, file->plain.len, hash);
	for (size_t i = 0; i < sizeof(begin); i++)
		begin = begin << 8 | hash[i];
	snprintf(file->tag, sizeof(file->tag), "\"%016llx\"", begin);
	snprintf(file->packed_tag, sizeof(file->packed_tag), "\"%016llx-gz\"", begin);
}

static int read_packaged(const char *path, struct buf *out, struct err *err)
{
	enum { STEP = 64 * 1024 };
	_cleanup_(gzip_file) struct gzip_file *file = NULL;
	long n;

	if (gzip_file_open(path, &file, err) < 0)
		return -1;
	while ((n = gzip_file_read(file, buf_reserve(out, STEP), STEP, err)) > 0)
		buf_wrote(out, (size_t)n);
	return (int)n;
}

static struct web_file *find_web_file(struct web *web, const char *name)
{
	for (size_t i = 0; i < web->n; i++)
		if (str_eq(web->files[i].name, name))
			return &web->files[i];
	return NULL;
}

/* Hashes all files to the version, and writes it into the addresses of the page. */
static void set_version(struct web *web, struct web_file *page)
{
	static const char folder[] = "\"/web/";
	uint64_t hash = MEM_HASH;
	struct span rest = page->plain;
	const char *found;

	for (size_t i = 0; i < web->n; i++)
		hash = mem_hash(hash, web->files[i].tag, strlen(web->files[i].tag));
	snprintf(web->version, sizeof(web->version), "%016llx", (unsigned long long)hash);
	while ((found = memmem(rest.data, rest.len, folder, strlen(folder))) != NULL) {
		size_t len = (size_t)(found - rest.data) + strlen(folder);

		buf_add(&page->made, rest.data, len);
		buf_printf(&page->made, "%s/", web->version);
		rest.data += len;
		rest.len -= len;
	}
	buf_add(&page->made, rest.data, rest.len);
	page->plain = (struct span){page->made.data, page->made.len};
	complete(page);
}

struct web *web_new(const char *folder, struct log *log)
{
	struct web *web = mem_new(struct web);

	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		struct web_file *file = &web->files[web->n++];

		file->name = own[i].name;
		file->plain.data = own[i].data;
		file->plain.len = (size_t)(own[i].end - own[i].data);
		complete(file);
	}
	for (size_t i = 0; i < ARRAY_SIZE(packaged); i++) {
		_cleanup_free_ char *path = mem_printf("%s/%s", folder, packaged[i].path);
		struct web_file *file = &web->files[web->n];
		struct err err = ERR_INIT;

		if (read_packaged(path, &file->made, &err) < 0) {
			log_warn(log, "dashboard_plain", "error", err.text, "install",
				packaged[i].package);
			buf_free(&file->made);
			continue;
		}
		file->name = packaged[i].name;
		file->plain = (struct span){file->made.data, file->made.len};
		complete(file);
		web->n++;
	}
	set_version(web, find_web_file(web, "index.html"));
	return web;
}

void web_free(struct web *web)
{
	if (web == NULL)
		return;
	for (size_t i = 0; i < web->n; i++) {
		buf_free(&web->files[i].made);
		buf_free(&web->files[i].packed);
	}
	free(web);
}

bool web_find(struct web *web, const char *name, struct span *content_r)
{
	const struct web_file *file = find_web_file(web, name);

	if (file)
		*content_r = file->plain;
	return file != NULL;
}

static const char *field_of(const struct request *request, const char *name)
{
	const char *value = request_header(request, name);

	return value ? value : "";
}

/* True if Accept-Encoding (RFC 9110 12.5.3) allows gzip: `gzip` or `*`, unless
 * its weight is 0. */
static bool accepts_gzip(const char *field)
{
	struct span rest = {field, strlen(field)};

	while (rest.len > 0) {
		struct span weight = span_cut(&rest, ',');
		struct span coding = span_trim(span_cut(&weight, ';'));
		_cleanup_free_ char *q = str_trim(weight.data, weight.len);

		if (span_is_nocase(coding, "gzip") || span_is(coding, "*"))
			return *q == '\0' || strpbrk(q, "123456789") != NULL;
	}
	return false;
}

/* for_ever: the address names the version. */
static void send_file(struct request *request, struct web_file *file, bool for_ever)
{
	bool packed = accepts_gzip(field_of(request, "Accept-Encoding"));
	const char *tag = packed ? file->packed_tag : file->tag, *known;
	struct span bytes = file->plain;

	reply_field(request, "Cache-Control",
		for_ever ? "public, max-age=31536000, immutable" : "no-cache");
	reply_field(request, "Vary", "Accept-Encoding");
	reply_field(request, "ETag", tag);
	if (str_starts(file->type, "text/html"))
		reply_field(request, "Content-Security-Policy", page_policy);
	/* RFC 9110 13.1.2. Our tags have no commas or inner quotes. */
	known = field_of(request, "If-None-Match");
	if (str_eq(known, "*") || strstr(known, tag)) {
		reply_bytes(request, 304, NULL, (struct span){NULL, 0});
		return;
	}
	if (packed) {
		if (file->packed.len == 0)
			gzip_pack(file->plain.data, file->plain.len, &file->packed);
		reply_field(request, "Content-Encoding", "gzip");
		bytes = (struct span){file->packed.data, file->packed.len};
	}
	reply_bytes(request, 200, file->type, bytes);
}

void admin_web_index(struct request *request)
{
	send_file(request, find_web_file(request->worker->shared->web, "index.html"), false);
}

/* Sends the file that the address names behind this many bytes. */
static void send_named(struct request *request, const char *path, size_t skip, bool for_ever)
{
	const char *name = strlen(path) > skip ? path + skip : "";
	struct web_file *file = find_web_file(request->worker->shared->web, name);
	struct problem problem = PROBLEM_INIT;

	if (file) {
		send_file(request, file, for_ever);
		return;
	}
	problem_set(&problem, PROBLEM_NOT_FOUND, "There is no such file.");
	for (size_t i = 0; i < ARRAY_SIZE(packaged); i++)
		if (str_eq(name, packaged[i].name))
			problem_set(&problem, PROBLEM_NOT_FOUND,
				"This file is of the package %s, which was not there when "
				"postern-httpd started.",
				packaged[i].package);
	reply_problem(request, &problem);
}

void admin_web_file(struct request *request)
{
	send_named(request, request_path(request), strlen("/web/"), false);
}

void admin_web_version(struct request *request)
{
	const char *version = request->admission.param;

	send_named(request, request_path(request), strlen("/web/") + strlen(version) + 1,
		str_eq(version, request->worker->shared->web->version));
}
