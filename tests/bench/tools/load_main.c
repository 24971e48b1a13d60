/*
 * load: a client for benchmarks.
 *
 * usage: load http ADDRESS SESSIONS COUNT FILE
 *        load smtp ADDRESS SESSIONS COUNT FILE SENDER RECIPIENT|- [EACH LOGIN]
 *
 * EACH: so many messages a session; LOGIN: of AUTH PLAIN, in base64
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "tests/bench/tools/load.h"

static int usage(void)
{
	fputs("usage: load http ADDRESS SESSIONS COUNT FILE\n"
	      "       load smtp ADDRESS SESSIONS COUNT FILE SENDER "
	      "RECIPIENT|- [EACH LOGIN]\n",
		stderr);
	return EX_USAGE;
}

static int run(struct load *load, const char *path)
{
	int status = EX_OK;

	if (load->sessions == 0 || load->count == 0)
		return usage();
	if (load_read(load, path) < 0) {
		fprintf(stderr, "load: no items in %s\n", path);
		status = EX_NOINPUT;
	} else if (load_run(load) < 0) {
		fprintf(stderr, "load: %s does not answer\n", load->address);
		status = EX_UNAVAILABLE;
	}
	free(load->items);
	free(load->file);
	return status;
}

int main(int argc, char **argv)
{
	struct load_envelope envelope;
	struct load load = {.arg = &envelope};

	if (argc == 6 && strcmp(argv[1], "http") == 0)
		load.protocol = &load_http;
	else if ((argc == 8 || argc == 10) && strcmp(argv[1], "smtp") == 0)
		load.protocol = &load_smtp;
	else
		return usage();
	load.address = argv[2];
	load.sessions = strtoul(argv[3], NULL, 10);
	load.count = strtoul(argv[4], NULL, 10);
	if (argc >= 8)
		envelope = (struct load_envelope){argv[6], argv[7], argc == 10 ? argv[9] : NULL};
	if (argc == 10)
		load.each = strtoul(argv[8], NULL, 10);
	return run(&load, argv[5]);
}
