/* Verdicts that fail the gate are rows of a table, with what accepts them; three more faults are
 * properties of a row beside its verdict. */
#include "harness/desk/compare/gate.h"

#include "harness/base/status.h"
#include "harness/base/words/text.h"

#include <stdio.h>

/* The verdicts that fail a gate, unless it accepts them. */
static const struct fault {
    enum compare_verdict verdict;
    bool is_missing; /* accepted by allow_missing */
    bool is_open;    /* accepted unless strict */
} faults[] = {
    { COMPARE_SLOWER, false, false },      { COMPARE_OTHER_WORK, true, false },
    { COMPARE_MISSING, true, false },      { COMPARE_UNDECIDED, false, true },
    { COMPARE_NOT_MEASURED, false, true },
};

static const char *const words_fewer = "missing in some files of new",
                         *const words_lost = "lost more repetitions in new than in base",
                         *const words_better =
                             "moved, and --better does not say which way is better";

static bool accepts(const struct compare_gate *gate, const struct fault *fault)
{
    return (fault->is_missing && gate->allow_missing) || (fault->is_open && !gate->strict);
}

const char *gate_fault(const struct compared_row *row, const struct compare_gate *gate)
{
    if (row->lacks_better)
        return words_better;
    for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
        if (faults[i].verdict == row->verdict && !accepts(gate, &faults[i]))
            return compare_verdict_name(row->verdict);
    if (gate->allow_missing || row->verdict == COMPARE_OTHER_WORK)
        return NULL;
    return row->fewer ? words_fewer : row->lost_more ? words_lost : NULL;
}

bool comparison_passes(const struct comparison *comparison, const struct compare_gate *gate,
                       char *why, size_t size)
{
    const struct {
        int count;
        bool accepted;
        const char *words;
    } others[] = {
        { comparison->fewer, gate->allow_missing, words_fewer },
        { comparison->lost_more, gate->allow_missing, words_lost },
        { comparison->lacks_better, false, words_better },
    };
    int common = 0;

    why[0] = '\0';
    for (int i = 0; i < COMPARE_VERDICTS; i++)
        if (compare_is_common((enum compare_verdict)i))
            common += comparison->counts[i];
    if (common == 0)
        text_append(why, size, "no row could be compared");
    for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
        int count = comparison->counts[faults[i].verdict];
        if (!accepts(gate, &faults[i]) && count > 0)
            text_join(why, size, ", ", "%d %s", count, compare_verdict_name(faults[i].verdict));
    }
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        if (others[i].count > 0 && !others[i].accepted)
            text_join(why, size, ", ", "%d %s", others[i].count, others[i].words);
    return why[0] == '\0';
}
