#include "harness/desk/trace/trace_file.h"

#include "harness/base/words/intern.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void trace_file_close(struct trace_file *trace)
{
    if (trace == NULL)
        return;
    for (int64_t i = 0; i < trace->metadata_count; i++) {
        free(trace->metadata[i].key);
        free(trace->metadata[i].json);
    }
    free(trace->metadata);
    free(trace->events);
    free(trace->tracks);
    free(trace->kernels);
    free(trace->blocks);
    free(trace->operators);
    free(trace->frames);
    free(trace->steps);
    intern_close(trace->names);
    free(trace);
}

const char *trace_file_name(const struct trace_file *trace, uint32_t name)
{
    return intern_text(trace->names, name);
}

uint32_t trace_file_name_count(const struct trace_file *trace)
{
    return intern_count(trace->names);
}

const char *trace_file_metadata(const struct trace_file *trace, const char *key)
{
    for (int64_t i = trace->metadata_count; i-- > 0;)
        if (strcmp(trace->metadata[i].key, key) == 0)
            return trace->metadata[i].json;
    return NULL;
}

const struct event_device *trace_file_device(const struct trace_file *trace, int64_t id)
{
    for (int i = 0; i < trace->device_count; i++)
        if (trace->devices[i].id == id)
            return &trace->devices[i];
    return NULL;
}

double trace_file_overhead(const struct trace_file *trace)
{
    return trace->cost.step_ns > 0 ? trace->cost.traced_step_ns / trace->cost.step_ns - 1 : NAN;
}

bool trace_event_is_device_work(const struct trace_event *event)
{
    return event->kind == EVENT_KIND_KERNEL || event->kind == EVENT_KIND_MEMCPY ||
           event->kind == EVENT_KIND_MEMSET;
}

bool trace_event_is_call(const struct trace_event *event)
{
    return event->kind == EVENT_KIND_RUNTIME || event->kind == EVENT_KIND_DRIVER;
}
