/* Chrome's JSON, as PyTorch's profiler (Kineto) and our own recorder write it.
 *
 * The splitter cuts a window of text into events, the parser turns each event into fields, and the
 * fields become rows (kineto_events.h). Only one window and one event are in memory at a time, so a
 * file of any size can be read. Two threads read two windows at once. Some writers put NaN or
 * Infinity among the arguments; such an event loses only those. */
#include "harness/base/system/machine.h"
#include "harness/base/system/thread.h"
#include "harness/desk/read/input/read_ahead.h"
#include "harness/desk/read/input/trace_format.h"
#include "harness/desk/read/kineto/event_splitter.h"
#include "harness/desk/read/kineto/json_scan.h"
#include "harness/desk/read/kineto/kineto_events.h"

#include <string.h>

enum { METADATA_MAX = 4096 };

_Static_assert((int)READ_AHEAD_PADDING >= (int)SPLITTER_PADDING,
               "the splitter reads beyond a window");

struct kineto_reader {
    struct trace_rows *rows;
    struct event_parser *parser;
    struct splitter splitter;
    struct kineto_events events;
};

/* --- Events --- */

/* The splitter calls this first for each event. */
static enum status on_whole_event(void *context, const char *bytes, size_t most, int64_t offset,
                                  const char **end)
{
    struct kineto_reader *reader = context;
    struct event_fields fields;

    *end = NULL;
    return event_parse(reader->parser, bytes, most, &fields, end) == NULL
               ? kineto_events_add(&reader->events, &fields, offset)
               : STATUS_OK;
}

/* And this for those that were none then. A broken event is counted and left out: one of them must
 * not cost the reader the rest of the trace. */
static enum status on_event(void *context, const char *bytes, size_t length, int64_t offset,
                            const char *reason)
{
    struct kineto_reader *reader = context;
    struct event_fields fields;
    const char *end;

    if (bytes != NULL)
        reason = event_parse(reader->parser, bytes, length, &fields, &end);
    if (reason == NULL)
        return kineto_events_add(&reader->events, &fields, offset);
    trace_rows_bad(reader->rows, offset, reason);
    return STATUS_OK;
}

/* --- Metadata --- */

