/*
 * return_path: the addresses to which bounces and unsubscribe requests of an email come back.
 *
 * The envelope sender of an email whose domain has a return path is `b+TOKEN@RETURN_PATH`;
 * `u+TOKEN@RETURN_PATH` receives unsubscribe requests. A token consists of the email's id and a
 * keyed hash of the id, with the email's nonce as the key. So it cannot be forged without
 * reading the store, need not be stored, and is always the same. Letter case does not matter.
 */
#ifndef POSTERN_POLICY_RETURN_PATH_H
#define POSTERN_POLICY_RETURN_PATH_H

#include <stdbool.h>

#include "core/base/id.h"

enum { RETURN_TOKEN_SIZE = 52 + 1 }; /* 256 bits in base32 (RFC 4648), lower case */

/* The route of httpd for unsubscribe requests; the token follows. */
#define UNSUBSCRIBE_PATH "/unsubscribe/"

/* The purpose of a token. */
enum return_use {
	RETURN_BOUNCE = 'b',      /* bounces and complaints */
	RETURN_UNSUBSCRIBE = 'u', /* the recipient unsubscribes */
};

/* Makes the token of an email. False if the email has no nonce, because an earlier version has
 * staged it. */
bool return_token_make(enum return_use use, const char *id, const char *nonce,
	char token_r[static RETURN_TOKEN_SIZE]);
/* Returns the address of a token, without <>. The caller frees it. */
char *return_address(enum return_use use, const char *token, const char *return_path);

/* A token that was read but not yet verified, and the email that it claims. */
struct return_token {
	enum return_use use;
	char id[ID_SIZE];
	char text[RETURN_TOKEN_SIZE];
};
/* Finds the first token in a text, which may be an address or a list of them. */
bool return_token_find(const char *text, struct return_token *token_r);
/* Parses a token without an address, as in a URL. */
bool return_token_parse(enum return_use use, const char *text, struct return_token *token_r);
/* True if the token is that of the email with this nonce. Compares in constant time. */
bool return_token_is(const struct return_token *token, const char *nonce);

#endif
