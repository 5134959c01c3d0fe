/* Reading goes line by line and keeps what is damaged aside. Adding holds a lock, mends a half line
 * that a killed writer left, and appends all new lines at once or none. */
#include "harness/desk/compare/history/history.h"

#include "harness/base/hash.h"
#include "harness/base/rows.h"
#include "harness/base/system/atomic_file.h"
#include "harness/base/system/files.h"
#include "harness/base/words/intern.h"
#include "harness/base/words/text.h"
#include "harness/desk/compare/comparison.h"
#include "harness/desk/compare/location.h"
#include "harness/text/json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Shared by the entries. */
struct texts {
    struct intern *once;
    const char *date; /* the last one that was read, and its seconds: that of many lines in a row */
    double seconds;
};

/* --- Lines --- */

/* Members that are texts, and whether a line must have them. */
static const struct member {
    const char *name;
    size_t offset;
    bool must;
} members[] = {
    { "date", offsetof(struct history_entry, date), true },
    { "commit", offsetof(struct history_entry, commit), false },
    { "machine", offsetof(struct history_entry, machine), false },
    { "row", offsetof(struct history_entry, row), true },
    { "metric", offsetof(struct history_entry, metric), true },
    { "statistic", offsetof(struct history_entry, statistic), false },
    { "unit", offsetof(struct history_entry, unit), false },
    { "work", offsetof(struct history_entry, work), false },
};

static const char **text_at(struct history_entry *entry, const struct member *member)
{
    return (const char **)((char *)entry + member->offset);
}

/* Why the object is no entry; NULL: it is one. Texts stay with the object. */
static const char *entry_of(struct history_entry *entry, const cJSON *object,
                            const struct texts *texts)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, "value"),
                *repetitions = cJSON_GetObjectItemCaseSensitive(object, "repetitions");
    double unit = 1;

    if (!cJSON_IsObject(object))
        return "not a JSON object";
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        const char *text = json_text_of(object, members[i].name);
        *text_at(entry, &members[i]) = text;
        if (members[i].must && text[0] == '\0')
            return "it lacks a date, a row or a metric";
    }
    entry->seconds = texts->date != NULL && strcmp(texts->date, entry->date) == 0
                         ? texts->seconds
                         : benchmark_date(entry->date);
    if (isnan(entry->seconds))
        return "its date is not like 2026-11-20T21:21:34+00:00";
    if (benchmark_metric_is_time(entry->metric))
        unit = benchmark_time_unit(entry->unit);
    if (isnan(unit))
        return "its unit is none of ns, us, ms, s";
    entry->value = cJSON_IsNumber(value) ? value->valuedouble * unit : NAN;
    if (!cJSON_IsNull(value) && (!isfinite(entry->value) ||
                                 (benchmark_metric_is_time(entry->metric) && !(entry->value > 0))))
        return "its value is not a number, or a time that is not above 0";
    entry->repetitions = cJSON_IsNumber(repetitions) && repetitions->valuedouble >= 0 &&
                                 repetitions->valuedouble < 1e9
                             ? repetitions->valueint
                             : 0;
    return NULL;
}

/* Puts texts of the file's own in place of those that the entry has. */
static enum status keep_texts(struct texts *texts, struct history_entry *entry)
{
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        const char **text = text_at(entry, &members[i]);
        uint32_t number;
        TRY(intern_add(texts->once, *text, strlen(*text), &number));
        *text = intern_text(texts->once, number);
    }

    return STATUS_OK;
}

/* *why says why the line is no entry; NULL: it is one. */
static enum status parse_line(struct history_entry *entry, const char *line, size_t length,
                              struct texts *texts, const char **why)
{
    enum status status = STATUS_OK;
    cJSON *object = NULL;

