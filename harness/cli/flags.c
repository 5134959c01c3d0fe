#include "harness/cli/flags.h"

struct flags flags_default(void)
{
    return (struct flags){ .device = "auto",
                           .seed = protocol_default(false).seed,
                           .out = "chokepoint-result" };
}

struct page flags_page(const struct flags *flags)
{
    return flags->format == FORMAT_MARKDOWN ? page_markdown(stdout)
                                            : page_console(stdout, flags->color);
}

enum status flags_open_device(struct device **device, const struct flags *flags)
{
    const struct device_options options = { .memory_bytes = flags->device_memory, .spin_ns = -1 };

    return device_open(device, flags->device, &options);
}

struct protocol flags_protocol(const struct flags *flags)
{
    struct protocol protocol = protocol_default(flags->quick);

    protocol.device = flags->device;
    protocol.device_memory = flags->device_memory;
    protocol.data = flags->data;
    protocol.aa = flags->aa;
    protocol.seed = flags->seed;
    if (flags->repetitions > 0) {
        protocol.repetitions = flags->repetitions;
        protocol.extra = 0;
    }
    return protocol;
}
