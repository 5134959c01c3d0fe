/* The digest of a trace: all that a diagnosis says of it but for its tables, and what lies beside
 * other ranks, in a line of JSON. A file has a line per trace, in gzip; files that are joined end
 * to end are a file of digests.
 *
 * A digest is read as a trace without events (trace_file.digest). Its findings were made where the
 * trace lies, and are shown as they are; only rules that look at other ranks (asks_ranks) are asked
 * again, from the numbers that it has. Its tables of kernels, operators, memory and gaps are empty,
 * and nothing can be replayed. */
#pragma once

#include "harness/desk/diagnosis/digest/rank_record.h"
#include "harness/desk/diagnosis/rules/rules.h"

enum {
    DIGEST_SCHEMA = 2,
    DIGEST_BYTES = 32 << 10, /* of a line in gzip, at most */
};

/* The line of a trace. All that it points to must live longer. */
struct digest {
    struct trace_file *trace;
    struct summary *summary;
    struct facts *facts;       /* of the trace alone; its numbers only */
    struct findings *findings; /* of these facts (findings_judged()) */
    struct rank_record record;
};

/* *line ends in a line feed; the caller frees it. OUT_OF_MEMORY. */
enum status digest_write(char **line, const struct digest *digest);

/* The numbers of the file itself: rank, world, what is missing. BAD_INPUT: it is no digest of this
 * schema, or damaged. */
enum status digest_take_head(struct trace_file *trace);

/* The summary, in the memory of `arena`, with facts and findings in its member `digest`; or the
 * head and the record. `trace` must live longer. BAD_INPUT, OUT_OF_MEMORY. Not within
 * arena_run(). */
enum status digest_take_summary(struct arena *arena, struct trace_file *trace,
                                struct summary *summary);
enum status digest_take_record(struct arena *arena, struct trace_file *trace,
                               struct rank_record *record);

/* facts_of() for summaries of which number `which` is a digest's. */
struct facts digest_facts(const struct summary *ranks, int64_t count, int64_t which);