    if (strlen(line) == length)
        TRY(json_parse(&object, line, NULL, true));
    if (strncmp(line, "<<<<<<<", 7) == 0 || strncmp(line, "=======", 7) == 0 ||
        strncmp(line, ">>>>>>>", 7) == 0)
        *why = "left by a merge conflict";
    else
        *why = object == NULL ? "not JSON" : entry_of(entry, object, texts);
    if (*why != NULL)
        goto out;
    TRY_OUT(keep_texts(texts, entry));
    texts->date = entry->date;
    texts->seconds = entry->seconds;

out:
    cJSON_Delete(object);
    return status;
}

/* --- Entries, each once --- */

/* Open addressing: numbers of entries + 1. */
struct entry_set {
    int *slots;
    size_t size; /* a power of 2 */
};

/* The members by which two entries are the same. Texts are compared by their pointers, which are
 * those of one file. */
enum { ENTRY_KEYS = 6 };
static void keys_of(const void *keys[ENTRY_KEYS], const struct history_entry *entry)
{
    const void *const same[ENTRY_KEYS] = { entry->date, entry->commit, entry->machine,
                                           entry->row,  entry->metric, entry->work };

    memcpy(keys, same, sizeof same);
}

/* The entry that was there already; NULL: it is new. */
static const struct history_entry *entry_set_add(struct entry_set *set,
                                                 const struct history_entry *entries, int index)
{
    const void *keys[ENTRY_KEYS], *others[ENTRY_KEYS];
    size_t slot;

    keys_of(keys, &entries[index]);
    slot = hash_add(HASH_EMPTY, keys, sizeof keys) & (set->size - 1);
    for (; set->slots[slot] != 0; slot = (slot + 1) & (set->size - 1)) {
        keys_of(others, &entries[set->slots[slot] - 1]);
        if (memcmp(keys, others, sizeof keys) == 0)
            return &entries[set->slots[slot] - 1];
    }
    set->slots[slot] = index + 1;
    return NULL;
}

/* --- The whole file --- */

/* Parses the lines of `text`, which changes; room for `more` further entries stays. */
static enum status parse_lines(struct history_file *history, struct entry_set *known, char *text,
                               size_t bytes, size_t more)
{
    size_t lines = 1;
    long number = 1;

    for (size_t i = 0; i < bytes; i++) lines += text[i] == '\n';
    if (lines + more > INT_MAX)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory left for a history of %zu lines", lines);
    TRY(rows_make(&history->entries, lines + more));
    TRY(rows_make(&history->texts, 1));
    TRY(intern_open(&history->texts->once, SIZE_MAX));
    for (known->size = 16; known->size < 2 * (lines + more);) known->size *= 2;
    TRY(rows_make(&known->slots, known->size));
    for (char *line = text, *end; line < text + bytes; line = end + 1, number++) {
        struct history_entry *entry = &history->entries[history->count];
        const char *why;
        end = memchr(line, '\n', (size_t)(text + bytes - line));
        end = end != NULL ? end : text + bytes;
        *end = '\0';
        if (line + strspn(line, " \t\r") == end)
            continue;
        TRY(parse_line(entry, line, (size_t)(end - line), history->texts, &why));
        if (why != NULL) {
            if (history->damaged < HISTORY_DAMAGES)
                history->damages[history->damaged] = (struct history_damage){ number, why };
            history->damaged++;
            continue;
        }
        entry->line = number;
        history->count += entry_set_add(known, history->entries, history->count) == NULL;
    }

    return STATUS_OK;
}

/* The bytes of an open file, with a '\0' after them and room for one more; *text is malloc'd. */
static enum status read_text(int descriptor, const char *path, char **text, size_t *bytes)
{
    int64_t room = 0;
    ssize_t got = 1;

    *bytes = 0;
    while (got != 0) {
        TRY(rows_grow(text, *bytes + (1 << 16), &room));
        got = read(descriptor, *text + *bytes, (size_t)room - *bytes - 2);
        if (got < 0 && errno != EINTR)
            FAIL(STATUS_IO, "%s cannot be read: %s", path, strerror(errno));
        if (got > 0)
            *bytes += (size_t)got;
        if (*bytes > HISTORY_BYTES_MOST)
            FAIL(STATUS_BAD_INPUT, "%s is larger than %d MB: begin a new history", path,
                 HISTORY_BYTES_MOST >> 20);
    }
    (*text)[*bytes] = '\0';

