#include "harness/desk/read/nsys/nsys_reading.h"

bool nsys_is_wanted(const struct nsys_reading *reading, int process)
{
    if (process == NSYS_PROCESSES)
        return false;
    for (int i = 0; i < reading->process_count; i++)
        if (reading->processes[i].works)
            return reading->processes[process].works;
    return true;
}

/* --- Calls of CUDA --- */

enum { START, END, CLASS, THREAD, CORRELATION, NAME, CALL_COUNT };

static enum status take_call(void *context, const struct database_row *row)
{
    enum { DRIVER = 1 };
    struct nsys_reading *reading = context;
    struct trace_rows *rows = reading->rows;
    const struct database_value *values = row->values;
    int64_t global = database_integer(&values[THREAD], 0);
    int process = nsys_process(reading, global);
    struct trace_event event = { .kind = database_integer(&values[CLASS], 0) == DRIVER
                                             ? EVENT_KIND_DRIVER
                                             : EVENT_KIND_RUNTIME,
                                 .bytes = -1,
                                 .detail = NO_DETAIL };

    if (!nsys_is_wanted(reading, process)) {
        rows->file->other_count++;
        return STATUS_OK;
    }
    if (!trace_rows_have_room(rows, rows->file->event_count) ||
        !nsys_times(reading, row, &values[START], &values[END], &event))
        return STATUS_OK;
    event.correlation = nsys_correlation(process, &values[CORRELATION]);
    TRY(nsys_thread(reading, global, &event.track));
    TRY(nsys_name(&reading->names, rows, &values[NAME], NSYS_CALL, &event.name));
    return trace_rows_event(rows, &event);
}

enum status nsys_read_calls(struct nsys_reading *reading)
{
    static const char *const columns[CALL_COUNT] = { "start",     "end",           "eventClass",
                                                     "globalTid", "correlationId", "nameId" };

    return nsys_scan(reading, "CUPTI_ACTIVITY_KIND_RUNTIME", columns, CALL_COUNT, take_call,
                     reading);
}
