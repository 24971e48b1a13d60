/*
 * migrate_private: the migrations of migrate.h on any list of them, for tests.
 */
#ifndef POSTERN_DB_MIGRATE_PRIVATE_H
#define POSTERN_DB_MIGRATE_PRIVATE_H

#include "core/db/migrate.h"

struct migrate_list {
	const struct migration *items;
	int n;
};

/* As migrate_run() and migrate_check(). */
int migrate_run_list(struct db *db, const struct migrate_list *list,
	int64_t now_us, int *applied_r, struct err *err);
int migrate_check_list(
	struct db *db, const struct migrate_list *list, struct err *err);

#endif