    return STATUS_OK;
}

/* False: errno says why. */
static bool lock(int descriptor, int operation)
{
    while (flock(descriptor, operation) != 0)
        if (errno != EINTR)
            return false;
    return true;
}

enum status history_file_read(struct history_file *history, const char *path)
{
    enum status status = STATUS_OK;
    struct entry_set known = { NULL, 0 };
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    char *text = NULL;
    size_t bytes;

    *history = (struct history_file){ .path = path };
    if (descriptor < 0)
        FAIL_OUT(STATUS_IO, "%s cannot be opened: %s%s", path, strerror(errno),
                 errno == ENOENT ? "; history add makes it" : "");
    lock(descriptor, LOCK_SH); /* Without locks, half a line may be seen. */
    TRY_OUT(read_text(descriptor, path, &text, &bytes));
    TRY_OUT(parse_lines(history, &known, text, bytes, 0));

out:
    if (descriptor >= 0)
        close(descriptor);
    free(known.slots);
    free(text);
    if (status != STATUS_OK)
        history_file_release(history);
    return status;
}

void history_file_release(struct history_file *history)
{
    if (history->texts != NULL)
        intern_close(history->texts->once);
    free(history->texts);
    free(history->entries);
    *history = (struct history_file){ .count = 0 };
}

void history_file_damages(const struct history_file *history, char *text, size_t size)
{
    snprintf(text, size, "%d damaged line%s: ", history->damaged, history->damaged == 1 ? "" : "s");
    for (int i = 0; i < history->damaged && i < HISTORY_DAMAGES; i++)
        text_append(text, size, "%sline %ld (%s)", i > 0 ? ", " : "", history->damages[i].line,
                    history->damages[i].why);
    if (history->damaged > HISTORY_DAMAGES)
        text_append(text, size, " and %d more", history->damaged - HISTORY_DAMAGES);
}

/* --- Adding --- */

/* The best of the repetitions, or the number that stands for them (location.h): the median too
 * where nobody says which of them is the best. */
static double value_of(const struct benchmark_row *row, enum better better)
{
    double best = row->count > 0 && better != BETTER_BY_NAME ? row->values[0] : row->median;

    for (int i = 1; i < row->count && better != BETTER_BY_NAME; i++)
        best = better == BETTER_LARGER ? fmax(best, row->values[i]) : fmin(best, row->values[i]);
    return best;
}

/* Adds the line of an entry to `to`. */
static enum status print_entry(FILE *to, const struct history_entry *entry)
{
    enum status status = STATUS_OK;
    struct json json = { false };
    cJSON *object = json_object(&json, NULL, NULL);
    char *text = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        const char *value = *text_at((struct history_entry *)entry, &members[i]);
        if (value[0] != '\0')
            json_text(&json, object, members[i].name, value);
    }
    JSON_ADD(&json, object, KEY("value", entry->value), KEY("repetitions", entry->repetitions));
    text = json.out_of_memory ? NULL : cJSON_PrintUnformatted(object);
    if (text == NULL || fprintf(to, "%s\n", text) < 0)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no memory left for the line of %.100s", entry->row);

out:
    cJSON_free(text);
    cJSON_Delete(object);
    return status;
}

enum { DATE = 64 };

/* The file's date; if it states none `given`, which may be a day. */
static enum status find_date(char date[DATE], const struct benchmark_file *file, const char *given)
{
    benchmark_file_context(file, "date", date, DATE);
    if (date[0] == '\0' && given != NULL)
        snprintf(date, DATE, "%s%s", given,
                 strlen(given) == strlen("2026-11-20") ? "T00:00:00+00:00" : "");
    if (isnan(benchmark_date(date)))
        FAIL(STATUS_BAD_INPUT,
             "%s has no date like 2026-11-20T21:21:34+00:00, so its place in a history is not "
             "known: give --date",
             file->path);

