/*
 * form_cid: the content ids of inline files, and the html that speaks of them.
 *
 * The form dialect names an inline file by its file name, `cid:NAME`. A name
 * with blanks or other characters than ASCII cannot be a Content-ID, and mail
 * programs differ in how they read an escaped one (RFC 2392). So such a file
 * gets an id that all read alike, and the html, which is not seen, speaks of
 * that.
 */
#ifndef POSTERN_HTTPD_FORM_CID_H
#define POSTERN_HTTPD_FORM_CID_H

struct mime_message;

/* Each inline file has its file name for a content id; those that cannot be one
 * are replaced, there and in the html: as `cid:NAME`, plain or with
 * percent-encoding. */
void form_cid_apply(struct mime_message *message);

#endif
