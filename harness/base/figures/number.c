/* Numbers as users type them: all of the text must be the number, and what is refused is told the
 * range. */
#include "harness/base/figures/number.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum status number_integer(int64_t *number, const char *option, const char *text, int64_t least,
                           int64_t most)
{
    char *end;

    errno = 0;
    *number = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || *number < least || *number > most) {
        if (most == INT64_MAX)
            FAIL(STATUS_BAD_USAGE, "--%s=%s: give a whole number, %" PRId64 " or more", option,
                 text, least);
        FAIL(STATUS_BAD_USAGE, "--%s=%s: give a whole number from %" PRId64 " to %" PRId64, option,
             text, least, most);
    }

    return STATUS_OK;
}

enum status number_unsigned(uint64_t *number, const char *option, const char *text)
{
    char *end;

    errno = 0;
    *number = strtoull(text, &end, 10);
    if (errno != 0 || !isdigit((unsigned char)text[0]) || *end != '\0')
        FAIL(STATUS_BAD_USAGE, "--%s=%s: give a whole number from 0 to %" PRIu64, option, text,
             UINT64_MAX);

    return STATUS_OK;
}

bool number_read_bytes(const char *text, int64_t *bytes)
{
    static const struct {
        const char *suffix;
        int shift;
    } units[] = { { "", 0 },     { "B", 0 },   { "K", 10 },   { "KB", 10 }, { "KiB", 10 },
                  { "M", 20 },   { "MB", 20 }, { "MiB", 20 }, { "G", 30 },  { "GB", 30 },
                  { "GiB", 30 }, { "T", 40 },  { "TB", 40 },  { "TiB", 40 } };
    size_t length = strspn(text, "0123456789.");
    char *end;
    long double value = strtold(text, &end); /* whose 64 bits hold every int64_t */

    if (!isdigit((unsigned char)text[0]) || end != text + length)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
        long double scaled = value * (long double)((int64_t)1 << units[i].shift);
        if (strcasecmp(end, units[i].suffix) != 0 || !(scaled >= 1 && scaled < 0x1p63L))
            continue;
        *bytes = (int64_t)scaled;
        return true;
    }
    return false;
}

enum status number_bytes(int64_t *bytes, const char *option, const char *text)
{
    if (!number_read_bytes(text, bytes))
        FAIL(STATUS_BAD_USAGE, "--%s=%s: give bytes above 0, as in 512MiB or 2G", option, text);

    return STATUS_OK;
}

enum status number_seconds(double *seconds, const char *option, const char *text, double most)
{
    char *end;

    errno = 0;
    *seconds = strtod(text, &end);
    if (errno != 0 || end == text || *end != '\0' || !(*seconds > 0 && *seconds <= most))
        FAIL(STATUS_BAD_USAGE, "--%s=%s: give seconds above 0, at most %g", option, text, most);

    return STATUS_OK;
}

enum status number_duration(double *seconds, const char *option, const char *text, double most)
{
    static const struct {
        const char *suffix;
        double seconds;
    } units[] = { { "s", 1 }, { "m", 60 }, { "h", 3600 } };
    char *end;
    double value = strtod(text, &end);

    *seconds = 0;
    for (size_t i = 0; isdigit((unsigned char)text[0]) && i < ARRAY_SIZE(units); i++)
        if (strcmp(end, units[i].suffix) == 0)
            *seconds = value * units[i].seconds;
    if (!(*seconds > 0 && *seconds <= most))
        FAIL(STATUS_BAD_USAGE, "--%s=%s: give a duration, as in 90s, 10m or 1h, at most %gh",
             option, text, most / 3600);

    return STATUS_OK;
}
