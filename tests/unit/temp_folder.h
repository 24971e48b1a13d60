/*
 * temp_folder: a folder of a test, with the files that it writes there.
 */
#ifndef POSTERN_TESTS_TEMP_FOLDER_H
#define POSTERN_TESTS_TEMP_FOLDER_H

/* A new one, in $TMPDIR; its path, a new string. */
char *temp_folder_new(void);
/* Removes it with all that is in it, and frees the path. */
void temp_folder_free(char *folder);

/* Writes a file with this text. It is as old as the epoch: postconf(1) waits a second or two before
 * it reads a file that is new. */
void temp_folder_write(const char *folder, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
