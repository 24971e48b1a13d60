/*
 * catch: what goes to standard error, to look at.
 */
#ifndef POSTERN_TESTS_UNIT_CATCH_H
#define POSTERN_TESTS_UNIT_CATCH_H

struct catch
{
	int file;
	int before;
};

/* From now on it goes into a file. */
struct catch catch_stderr(void);

/* Puts it back; what has come meanwhile, a new string. */
char *catch_end(const struct catch *catch);

#endif
