/* A benchmark is its name, family and instance; the same once more is a second benchmark of that
 * name. All rows of one name are numbered at the end, when it is known how many there are. */
#include "harness/desk/compare/file/row_names.h"

#include "harness/base/rows.h"
#include "harness/base/sort.h"
#include "harness/base/words/intern.h"
#include "harness/base/words/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct identity {
    uint32_t plain; /* the name's number */
    long long family, instance;
    int occurrence; /* among those of equal family and instance */
    int row;
};

struct row_names {
    struct intern *plain, *identities, *parts, *texts;
    struct identity *rows; /* [count] */
    int count;
    int64_t room;
    int *seen; /* [part_count]: how often each part of an identity came */
    int part_count;
    int64_t seen_room;
};

enum status row_names_open(struct row_names **opened)
{
    enum status status = STATUS_OK;
    struct row_names *names = NULL;

    TRY_OUT(rows_make(&names, 1));
    TRY_OUT(intern_open(&names->plain, SIZE_MAX));
    TRY_OUT(intern_open(&names->identities, SIZE_MAX));
    TRY_OUT(intern_open(&names->parts, SIZE_MAX));
    TRY_OUT(intern_open(&names->texts, SIZE_MAX));

out:
    if (status != STATUS_OK) {
        row_names_close(names);
        names = NULL;
    }
    *opened = names;
    return status;
}

void row_names_close(struct row_names *names)
{
    if (names == NULL)
        return;
    intern_close(names->plain);
    intern_close(names->identities);
    intern_close(names->parts);
    intern_close(names->texts);
    free(names->rows);
    free(names->seen);
    free(names);
}

/* A number of the file, which is a small one in files that programs write; -1: there is none. */
static long long known(double number)
{
    return number >= 0 && number < 1e15 ? (long long)number : -1;
}

/* How often this part of the benchmark came before: the second time, it is of a second benchmark.
 * Repetitions without a number are counted off by as many as the benchmark has. */
static enum status occurrence_of(struct row_names *names, uint32_t plain, const struct row_key *key,
                                 int *occurrence)
{
    char text[160];
    uint32_t part;
    bool is_counted = key->part == 'r' && isnan(key->repetition);

    snprintf(text, sizeof text, "%u %lld %lld %c %lld", plain, known(key->family),
             known(key->instance), key->part, key->part == 'r' ? known(key->repetition) : 0);
    TRY(intern_add(names->parts, text, strlen(text), &part));
    TRY(rows_grow(&names->seen, (int64_t)part + 1, &names->seen_room));
    while (names->part_count <= (int)part) names->seen[names->part_count++] = 0;
    *occurrence = names->seen[part]++;
    if (is_counted)
        *occurrence = key->repetitions >= 1 ? (int)(*occurrence / fmin(key->repetitions, 1e9)) : 0;

    return STATUS_OK;
}

enum status row_names_take(struct row_names *names, const struct row_key *key, int *row)
{
    char text[160];
    uint32_t plain, number;
    int occurrence;

    TRY(intern_add(names->plain, key->name, key->length, &plain));
    TRY(occurrence_of(names, plain, key, &occurrence));
    snprintf(text, sizeof text, "%u %lld %lld %d", plain, known(key->family), known(key->instance),
             occurrence);
    TRY(intern_add(names->identities, text, strlen(text), &number));
    *row = (int)number;
    if (*row < names->count)
        return STATUS_OK;
    TRY(rows_grow(&names->rows, names->count + 1, &names->room));
    names->rows[names->count] = (struct identity){ plain, known(key->family), known(key->instance),
                                                   occurrence, names->count };
    names->count++;

    return STATUS_OK;
}

COMPARATOR(by_family, struct identity,
           ASCENDING(plain) ?: ASCENDING(family) ?: ASCENDING(instance) ?: ASCENDING(occurrence))

/* The rows of one name are numbered in the order of by_family(); *texts are theirs, by their
 * rows. */
static enum status number_rows(const struct row_names *names, struct identity *sorted, char **texts)
{
    for (int first = 0, end; first < names->count; first = end) {
        const char *plain = intern_text(names->plain, sorted[first].plain);
        for (end = first; end < names->count && sorted[end].plain == sorted[first].plain; end++)
            continue;
        for (int i = first; i < end; i++)
            if (end - first == 1)
                TRY(text_make(&texts[sorted[i].row], "%s", plain));
            else
                TRY(text_make(&texts[sorted[i].row], "%s (%d of %d)", plain, i - first + 1,
                              end - first));
    }

    return STATUS_OK;
}

enum status row_names_finish(struct row_names *names)
{
    enum status status = STATUS_OK;
    struct identity *sorted = NULL;
    char **texts = NULL;

    TRY_OUT(rows_make(&sorted, names->count + 1));
    TRY_OUT(rows_make(&texts, names->count + 1));
    if (names->count > 0)
        memcpy(sorted, names->rows, (size_t)names->count * sizeof *sorted);
    qsort(sorted, (size_t)names->count, sizeof *sorted, by_family);
    TRY_OUT(number_rows(names, sorted, texts));
    for (int i = 0; i < names->count; i++) {
        uint32_t number;
        TRY_OUT(intern_add(names->texts, texts[i], strlen(texts[i]), &number));
        if ((int)number != i)
            FAIL_OUT(STATUS_BAD_INPUT, "two benchmarks are called %.200s", texts[i]);
    }

out:
    for (int i = 0; texts != NULL && i < names->count; i++) free(texts[i]);
    free(texts);
    free(sorted);
    return status;
}

const char *row_names_text(const struct row_names *names, int row)
{
    return intern_text(names->texts, (uint32_t)row);
}

const char *row_names_plain(const struct row_names *names, int row)
{
    return intern_text(names->plain, names->rows[row].plain);
}

int64_t row_names_find(const struct row_names *names, const char *text)
{
    return names != NULL ? intern_find(names->texts, text) : -1;
}
