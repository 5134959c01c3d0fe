#include "harness/cli/flags.h"

#include "harness/base/number.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct flags flags_default(void)
{
    return (struct flags){ .device = "auto" };
}

struct page flags_page(const struct flags *flags)
{
    return flags->format == FORMAT_MARKDOWN ? page_markdown(stdout)
                                            : page_console(stdout, flags->color);
}

/* The index of `text` among `words`. */
static enum status choose(int *chosen, const char *option, const char *text,
                          const char *const words[], int count, const char *all)
{
    enum status status = STATUS_OK;

    for (int i = 0; i < count; i++) {
        if (strcmp(text, words[i]) != 0)
            continue;
        *chosen = i;
        goto out;
    }
    FAIL(STATUS_BAD_USAGE, "--%s=%s: give %s", option, text, all);

out:
    return status;
}

enum status flags_take(struct flags *flags, int key, const char *value)
{
    static const char *const formats[] = { "console", "json", "markdown" };
    static const char *const colors[] = { "auto", "always", "never" };
    enum status status = STATUS_OK;
    int64_t number;
    int chosen = 0;

    switch (key) {
    case FLAG_DEVICE:
        flags->device = value;
        break;
    case FLAG_DEVICE_MEMORY:
        TRY(number_bytes(&flags->device_memory, "device-memory", value));
        break;
    case FLAG_DATA:
        flags->data = value;
        break;
    case FLAG_SEED:
        TRY(number_unsigned(&flags->seed, "seed", value));
        flags->seed_given = true;
        break;
    case FLAG_REPETITIONS:
        TRY(number_integer(&number, "repetitions", value, 1, 1000));
        flags->repetitions = (int)number;
        break;
    case FLAG_QUICK:
        flags->quick = true;
        break;
    case FLAG_AA:
        flags->aa = true;
        break;
    case FLAG_FORMAT:
        TRY(choose(&chosen, "format", value, formats, ARRAY_SIZE(formats),
                   "console, json or markdown"));
        flags->format = (enum format)chosen;
        break;
    case FLAG_COLOR:
        TRY(choose(&chosen, "color", value, colors, ARRAY_SIZE(colors), "auto, always or never"));
        flags->color = (enum color)chosen;
        break;
    case FLAG_VERBOSE:
        /* Through the environment, so that child processes know it too. */
        setenv("CHOKEPOINT_VERBOSE", "1", 1);
        break;
    default:
        FAIL(STATUS_INTERNAL, "option %d has no meaning here; please report this", key);
    }

out:
    return status;
}

struct protocol flags_protocol(const struct flags *flags)
{
    struct protocol protocol = protocol_default(flags->quick);

    protocol.device = flags->device;
    protocol.device_memory = flags->device_memory;
    protocol.data = flags->data;
    protocol.aa = flags->aa;
    if (flags->repetitions > 0) {
        protocol.repetitions = flags->repetitions;
        protocol.extra = 0;
    }
    if (flags->seed_given)
        protocol.seed = flags->seed;
    return protocol;
}
