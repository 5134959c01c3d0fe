/* The quiz for the page in a browser (web_quiz.h), by the same functions as `quiz`. The sets of the
 * last request stay, so that the answers do not count all kernels again. */
#include "harness/cli/teach/web_quiz.h"

#include "harness/cli/kernel/web_kernel.h"
#include "harness/cli/teach/quiz_answer.h"
#include "harness/text/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    bool made;
    uint64_t seed;
    char from[PATH_MAX]; /* "": kernels */
    struct benchmark_file measured;
    struct quiz_sets sets;
} kept;

static enum status keep_sets(uint64_t seed, const char *from)
{
    if (kept.made && kept.seed == seed && strcmp(kept.from, from) == 0)
        return STATUS_OK;
    quiz_sets_release(&kept.sets);
    benchmark_file_release(&kept.measured);
    memset(&kept, 0, sizeof kept);
    if (from[0] == '\0') {
        TRY(quiz_kernel_sets_make(&kept.sets, seed));
    } else {
        TRY(benchmark_file_read(&kept.measured, from, BENCHMARK_TIME));
        TRY(quiz_sets_make(&kept.sets, &kept.measured, from, seed));
    }
    snprintf(kept.from, sizeof kept.from, "%s", from);
    kept.seed = seed;
    kept.made = true;
    return STATUS_OK;
}

static enum status put_shown(struct json *json, cJSON *to, const struct quiz_set *set)
{
    enum status status;
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    struct page page;

    if (stream == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for a page of the quiz");
    page = page_console(stream, COLOR_NEVER);
    status = quiz_set_print(&page, set);
    fclose(stream);
    json_text(json, to, "shown", text);
    free(text);
    return status;
}

static void put_questions(struct json *json, cJSON *to, const struct quiz_set *set)
{
    cJSON *array = json_array(json, to, "questions");

    for (int q = 0; q < QUIZ_QUESTIONS; q++) {
        cJSON *question =
            JSON_ROW(json, array, KEY("text", quiz_question_text(set, (enum quiz_question)q)),
                     KEY("form", q == QUIZ_FACTOR ? quiz_factor_form(set) : NULL));
        cJSON *choices = json_array(json, question, "choices");
        for (int i = 0; i < QUIZ_CHOICES && q < QUIZ_CHOSEN; i++)
            json_text(json, choices, NULL, set->choices[q][i]);
    }
}

/* Null without answers; a missing one is "". */
static void put_marks(struct json *json, cJSON *to, const struct quiz_set *set,
                      const cJSON *answers)
{
    bool given = cJSON_IsArray(answers);
    cJSON *array = given ? json_array(json, to, "marks") : NULL;

    for (int q = 0; q < QUIZ_QUESTIONS && given; q++) {
        const char *answer = cJSON_GetStringValue(cJSON_GetArrayItem(answers, q));
        struct quiz_mark mark =
            quiz_answer_mark(set, (enum quiz_question)q, answer != NULL ? answer : "");
        JSON_ROW(json, array, KEY("word", quiz_mark_word(&mark)), KEY("points", mark.points),
                 KEY("reason", mark.reason));
    }
    JSON_ADD(json, to, KEY("name", given ? quiz_set_name(set) : NULL),
             KEY("variant", given ? variant_name(set->variant) : NULL));
}

static enum status put_page(struct json *json, cJSON *root, const cJSON *request)
{
    const char *from = cJSON_GetStringValue(cJSON_GetObjectItem(request, "from"));
    double seed = cJSON_GetNumberValue(cJSON_GetObjectItem(request, "seed"));
    double page = cJSON_GetNumberValue(cJSON_GetObjectItem(request, "page"));
    const struct quiz_set *set;

    if (!(seed >= 0 && seed < 9e15))
        FAIL(STATUS_BAD_USAGE, "a seed is a whole number from 0 to 9e15");
    TRY(keep_sets((uint64_t)seed, from != NULL ? from : ""));
    if (!(page >= 1 && page <= kept.sets.count))
        FAIL(STATUS_BAD_USAGE, "there are %d pages, from 1 on", kept.sets.count);
    set = &kept.sets.items[(int)page - 1];
    JSON_ADD(json, root, KEY("pages", kept.sets.count), KEY("page", (int)page));
    TRY(put_shown(json, root, set));
    put_questions(json, root, set);
    put_marks(json, root, set, cJSON_GetObjectItem(request, "answers"));
    return STATUS_OK;
}

char *web_quiz(const char *request_text)
{
    enum status status = STATUS_OK;
    struct json json = { .out_of_memory = false };
    cJSON *root = json_object(&json, NULL, NULL), *request = NULL;
    char *text = NULL;

    TRY_OUT(json_parse(&request, request_text, NULL, false));
    TRY_OUT(put_page(&json, root, request));
    TRY_OUT(json_print(&json, root, &text));

out:
    if (status != STATUS_OK)
        text = web_error();
    cJSON_Delete(root);
    cJSON_Delete(request);
    return text;
}
