/*
 * mime_init: makes GMime ready, once for the process.
 *
 * GMime stays ready until the process ends: it keeps tables that other threads
 * may be reading. Threads: any.
 */
#include "core/mime/mime_init.h"

#include <gmime/gmime.h>
#include <pthread.h>

/* Makes the classes that several threads read here, where pthread_once() orders
 * it before every use: ThreadSanitizer does not see the locks of GLib. */
static void init(void)
{
	g_mime_init();
	g_type_class_ref(INTERNET_ADDRESS_TYPE_MAILBOX);
	g_type_class_ref(INTERNET_ADDRESS_TYPE_GROUP);
}

void mime_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, init);
}