    return STATUS_OK;
}

/* A run of which nothing is left but that it was. */
static bool all_failed(const struct benchmark_file *file)
{
    for (int i = 0; i < file->count; i++)
        if (file->rows[i].count > 0 || file->rows[i].failed == 0 ||
            file->rows[i].failed < file->rows[i].lost)
            return false;
    return true;
}

/* Puts an entry into the history, and prints it, unless it is there already. */
static enum status add_entry(struct history_file *history, struct entry_set *known,
                             const struct history_entry *entry, FILE *to,
                             struct history_added *added)
{
    struct history_entry *kept = &history->entries[history->count];
    const struct history_entry *there;

    *kept = *entry;
    TRY(keep_texts(history->texts, kept));
    there = entry_set_add(known, history->entries, history->count);
    if (isnan(entry->value))
        added->failed++;
    else if (there != NULL) {
        added->known++;
        added->differing += there->value != entry->value;
    } else
        added->added++;
    if (there != NULL)
        return STATUS_OK;
    history->count++;
    return print_entry(to, kept);
}

/* Adds the rows of one file. */
static enum status add_file(struct history_file *history, struct entry_set *known,
                            const struct history_adding *adding, int index, FILE *to,
                            struct history_added *added)
{
    const struct benchmark_file *file = &adding->files[index];
    const char *metric = adding->metric;
    char date[DATE], own_commit[160], machine[1024];
    const struct compare_rule rule = { .metric = metric, .better = adding->better };
    const enum better better = compare_better(&rule);
    const bool none = all_failed(file);

    TRY(find_date(date, file, adding->date));
    benchmark_file_context(file, "commit", own_commit, sizeof own_commit);
    compare_machine(file, machine, sizeof machine);
    for (int i = 0; i < file->count; i++) {
        const struct benchmark_row *row = &file->rows[i];
        uint64_t work = workload_fingerprint(&row->work);
        char work_text[24] = "";
        const char *row_date = isnan(benchmark_date(row->date)) ? date : row->date;
        struct history_entry entry;
        added->unmeasured += isnan(row->median);
        if (isnan(row->median) && !none)
            continue;
        if (work != 0)
            snprintf(work_text, sizeof work_text, "%016" PRIx64, work);
        entry = (struct history_entry){
            .date = row_date,
            .commit = adding->commit != NULL ? adding->commit : own_commit,
            .machine = adding->machine != NULL ? adding->machine : machine,
            .row = row->name,
            .metric = metric,
            .statistic = row->count > 1 && better != BETTER_BY_NAME ? "best" : "median",
            .unit = benchmark_metric_is_time(metric) ? "us" : "",
            .work = work_text,
            .seconds = benchmark_date(row_date),
            .value = value_of(row, better),
            .repetitions = row->count > 0 ? row->count : row->repetitions,
        };
        TRY(add_entry(history, known, &entry, to, added));
    }

    return STATUS_OK;
}

/* Keeps half a line aside, and takes it off the file. */
static enum status set_aside(int descriptor, const char *path, const char *half, size_t bytes,
                             size_t kept, struct history_added *added)
{
    enum status status = STATUS_OK;
    char aside[PATH_MAX];
    int other = -1;

    snprintf(aside, sizeof aside, "%s.cut", path);
    other = own_file_open(AT_FDCWD, aside, O_WRONLY | O_APPEND);
    if (other < 0 || !write_all(other, half, bytes) || !write_all(other, "\n", 1) ||
        fsync(other) != 0)
        ATOMIC_FILE_FAIL(aside, errno);
    if (ftruncate(descriptor, (off_t)kept) != 0)
        ATOMIC_FILE_FAIL(path, errno);
    snprintf(added->cut, sizeof added->cut, "%.127s", aside);

out:
    if (other >= 0)
        close(other);
    return status;
}

