/*
 * arrival: the begin of a request.
 */
#ifndef POSTERN_HTTPD_ARRIVAL_H
#define POSTERN_HTTPD_ARRIVAL_H

struct evhttp_request;

/* For evhttp_set_gencb(): a request that has arrived whole; arg is the worker.
 * It goes to the handler of its route, or is answered with its problem. */
void arrival_on_request(struct evhttp_request *http, void *arg);

#endif
