/*
 * cmd: the verbs, one file for each noun. Each row says what its verb takes,
 * does and shows.
 */
#ifndef POSTERN_CLI_CMD_H
#define POSTERN_CLI_CMD_H

#include "cli/verb.h"

extern const struct verb cmd_company_add;
extern const struct verb cmd_company_list;
extern const struct verb cmd_company_remove;

extern const struct verb cmd_domain_add;
extern const struct verb cmd_domain_activate;
extern const struct verb cmd_domain_deactivate;
extern const struct verb cmd_domain_set;
extern const struct verb cmd_domain_list;
extern const struct verb cmd_domain_remove;

extern const struct verb cmd_exempt_add;
extern const struct verb cmd_exempt_list;
extern const struct verb cmd_exempt_remove;
extern const struct verb cmd_exempt_suggest;

extern const struct verb cmd_key_create;
extern const struct verb cmd_key_list;
extern const struct verb cmd_key_revoke;

extern const struct verb cmd_email_show;
extern const struct verb cmd_email_list;
extern const struct verb cmd_email_refused;

extern const struct verb cmd_db_migrate;
extern const struct verb cmd_db_check;
extern const struct verb cmd_db_backup;

extern const struct verb cmd_config;

#endif
