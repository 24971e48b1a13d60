/*
 * mime_date: dates as mail writes them, read by GMime.
 *
 * Threads: any; holds no state.
 */
#include "core/mail/mime_date.h"

#include <gmime/gmime.h>

#include "core/mail/mime_init.h"

int mime_date_parse(const char *text, int64_t *time_us_r)
{
	GDateTime *date;

	mime_init();
	date = g_mime_utils_header_decode_date(text);
	if (date == NULL)
		return -1;
	*time_us_r = g_date_time_to_unix(date) * 1000000;
	g_date_time_unref(date);
	return 0;
}
