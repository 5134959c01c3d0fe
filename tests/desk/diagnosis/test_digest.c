/* Digests that are damaged are refused with a reason, whatever is wrong, and a whole one gives back
 * what it was made of. */
#include "harness/base/random.h"
#include "harness/base/rows.h"
#include "harness/desk/diagnosis/digest/digest.h"
#include "tests/desk/diagnosis/made/found_findings.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/test_seed.h"

#include <math.h>

static struct found make(char **line)
{
    struct found found = found_judge(&(struct made_loop){
        .steps = 10, .launches = 20, .call = 2, .kernel = 50, .communication = 100 });
    struct facts facts = facts_of(&found.summary, 1, 0);
    struct findings findings = findings_judged(&facts);
    struct digest digest = { .trace = found.analysed.trace,
                             .summary = &found.summary,
                             .facts = &facts,
                             .findings = &findings,
                             .record = rank_record_of(found.analysed.arena, &found.summary, 100) };

    digest.record.source = "trace.json";
    assert_ok(digest_write(line, &digest));
    return found;
}

/* Reads a line in the place of a trace's rows, and judges it if it can be read. */
static enum status read_line(struct found *found, const char *line, struct rank_record *record,
                             struct findings *findings)
{
    struct trace_file *trace = found->analysed.trace;
    struct summary *summary = ARENA_NEW(found->analysed.arena, struct summary, 1);
    enum status status;

    free(trace->digest);
    trace->digest = strdup(line);
    arena_close(trace->digest_arena);
    trace->digest_arena = NULL;
    status = digest_take_head(trace);
    if (status == STATUS_OK)
        status = digest_take_summary(found->analysed.arena, trace, summary);
    if (status == STATUS_OK)
        status = digest_take_record(found->analysed.arena, trace, record);
    if (status == STATUS_OK) {
        struct facts facts = digest_facts(summary, 1, 0);
        *findings = findings_of_digest(summary->digest->findings, &facts);
    }
    return status;
}

TEST(a_digest_gives_back_what_it_was_made_of)
{
    char *line;
    struct found found = make(&line);
    struct rank_record record;
    struct findings findings;

    assert_ok(read_line(&found, line, &record, &findings));
    assert_int_equal(findings.count, found.findings.count);
    for (int64_t i = 0; i < findings.count; i++) {
        assert_ptr_equal(findings.items[i].id, found.findings.items[i].id);
        assert_string_equal(findings.items[i].evidence, found.findings.items[i].evidence);
    }
    assert_string_equal(findings.headline.text, found.findings.headline.text);
    assert_int_equal(record.step_count, 10);
    assert_int_equal(record.group_count, 1);
    assert_int_equal(record.groups[0].count, 10);
    for (int64_t i = 1; i < 10; i++)
        assert_int_equal(record.start_ns[i] - record.start_ns[i - 1],
                         found.summary.steps.items[i].event->start_ns -
                             found.summary.steps.items[i - 1].event->start_ns);
    free(line);
}

TEST(every_collective_that_is_left_out_is_counted)
{
    char *line;
    struct found found = make(&line);
    struct rank_record record = rank_record_of(found.analysed.arena, &found.summary, 4);

    assert_int_equal(record.groups[0].total, 10);
    assert_int_equal(record.groups[0].every, 3);
    assert_int_equal(record.groups[0].count, 10); /* the first of each step */
    free(line);
}

/* Bytes are changed, taken out and doubled, and texts cut: it is refused, or read as something
 * whole. */
TEST(damage_is_refused_or_harmless)
{
    char *line;
    struct found found = make(&line);
    size_t length = strlen(line);
    char *damaged = calloc(2 * length + 1, 1);
    struct random random = random_seed(test_seed(), 0);
    int refused = 0;

    for (uint64_t i = 0; i < 3000; i++) {
        uint64_t draw = random_bits(&random);
        size_t at = (size_t)(draw % length), some = (size_t)(draw >> 40) % 40;
        struct rank_record record;
        struct findings findings;
        memcpy(damaged, line, length + 1);
        if (i % 3 == 0)
            damaged[at] = (char)(32 + (draw >> 50) % 95);
        else if (i % 3 == 1)
            memmove(damaged + at, damaged + at + (some < length - at ? some : 0),
                    length + 1 - at - (some < length - at ? some : 0));
        else
            damaged[at] = '\0';
        if (read_line(&found, damaged, &record, &findings) == STATUS_OK)
            continue;
        refused++;
        assert_int_equal(status_last()->status, STATUS_BAD_INPUT);
    }
    assert_true(refused > 1500);
    free(damaged);
    free(line);
}

/* A count or a duration below 0, or a window that ends before it begins. */
TEST(what_cannot_be_is_refused)
{
    static const struct {
        const char *member, *value, *fault;
    } rows[] = {
        { "\"idle\":{\"start_ns\":", "99999999", "end_ns" },
        { "\"paced_ns\":", "\"1\"", "paced_ns" },
        { "\"events\":", "-", "events" },
        { "\"busy_ns\":", "-", "busy_ns" },
        { "\"every\":", "-", "every" },
    };
    char *line, *changed, fault[64];
    struct found found = make(&line);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct rank_record record;
        struct findings findings;
        const char *at = strstr(line, rows[i].member), *number;
        assert_non_null(at);
        number = at + strlen(rows[i].member);
        changed = calloc(strlen(line) + 32, 1);
        snprintf(changed, strlen(line) + 32, "%.*s%s%s", (int)(number - line), line, rows[i].value,
                 rows[i].value[0] == '"' ? strchr(number, ',') : number);
        assert_int_equal(read_line(&found, changed, &record, &findings), STATUS_BAD_INPUT);
        snprintf(fault, sizeof fault, "its member %s is ", rows[i].fault);
        assert_non_null(strstr(status_last()->text, fault));
        free(changed);
    }
    free(line);
}
