/* Reads numbers and ranges from left to right; anything else makes the whole list void. */
#include "harness/lab/doctor/host/host.h"

#include <ctype.h>
#include <stdlib.h>

static bool take_number(const char **text, unsigned long *number)
{
    char *end;

    if (!isdigit((unsigned char)**text))
        return false;
    *number = strtoul(*text, &end, 10);
    *text = end;
    return *number < CPU_SETSIZE;
}

bool cpu_list_parse(const char *list, cpu_set_t *set)
{
    bool more = true;

    CPU_ZERO(set);
    while (more) {
        unsigned long from, to;
        bool fine = take_number(&list, &from);
        to = from;
        if (fine && *list == '-') {
            list++;
            fine = take_number(&list, &to);
        }
        if (!fine || (*list != ',' && *list != '\0')) {
            CPU_ZERO(set);
            return false;
        }
        for (unsigned long i = from; i <= to; i++) CPU_SET(i, set);
        more = *list == ',';
        list += more;
    }
    return true;
}
