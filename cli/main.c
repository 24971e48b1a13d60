/*
 * main: the command `postern`.
 *
 * Threads: one, the command's.
 */
#include "cli/cli.h"

int main(int argc, char **argv)
{
	return cli_run(argc, argv, stdout, stderr);
}
