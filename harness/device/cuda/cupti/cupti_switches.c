/* Each row of the table sets one member, by where that is in the struct. */
#include "harness/device/cuda/cupti/cupti_collector.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

const struct cupti_switches cupti_switches_otherwise = {
#define OTHERWISE(name, otherwise, most) .name = (otherwise),
    CUPTI_SWITCHES(OTHERWISE)
#undef OTHERWISE
};

static const struct {
    const char *name;
    size_t offset;
    int most;
} rows[] = {
#define ROW(name, otherwise, most) { #name, offsetof(struct cupti_switches, name), most },
    CUPTI_SWITCHES(ROW)
#undef ROW
};

/* Sets what "name=value" says; false: there is no such name or value. `end` is after it. */
static bool set_one(struct cupti_switches *switches, const char *text, const char **end)
{
    size_t length = strcspn(text, "=");
    char *after = (char *)text;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        long value;
        if (text[length] == '\0' || strlen(rows[i].name) != length ||
            strncmp(rows[i].name, text, length) != 0)
            continue;
        value = strtol(text + length + 1, &after, 10);
        *(int *)(void *)((char *)switches + rows[i].offset) = (int)value;
        *end = after;
        return after > text + length + 1 && value >= 0 && value <= rows[i].most;
    }
    return false;
}

enum status cupti_switches_read(struct cupti_switches *switches, const char *text)
{
    const char *at = text != NULL ? text : "";

    *switches = cupti_switches_otherwise;
    while (*at != '\0') {
        if (!set_one(switches, at, &at) || (*at != ',' && *at != '\0'))
            FAIL(STATUS_BAD_USAGE,
                 "CHOKEPOINT_CUPTI=\"%s\" is no list of driver=0, nodes=0, buffers=N up to 256, "
                 "device_buffers=N up to 64 and counters=1",
                 text);
        at += *at == ',';
    }

    return STATUS_OK;
}
