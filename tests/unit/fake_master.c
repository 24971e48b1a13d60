/* fake_master: Postfix's master, as far as it can be seen from outside. */
#include "tests/unit/fake_master.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "tests/unit/temp_folder.h"

struct fake_master *fake_master_new(void)
{
	struct fake_master *master = mem_new(struct fake_master);

	master->queue = temp_folder_new();
	master->pid = mem_printf("%s/pid", master->queue);
	master->file = mem_printf("%s/master.pid", master->pid);
	master->public = mem_printf("%s/public", master->queue);
	master->socket = mem_printf("%s/cleanup", master->public);
	assert_int_equal(mkdir(master->pid, 0700), 0);
	assert_int_equal(mkdir(master->public, 0700), 0);
	master->fd = -1;
	return master;
}

void fake_master_free(struct fake_master *master)
{
	if (master->fd >= 0)
		fake_master_stop(master);
	temp_folder_free(master->queue);
	free(master->pid);
	free(master->file);
	free(master->public);
	free(master->socket);
	free(master);
}

/* The time of the file is that of a fine clock: the system's own may be the
 * same for two starts within some milliseconds. */
static void write_pid_file(const char *path)
{
	int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	struct timespec now[2];

	assert_true(fd >= 0);
	assert_int_equal(clock_gettime(CLOCK_REALTIME, &now[0]), 0);
	now[1] = now[0];
	assert_true(dprintf(fd, "%d\n", (int)getpid()) > 0);
	assert_int_equal(futimens(fd, now), 0);
	close(fd);
}

void fake_master_start(struct fake_master *master)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	write_pid_file(master->file);
	strcpy(address.sun_path, master->socket);
	unlink(master->socket);
	master->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(master->fd >= 0);
	assert_int_equal(bind(master->fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(master->fd, 1), 0);
}

void fake_master_stop(struct fake_master *master)
{
	close(master->fd);
	master->fd = -1;
}
