/*
 * daemon: what the main() of each daemon begins with.
 *
 * Threads: the main one, before any other.
 */
#include "core/base/daemon.h"

#include <getopt.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sysexits.h>

#include "core/base/version.h"

static void print_usage(const struct daemon_about *about, FILE *to)
{
	fprintf(to,
		"usage: %s [-c FILE]\n"
		"\n"
		"%s\n"
		"\n"
		"  -c, --config FILE   settings (default: %s)\n"
		"  -h, --help          this text\n"
		"  -V, --version       the version\n",
		about->program, about->purpose, about->default_path);
}

static int answer(const struct daemon_about *about, int option)
{
	if (option == 'V')
		printf("%s %s\n", about->program, POSTERN_VERSION);
	else
		print_usage(about, option == 'h' ? stdout : stderr);
	return option == '?' ? EX_USAGE : EX_OK;
}

const char *daemon_arguments(
	const struct daemon_about *about, int argc, char **argv, int *status_r)
{
	static const struct option options[] = {
		{"config", required_argument, NULL, 'c'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{0},
	};
	const char *path = about->default_path;
	int option;

	while ((option = getopt_long(argc, argv, "c:hV", options, NULL)) != -1) {
		if (option != 'c') {
			*status_r = answer(about, option);
			return NULL;
		}
		path = optarg;
	}
	if (optind == argc)
		return path;
	fprintf(stderr, "%s: unexpected argument: %s\n", about->program,
		argv[optind]);
	*status_r = answer(about, '?');
	return NULL;
}

void daemon_raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}