/* Reads our own member "chokepoint". */
static void take_ours(struct kineto_reader *reader, const char *bytes, size_t length)
{
    struct trace_cost *cost = &reader->rows->file->cost;
    struct trace_ceilings *ceilings = &reader->rows->file->ceilings;
    struct hardware_counters *counters = &reader->rows->file->counters;
    struct event_parser *parser = reader->parser;
    double step_us = 0, traced_us = 0;

    event_parse_member(parser, bytes, length, "steps", &cost->steps);
    event_parse_member(parser, bytes, length, "windows", &cost->windows);
    event_parse_fraction(parser, bytes, length, "step_time_us", &step_us);
    event_parse_fraction(parser, bytes, length, "traced_step_time_us", &traced_us);
    event_parse_fraction(parser, bytes, length, "loading_share", &cost->loading_share);
    event_parse_fraction(parser, bytes, length, "traced_loading_share",
                         &cost->traced_loading_share);
    event_parse_fraction(parser, bytes, length, "mean_loading_share", &cost->mean_loading_share);
    event_parse_fraction(parser, bytes, length, "loader_reads_share", &cost->loader_reads_share);
    event_parse_fraction(parser, bytes, length, "loader_computes_share",
                         &cost->loader_computes_share);
    event_parse_fraction(parser, bytes, length, "core_wait_share", &cost->core_wait_share);
    event_parse_fraction(parser, bytes, length, "got_core_share", &cost->got_core_share);
    event_parse_fraction(parser, bytes, length, "involuntary_switches",
                         &cost->involuntary_switches);
    event_parse_fraction(parser, bytes, length, "wanted_cores", &cost->wanted_cores);
    event_parse_fraction(parser, bytes, length, "cores", &cost->cores);
    event_parse_fraction(parser, bytes, length, "tracing_spread", &cost->spread);
    event_parse_fraction(parser, bytes, length, "other_programs_cores", &cost->other_cores);
    event_parse_fraction(parser, bytes, length, "peak_flops_per_second",
                         &ceilings->flops_per_second);
    event_parse_fraction(parser, bytes, length, "copy_bytes_per_second",
                         &ceilings->bytes_per_second);
#define COUNTER(member, text, metric)                                                              \
    event_parse_fraction(parser, bytes, length, #member, &counters->member);
    HARDWARE_COUNTERS(COUNTER)
#undef COUNTER
    if (step_us > 0 && traced_us > 0) {
        cost->step_ns = 1000 * step_us;
        cost->traced_step_ns = 1000 * traced_us;
    }
}

static enum status on_metadata(void *context, const char *key, const char *bytes, size_t length)
{
    struct kineto_reader *reader = context;
    struct trace_file *file = reader->rows->file;

    while (length > 0 && strchr(" \t\r\n", bytes[length - 1]) != NULL) length--;
    if (file->metadata_count == METADATA_MAX)
        return STATUS_OK;
    TRY(trace_rows_metadata(reader->rows, key, bytes, length));
    if (strcmp(key, "deviceProperties") == 0)
        file->device_count =
            event_parse_devices(reader->parser, bytes, length, file->devices, TRACE_FILE_DEVICES);
    else if (strcmp(key, "baseTimeNanoseconds") == 0)
        decimal_integer(bytes, length, &file->base_ns);
    else if (strcmp(key, "distributedInfo") == 0) {
        event_parse_member(reader->parser, bytes, length, "rank", &file->rank);
        event_parse_member(reader->parser, bytes, length, "world_size", &file->world_size);
    } else if (strcmp(key, "droppedRecords") == 0)
        decimal_integer(bytes, length, &file->dropped_count);
    else if (strcmp(key, "chokepoint") == 0)
        take_ours(reader, bytes, length);

    return STATUS_OK;
}

/* --- The file --- */

/* Decides, at the end of the text, whether it was a whole trace, a partial one (which is worth
 * reading all the same), or not a trace at all. */
static enum status judge_file(struct kineto_reader *reader, const char *path, const char *damage)
{
    struct trace_rows *rows = reader->rows;
    const struct splitter *splitter = &reader->splitter;
    long long bytes = (long long)splitter->offset;

    rows->file->text_bytes = splitter->offset;
    if (splitter->place == SPLITTER_BEFORE)
        FAIL(STATUS_BAD_INPUT, "%s is not a trace: %s", path,
             damage != NULL ? damage : "there is no text in it");
    if (!splitter->events_seen)
        FAIL(STATUS_BAD_INPUT,
             "%s is not a trace: it ends at byte %lld without \"traceEvents\"%s%s", path, bytes,
             damage != NULL ? "; " : "", damage != NULL ? damage : "");
    if (splitter->strays > 0)
        trace_rows_bad(rows, splitter->stray_at, "it is not an object");
    if (damage != NULL)
        trace_rows_partial(rows, "%s", damage);
    else if (splitter->place != SPLITTER_AFTER && !rows->full)
        trace_rows_partial(rows, "it ends at byte %lld, before its last bracket", bytes);

    return STATUS_OK;
}

static bool kineto_recognises(const char *bytes, size_t count)
{
    size_t at = 0;

    while (at < count && json_is_blank(bytes[at])) at++;
    return at < count && (bytes[at] == '{' || bytes[at] == '[');
}

/* False: no memory. Close in every case. */
static bool open_reader(struct kineto_reader *reader, struct trace_rows *rows)
{
    *reader =
        (struct kineto_reader){ .rows = rows, .parser = event_parser_open(), .events.rows = rows };
    splitter_init(&reader->splitter,
                  (struct splitter_sink){ on_whole_event, on_event, on_metadata, reader });
    return reader->parser != NULL;
}

static void close_reader(struct kineto_reader *reader)
{
    splitter_release(&reader->splitter);
    kineto_events_release(&reader->events);
    event_parser_close(reader->parser);
}

/* --- Two windows at once --- */

enum { MISSES_MAX = 3 /* then one thread reads the rest */ };

/* Another thread reads the window behind that of the first reader, from where an event seems to
 * begin, into rows of its own. These are joined to the others if the first reader comes to that
 * place between two events. If it does not, or if the rows cannot be joined, that is a miss: the
 * first reader goes through that window as well. */
struct next_window {
    struct worker *worker; /* NULL: not open */
    struct kineto_reader reader;
    struct trace_rows rows;
    struct joined_numbers numbers;
    int misses;
    struct read_ahead *text;
    int64_t number; /* the window's */
    int64_t offset; /* of its first byte */
    const char *bytes;
    size_t count;
    size_t from; /* where the first event begins; `count`: nowhere */
    struct status_error error;
    bool is_read; /* else it was not split into events */
};

static void close_next(struct next_window *next)
{
    worker_close(next->worker);
    close_reader(&next->reader);
    trace_rows_release(&next->rows);
    joined_numbers_release(&next->numbers);
    next->worker = NULL;
}

static bool open_next(struct next_window *next, int64_t rows_max)
{
    if (open_reader(&next->reader, &next->rows) &&
        trace_rows_open(&next->rows, rows_max) == STATUS_OK)
        next->worker = worker_open("next window");
    if (next->worker != NULL)
        return true;
    close_next(next);
    next->misses = MISSES_MAX;
    return false;
}

static bool has_next(struct next_window *next, const struct kineto_reader *reader)
{
    if (!splitter_is_among_events(&reader->splitter) || next->misses == MISSES_MAX)
        return false;
    return next->worker != NULL || open_next(next, reader->rows->rows_max);
}

static void read_next(void *context)
{
    struct next_window *next = context;
    struct splitter *splitter = &next->reader.splitter;

    next->is_read = false;
    next->error.status = STATUS_OK;
    if (read_ahead_window(next->text, next->number, &next->bytes, &next->count) != STATUS_OK) {
        next->error = *status_last();
        return;
    }
    next->from = splitter_guess(next->bytes, 0, next->count);
    splitter->offset = next->offset + (int64_t)next->from;
    next->is_read =
        splitter_feed(splitter, next->bytes + next->from, next->count - next->from) == STATUS_OK;
}

static void begin_next(struct next_window *next, const struct kineto_reader *reader,
                       struct read_ahead *text, int64_t number)
{
    next->text = text;
    next->number = number;
    next->offset = reader->splitter.offset + (int64_t)read_ahead_bytes(number - 1);
    next->rows.has_calls = reader->rows->has_calls;
    splitter_init_at(&next->reader.splitter, &reader->splitter, next->offset);
    worker_begin(next->worker, read_next, next);
}

static enum status join_next(struct next_window *next, struct kineto_reader *reader, bool *joined)
{
    *joined = next->is_read && splitter_is_among_events(&next->reader.splitter) &&
              !event_parser_lacks_memory(next->reader.parser);
    if (*joined)
        TRY(kineto_events_join(&reader->events, &next->reader.events, &next->numbers, joined));
    if (*joined)
        splitter_join(&reader->splitter, &next->reader.splitter);

    return STATUS_OK;
}

/* The first reader has come to the window that the thread has read. */
static enum status take_next(struct next_window *next, struct kineto_reader *reader)
{
    bool joined = false;
    size_t reached;

    if (next->error.status != STATUS_OK)
        return status_raise(&next->error);
    TRY(splitter_feed_until(&reader->splitter, next->bytes, next->count, next->from, &reached));
    if (next->from == next->count)
        return STATUS_OK;
    if (reached == next->from)
        TRY(join_next(next, reader, &joined));
    if (!joined) {
        next->misses++;
        close_next(next);
        TRY(splitter_feed(&reader->splitter, next->bytes + reached, next->count - reached));
    }

    return STATUS_OK;
}

static enum status read_window(struct kineto_reader *reader, struct read_ahead *text,
                               int64_t number, size_t *count)
{
    const char *bytes;

    TRY(read_ahead_window(text, number, &bytes, count));
    return splitter_feed(&reader->splitter, bytes, *count);
}

/* Reads window *number, or two, and sets *number to the next one. *is_end: there is none. */
static enum status read_some(struct kineto_reader *reader, struct next_window *next,
                             struct read_ahead *text, int64_t *number, bool *is_end)
{
    bool has = has_next(next, reader);
    enum status status;
    size_t count = 0;

    if (has)
        begin_next(next, reader, text, *number + 1);
    status = read_window(reader, text, (*number)++, &count);
    if (has)
        worker_wait(next->worker);
    TRY(status);
    *is_end = count < read_ahead_bytes(*number - 1);
    if (has && !*is_end) {
        *is_end = next->count < read_ahead_bytes(*number);
        TRY(take_next(next, reader));
        ++*number;
    }

    return STATUS_OK;
}

static enum status kineto_read(struct trace_rows *rows, struct read_ahead *text, const char *path)
{
    enum status status = STATUS_OK;
    struct kineto_reader reader;
    struct next_window next = { .misses = machine_cores() > 1 ? 0 : MISSES_MAX };
    int64_t number = 0;
    bool is_end = false;

    if (!open_reader(&reader, rows))
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no memory to read %s", path);
    while (!is_end) TRY_OUT(read_some(&reader, &next, text, &number, &is_end));
    if (event_parser_lacks_memory(reader.parser))
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no memory for the texts of %s", path);
    kineto_events_settle(&reader.events);
    TRY_OUT(judge_file(&reader, path, read_ahead_damage(text)));

out:
    if (next.worker != NULL)
        close_next(&next);
    close_reader(&reader);
    return status;
}

const struct trace_format kineto_format = {
    .endings = { ".json", ".json.gz" },
    .recognises = kineto_recognises,
    .read = kineto_read,
};