/* Makes the file, and the text read from it, end with a whole line; *bytes is its size before and
 * after. */
static enum status mend_end(int descriptor, const char *path, char *text, size_t *bytes,
                            struct history_added *added)
{
    enum status status = STATUS_OK;
    const char *last = memrchr(text, '\n', *bytes);
    size_t whole = last != NULL ? (size_t)(last + 1 - text) : 0;
    cJSON *object = NULL;

    if (whole == *bytes)
        goto out;
    TRY_OUT(json_parse(&object, text + whole, NULL, true));
    if (object == NULL) {
        TRY_OUT(set_aside(descriptor, path, text + whole, *bytes - whole, whole, added));
        *bytes = whole;
    } else {
        if (!write_all(descriptor, "\n", 1))
            ATOMIC_FILE_FAIL(path, errno);
        text[(*bytes)++] = '\n';
    }

out:
    cJSON_Delete(object);
    return status;
}

/* Writes all lines; on failure the file has again the `bytes` that it had. */
static enum status append(int descriptor, const char *path, const char *lines, size_t count,
                          size_t bytes)
{
    enum status status = STATUS_OK;
    int error = 0;

    if (count == 0)
        goto out;
    if (!write_all(descriptor, lines, count) || fsync(descriptor) != 0)
        error = errno;
    if (error != 0 && ftruncate(descriptor, (off_t)bytes) != 0)
        FAIL_OUT(STATUS_IO, "cannot write %s: %s; it may end with a part of the new lines", path,
                 strerror(error));
    if (error != 0)
        ATOMIC_FILE_FAIL(path, error);

out:
    return status;
}

static enum status open_locked(int *descriptor, const char *path)
{
    enum status status = STATUS_OK;
    struct stat facts;

    if (lstat(path, &facts) == 0 && !S_ISREG(facts.st_mode))
        FAIL_OUT(STATUS_IO, "cannot add to %s: it is %s; give a file", path,
                 S_ISDIR(facts.st_mode)   ? "a folder"
                 : S_ISLNK(facts.st_mode) ? "a link, which is not followed"
                                          : "not a regular file");
    *descriptor = own_file_open(AT_FDCWD, path, O_RDWR | O_APPEND);
    if (*descriptor < 0)
        ATOMIC_FILE_FAIL(path, errno);
    if (!lock(*descriptor, LOCK_EX))
        FAIL_OUT(STATUS_IO, "cannot lock %s: %s; choose a folder whose file system has locks", path,
                 strerror(errno));

out:
    return status;
}

enum status history_file_add(const char *path, const struct history_adding *adding,
                             struct history_added *added)
{
    enum status status = STATUS_OK;
    struct history_file history = { .path = path };
    struct entry_set known = { NULL, 0 };
    char *text = NULL, *lines = NULL;
    size_t bytes = 0, more = 0, length = 0;
    int descriptor = -1;
    FILE *to = open_memstream(&lines, &length);

    *added = (struct history_added){ .added = 0 };
    if (to == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no memory left for a history");
    TRY_OUT(open_locked(&descriptor, path));
    TRY_OUT(read_text(descriptor, path, &text, &bytes));
    TRY_OUT(mend_end(descriptor, path, text, &bytes, added));
    for (int i = 0; i < adding->count; i++) more += (size_t)adding->files[i].count;
    TRY_OUT(parse_lines(&history, &known, text, bytes, more + 1));
    for (int i = 0; i < adding->count; i++)
        TRY_OUT(add_file(&history, &known, adding, i, to, added));
    if (fflush(to) != 0)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no memory left for the lines of a history");
    TRY_OUT(append(descriptor, path, lines, length, bytes));

out:
    if (to != NULL)
        fclose(to);
    if (descriptor >= 0)
        close(descriptor);
    free(lines);
    free(text);
    free(known.slots);
    history_file_release(&history);
    return status;
}
