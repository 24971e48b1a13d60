/*
 * send_private: the stages of send.c that stand in files of their own.
 */
#ifndef POSTERN_HTTPD_SEND_PRIVATE_H
#define POSTERN_HTTPD_SEND_PRIVATE_H

#include "core/store/store_email.h"
#include "httpd/send/outgoing.h"
#include "httpd/http/problem.h"

struct request;
struct worker;

/* May the request's key send as this domain? 0, or -1 with the problem. */
int send_decide(struct request *request, const char *from_domain,
	struct problem *problem);

/* What goes to Postfix and to the store. Starts zeroed. */
struct composed {
	struct email row;
	struct strv recipients; /* of the envelope, each once */
	struct buf message;
};

/* Makes both from the email, whose message id and date it sets. */
int send_compose(struct request *request, struct outgoing *outgoing,
	struct composed *composed_r, struct problem *problem);
void send_composed_clear(struct composed *composed);

#endif
