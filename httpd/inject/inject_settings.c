/*
 * inject_settings: whether the settings of submission name what is there.
 *
 * Threads: any; holds no state.
 */
#include "httpd/inject/inject_settings.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"

static int refuse(
	const char *setting, const char *path, const char *why, struct err *err)
{
	return err_set(
		err, ERR_CONFIG, "submission.%s: %s: %s", setting, path, why);
}

static int check_sendmail(const char *path, struct err *err)
{
	struct stat info;

	if (stat(path, &info) < 0 || access(path, X_OK) < 0)
		return refuse("sendmail", path, strerror(errno), err);
	if (!S_ISREG(info.st_mode))
		return refuse("sendmail", path, "this is no program", err);
	return 0;
}

static int check_postfix_config(const char *folder, struct err *err)
{
	_cleanup_free_ char *main_cf = mem_printf("%s/main.cf", folder);

	if (access(main_cf, R_OK) < 0)
		return refuse("postfix_config", main_cf, strerror(errno), err);
	return 0;
}

int inject_settings_check(const struct conf *conf, struct err *err)
{
	if (conf->submission.method == SUBMISSION_SENDMAIL &&
		check_sendmail(conf->submission.sendmail, err) < 0)
		return -1;
	if (str_empty(conf->submission.postfix_config))
		return 0;
	return check_postfix_config(conf->submission.postfix_config, err);
}
