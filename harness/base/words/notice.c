/* Sentences that were printed are remembered as text, so that the same advice of many threads is
 * one line. */
#include "harness/base/words/notice.h"

#include "harness/base/words/utf8.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NOTICES = 16, NOTICE_SIZE = 1024 }; /* a process has few; the last place is used again */

void notice_once(const char *format, ...)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char printed[NOTICES][NOTICE_SIZE];
    static int count;
    char text[NOTICE_SIZE];
    va_list values;
    int i = 0;

    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    utf8_show(text);
    pthread_mutex_lock(&lock);
    while (i < count && strcmp(printed[i], text) != 0) i++;
    if (i == count) {
        if (count < NOTICES)
            count++;
        memcpy(printed[count - 1], text, sizeof text);
        fprintf(stderr, "chokepoint: %s\n", text);
    }
    pthread_mutex_unlock(&lock);
}
