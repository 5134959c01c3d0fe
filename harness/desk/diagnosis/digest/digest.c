/* A digest is one JSON object, written and read by lists of members, and a file has it
 * compressed as a gzip member of its own, so that files of digests can be joined by cat. */
#include "harness/desk/diagnosis/digest/digest.h"

#include "harness/base/rows.h"
#include "harness/base/words/text.h"
#include "harness/desk/diagnosis/digest/diagnosis_members.h"
#include "harness/desk/trace/trace_rows.h"
#include "harness/text/json.h"

#include <stdlib.h>
#include <string.h>

static const char SCHEMA_NAME[] = "chokepoint_digest";

/* --- Writing --- */

enum status digest_write(char **line, const struct digest *digest)
{
    enum status status = STATUS_OK;
    uint32_t range = digest->trace->step_range;
    struct trace_head head = { digest->trace,
                               range != 0 ? trace_file_name(digest->trace, range) : NULL };
    struct json json = { .out_of_memory = false };
    cJSON *root = json_object(&json, NULL, NULL);
    struct members members = { .is_exact = true, .json = &json, .object = root };
    char *text = NULL;

    *line = NULL;
    json_integer(&json, root, SCHEMA_NAME, DIGEST_SCHEMA);
    member_object(&members, "head", trace_head_members, &head);
    member_object(&members, "record", record_members, &digest->record);
    member_object(&members, "summary", summary_members, digest->summary);
    member_object(&members, "facts", facts_members, digest->facts);
    member_object(&members, "findings", findings_members, digest->findings);
    if (!json.out_of_memory)
        text = cJSON_PrintUnformatted(root);
    if (text == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no memory left to write a digest");
    TRY_OUT(text_make(line, "%s\n", text));

out:
    free(text);
    cJSON_Delete(root);
    return status;
}

/* --- Reading --- */

/* BAD_INPUT: the line is no digest of this schema. */
static enum status parse(cJSON **root, const char *line)
{
    const cJSON *schema;

    TRY(json_parse(root, line, NULL, false));
    if (*root == NULL)
        FAIL(STATUS_BAD_INPUT, "its digest is damaged: it is no JSON");
    schema = cJSON_GetObjectItemCaseSensitive(*root, SCHEMA_NAME);
    if (!cJSON_IsNumber(schema))
        FAIL(STATUS_BAD_INPUT, "its digest is damaged: it states no schema");
    if (schema->valuedouble != DIGEST_SCHEMA)
        FAIL(STATUS_BAD_INPUT,
             "its digest has schema %.0f, and this program reads schema %d: make it again from the "
             "trace",
             schema->valuedouble, DIGEST_SCHEMA);

    return STATUS_OK;
}

/* The text that is read, and where it goes; NULL: nowhere. */
struct taking {
    struct members members;
    struct trace_head head;
    struct summary *summary;
    struct rank_record *record;
};

static void take_summary(struct members *members, struct summary *summary)
{
    struct digest *digest = ARENA_NEW(members->arena, struct digest, 1);

    summary->digest = digest;
    digest->facts = ARENA_NEW(members->arena, struct facts, 1);
    digest->findings = ARENA_NEW(members->arena, struct findings, 1);
    member_object(members, "summary", summary_members, summary);
    member_object(members, "facts", facts_members, digest->facts);
    member_object(members, "findings", findings_members, digest->findings);
}

static void take_members(struct arena *arena, void *context)
{
    struct taking *taking = context;
    struct members *members = &taking->members;

    members->arena = arena;
    if (taking->summary != NULL) {
        take_summary(members, taking->summary);
        return;
    }
    member_object(members, "head", trace_head_members, &taking->head);
    if (taking->record != NULL)
        member_object(members, "record", record_members, taking->record);
}

static enum status take_line(struct arena *arena, struct taking *taking)
{
    enum status status = STATUS_OK;
    cJSON *root = NULL;

    TRY_OUT(parse(&root, taking->head.trace->digest));
    taking->members = (struct members){ .reading = true, .object = root };
    TRY_OUT(arena_run(arena, take_members, taking));
    if (taking->members.fault[0] != '\0')
        FAIL_OUT(STATUS_BAD_INPUT, "its digest is damaged: %s", taking->members.fault);

out:
    cJSON_Delete(root);
    return status;
}

enum status digest_take_head(struct trace_file *trace)
{
    struct taking taking = { .head.trace = trace };
    const char *range;

    trace->digest_arena = arena_open();
    TRY(take_line(trace->digest_arena, &taking));
    range = taking.head.step_range;
    if (range != NULL && range[0] != '\0')
        TRY(intern_add(trace->names, range, strlen(range), &trace->step_range));

    return STATUS_OK;
}

enum status digest_take_summary(struct arena *arena, struct trace_file *trace,
                                struct summary *summary)
{
    struct taking taking = { .head.trace = trace, .summary = summary };

    *summary = (struct summary){ .arena = arena, .trace = trace, .timeline.trace = trace };
    return take_line(arena, &taking);
}

enum status digest_take_record(struct arena *arena, struct trace_file *trace,
                               struct rank_record *record)
{
    struct taking taking = { .head.trace = trace, .record = record };

    *record = (struct rank_record){ .source = NULL };
    return take_line(arena, &taking);
}

struct facts digest_facts(const struct summary *ranks, int64_t count, int64_t which)
{
    struct facts facts = *ranks[which].digest->facts;

    facts.summary = &ranks[which];
    facts.ranks = ranks;
    facts.rank_count = count;
    if (ranks[which].timeline.work_count > 0)
        facts.device = timeline_device(&ranks[which].timeline);
    return facts;
}
