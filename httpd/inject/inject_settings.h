/*
 * inject_settings: whether the settings of submission name what is there.
 */
#ifndef POSTERN_HTTPD_INJECT_SETTINGS_H
#define POSTERN_HTTPD_INJECT_SETTINGS_H

#include "core/base/err.h"

struct conf;

/* Whether there are the programs and files that the settings name, and this
 * user may use them; else every email would fail. Whether Postfix runs does not
 * matter. ERR_CONFIG names the setting. For start and reload: looks at files. */
int inject_settings_check(const struct conf *conf, struct err *err);

#endif
