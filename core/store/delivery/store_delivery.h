/*
 * store_delivery: the rows of an email's delivery tree.
 */
#ifndef POSTERN_STORE_STORE_DELIVERY_H
#define POSTERN_STORE_STORE_DELIVERY_H

#include "core/db/db.h"
#include "core/store/delivery/delivery_tree.h"

/* Reads the messages and deliveries of an email into an empty tree. Returns 0 or -1. */
int store_delivery_read(struct db *db, int64_t email, struct delivery_tree *tree, struct err *err);
/* Stores the deliveries that have changed. Returns 0 or -1. */
int store_delivery_write(struct db *db, int64_t email, struct delivery_tree *tree, struct err *err);

#endif
