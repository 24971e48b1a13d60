/*
 * return_path: the addresses by which what became of an email comes back.
 *
 * The envelope sender of an email whose domain has a return path is
 * `b+TOKEN@` that return path, and `u+TOKEN@` takes unsubscribes. A token has the
 * id of the email and a number that is computed from the id with the email's nonce as
 * the key: who does not know the store cannot make one, and nothing has to be stored
 * for it. It is the same whenever it is made. Its letters may be of any case.
 */
#ifndef POSTERN_POLICY_RETURN_PATH_H
#define POSTERN_POLICY_RETURN_PATH_H

#include <stdbool.h>

#include "core/base/id.h"

enum { RETURN_TOKEN_SIZE = 52 + 1 }; /* 256 bits in base32 (RFC 4648), lower case */

/* Where httpd takes unsubscribes; behind it comes the token. */
#define UNSUBSCRIBE_PATH "/unsubscribe/"

/* What a token is good for. */
enum return_use {
	RETURN_BOUNCE = 'b',      /* bounces and complaints */
	RETURN_UNSUBSCRIBE = 'u', /* its recipient wants no more */
};

/* The token of the email, new text each time; false when the email has no nonce, since
 * it is of an earlier version. */
bool return_token_make(enum return_use use, const char *id, const char *nonce,
	char token_r[static RETURN_TOKEN_SIZE]);
/* The address of a token, without <>; a new string. */
char *return_address(enum return_use use, const char *token, const char *return_path);

/* A token that was read, and whose it would be. */
struct return_token {
	enum return_use use;
	char id[ID_SIZE];
	char text[RETURN_TOKEN_SIZE];
};
/* The first token in the text, which may be an address or a list of them. */
bool return_token_find(const char *text, struct return_token *token_r);
/* A token alone, as a route has it. */
bool return_token_parse(enum return_use use, const char *text, struct return_token *token_r);
/* Whether it is that of the email with this nonce. */
bool return_token_is(const struct return_token *token, const char *nonce);

#endif
