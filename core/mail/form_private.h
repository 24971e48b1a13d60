/*
 * form_private: between the files of form.
 */
#ifndef POSTERN_MAIL_FORM_PRIVATE_H
#define POSTERN_MAIL_FORM_PRIVATE_H

#include "core/mail/form.h"

/* A new field at the end, of this name without its trailing `[...]`; good until
 * the form grows again. NULL and ERR_INVALID when the form is full. */
struct form_field *form_add(struct form *form, const char *name, struct err *err);

#endif
