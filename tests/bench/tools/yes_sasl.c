/*
 * yes_sasl: a SASL server for Postfix that lets everybody in, in Dovecot's authentication
 * protocol: what logins cost at least.
 *
 * usage: yes_sasl PATH
 *
 * Threads: one for each process of smtpd(8).
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sysexits.h>
#include <unistd.h>

static void *serve(void *arg)
{
	FILE *in = arg, *out = fdopen(dup(fileno(in)), "w");
	char line[8192];

	if (out == NULL)
		abort();
	fputs("VERSION\t1\t2\nMECH\tPLAIN\tplaintext\nSPID\t1\nCUID\t1\n"
	      "COOKIE\t00000000000000000000000000000000\nDONE\n",
		out);
	fflush(out);
	while (fgets(line, sizeof(line), in)) {
		const char *id = line + 5;

		if (strncmp(line, "AUTH\t", 5) != 0)
			continue;
		fprintf(out, "OK\t%.*s\tuser=somebody\n", (int)strcspn(id, "\t\n"), id);
		fflush(out);
	}
	fclose(out);
	fclose(in);
	return NULL;
}

int main(int argc, char **argv)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (argc != 2)
		return EX_USAGE;
	snprintf(name.sun_path, sizeof(name.sun_path), "%s", argv[1]);
	if (bind(fd, (struct sockaddr *)&name, sizeof(name)) < 0 || listen(fd, SOMAXCONN) < 0)
		return EX_OSERR;
	for (;;) {
		int peer = accept(fd, NULL, NULL);
		FILE *file = peer < 0 ? NULL : fdopen(peer, "r");
		pthread_t thread;

		if (file == NULL || pthread_create(&thread, NULL, serve, file) != 0)
			continue;
		pthread_detach(thread);
	}
}
