/* fake_master: Postfix's master, as far as it can be seen from outside. */
#include "tests/unit/fake_master.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/mem.h"

struct fake_master *fake_master_new(void)
{
	struct fake_master *master = mem_new(struct fake_master);

	strcpy(master->queue, "/tmp/postern-unit.XXXXXX");
	assert_non_null(mkdtemp(master->queue));
	master->pid = mem_printf("%s/pid", master->queue);
	master->file = mem_printf("%s/master.pid", master->pid);
	assert_int_equal(mkdir(master->pid, 0700), 0);
	close(open(master->file, O_CREAT | O_RDWR | O_CLOEXEC, 0600));
	master->fd = -1;
	return master;
}

void fake_master_free(struct fake_master *master)
{
	if (master->fd >= 0)
		fake_master_stop(master);
	unlink(master->file);
	rmdir(master->pid);
	assert_int_equal(rmdir(master->queue), 0);
	free(master->pid);
	free(master->file);
	free(master);
}

void fake_master_start(struct fake_master *master)
{
	master->fd = open(master->file, O_RDWR | O_CLOEXEC);
	assert_true(master->fd >= 0);
	assert_int_equal(flock(master->fd, LOCK_EX), 0);
	assert_int_equal(prctl(PR_SET_NAME, "master"), 0);
}

void fake_master_stop(struct fake_master *master)
{
	close(master->fd);
	master->fd = -1;
	assert_int_equal(prctl(PR_SET_NAME, "other"), 0);
}
