/*
 * daemon: the start of each daemon's main(), and its signals.
 *
 * Threads: main only. All except daemon_ready() and daemon_wait_signal() are called before other
 * threads start.
 */
#include "core/base/daemon.h"

#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/base/secret.h"
#include "core/base/version.h"

static void print_usage(const struct daemon_about *about, FILE *to)
{
	bool has_file = about->file_option != NULL;
	bool has_flag = about->flag_option != NULL;

	fprintf(to,
		"usage: %s [-c FILE]%s%s%s%s%s%s\n"
		"\n"
		"%s\n"
		"\n"
		"  -c, --config FILE   settings (default: %s)\n",
		about->program, has_file ? " [--" : "", has_file ? about->file_option : "",
		has_file ? " FILE]" : "", has_flag ? " [--" : "",
		has_flag ? about->flag_option : "", has_flag ? "]" : "", about->purpose,
		about->default_path);
	if (has_file)
		fprintf(to, "      --%s FILE     %s\n", about->file_option, about->file_help);
	if (has_flag)
		fprintf(to, "      --%-13s %s\n", about->flag_option, about->flag_help);
	fprintf(to,
		"  -h, --help          this text\n"
		"  -V, --version       the version\n");
}

/* Returns the path of the settings; NULL, with the exit status, if the program is not to start. */
static const char *read_arguments(const struct daemon_about *about, int argc, char **argv,
	struct daemon_given *given_r, int *status_r)
{
	struct option options[6] = {
		{"config", required_argument, NULL, 'c'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
	};
	int n = 3;
	const char *path = about->default_path;
	int option;

	if (about->file_option)
		options[n++] = (struct option){about->file_option, required_argument, NULL, 'f'};
	if (about->flag_option)
		options[n++] = (struct option){about->flag_option, no_argument, NULL, 'g'};
	while ((option = getopt_long(argc, argv, "c:hV", options, NULL)) != -1) {
		if (option == 'f') {
			given_r->file = optarg;
		} else if (option == 'g') {
			given_r->flag = true;
		} else if (option == 'c') {
			path = optarg;
		} else if (option == 'V') {
			printf("%s %s\n", about->program, POSTERN_VERSION);
			*status_r = EX_OK;
			return NULL;
		} else {
			print_usage(about, option == 'h' ? stdout : stderr);
			*status_r = option == 'h' ? EX_OK : EX_USAGE;
			return NULL;
		}
	}
	if (optind == argc)
		return path;
	fprintf(stderr, "%s: unexpected argument: %s\n", about->program, argv[optind]);
	print_usage(about, stderr);
	*status_r = EX_USAGE;
	return NULL;
}

const char *daemon_begin(const struct daemon_about *about, int argc, char **argv,
	struct daemon_given *given_r, int *status_r)
{
	const char *path;

	daemon_block_signals();
	path = read_arguments(about, argc, argv, given_r, status_r);
	if (path && secret_init() < 0) {
		fprintf(stderr, "%s: cannot initialize\n", about->program);
		*status_r = EX_OSERR;
		return NULL;
	}
	return path;
}

void daemon_raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static sigset_t signal_set(bool with_reload)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	if (with_reload)
		sigaddset(&set, SIGHUP);
	return set;
}

void daemon_block_signals(void)
{
	static const int ignored[] = {SIGALRM, SIGIO, SIGPIPE, SIGPROF, SIGPWR, SIGQUIT, SIGSTKFLT,
		SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU, SIGXFSZ};
	const sigset_t awaited = signal_set(true);

	pthread_sigmask(SIG_BLOCK, &awaited, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
		signal(number, SIG_IGN);
}

void daemon_ready(void)
{
	static const char ready[] = "READY=1";
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *path = getenv("NOTIFY_SOCKET");
	size_t len = path ? strlen(path) : 0;
	int fd;

	if (len == 0 || len > sizeof(address.sun_path))
		return;
	memcpy(address.sun_path, path, len);
	if (*path == '@') /* of the abstract name space */
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	/* If it is lost, the service manager says so after its time limit. */
	(void)sendto(fd, ready, strlen(ready), MSG_NOSIGNAL, (struct sockaddr *)&address,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
	close(fd);
}

/* sigtimedwait() returns the lowest pending number, which is SIGHUP. By itself it would never
 * return the others while SIGHUPs keep coming. */
int daemon_wait_signal(int wait_ms)
{
	const struct timespec now = {0};
	const struct timespec wait = {
		.tv_sec = wait_ms / 1000,
		.tv_nsec = (long)(wait_ms % 1000) * 1000 * 1000,
	};
	const sigset_t ends = signal_set(false), all = signal_set(true);
	int number = sigtimedwait(&ends, NULL, &now);

	if (number < 0)
		number = sigtimedwait(&all, NULL, &wait);
	return number < 0 ? 0 : number;
}
