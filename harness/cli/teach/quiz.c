/* chokepoint quiz: a trace of an earlier run without its name, and questions about it, marked by
 * what that run measured; or a class's pages of them, with the key.
 *
 * Sets of questions are drawn by harness/lab/quiz from a seed, so the same seed asks the same
 * anywhere. The page of a trace is that of `diagnose` without its findings and names. */
#include "harness/base/system/atomic_file.h"
#include "harness/base/words/utf8.h"
#include "harness/cli/job/job_flags.h"
#include "harness/cli/line/commands.h"
#include "harness/cli/teach/lesson_print.h"
#include "harness/cli/teach/quiz_answer.h"
#include "harness/text/json.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ANSWER_SIZE = 128, KEY_SCHEMA = 1 };

struct quiz {
    struct flags flags;
    const char *from, *answers, *folder; /* NULL: not given */
    int sheet;                           /* 0: none */
    int page;                            /* of the sheet, to ask about; 0: the first */
    bool kernels;                        /* asks about kernels, not traces */
    struct benchmark_file measured;      /* what is asked about; all zero: kernels */
    struct quiz_sets sets;
};

/* --- The page --- */

/* Choices are lettered in the order of the set, which the seed has shuffled. */
static void print_question(const struct page *page, const struct quiz_set *set,
                           enum quiz_question question)
{
    char heading[96];

    snprintf(heading, sizeof heading, "Question %d: %s", question + 1,
             quiz_question_text(set, question));
    page_heading(page, heading);
    if (question == QUIZ_FACTOR) {
        page_paragraph(page, INK_PLAIN, "%s", quiz_factor_form(set));
        return;
    }
    for (int i = 0; i < QUIZ_CHOICES; i++)
        page_note(page, (const char[]){ (char)('a' + i), '\0' }, set->choices[question][i]);
}

/* --- One trace, answered here --- */

/* Removes white space at both ends. */
static void trim(char *text)
{
    size_t start = strspn(text, " \t\r\n"), length = strlen(text + start);

    memmove(text, text + start, length + 1);
    while (length > 0 && strchr(" \t\r\n", text[length - 1]) != NULL) text[--length] = '\0';
}

/* Asks again at a terminal; the end of the input is no answer. */
static void read_answer(char answer[ANSWER_SIZE], enum quiz_question question)
{
    bool again = isatty(STDIN_FILENO);

    answer[0] = '\0';
    do {
        if (answer[0] != '\0')
            printf("\"%.40s\" is not %s.", answer, quiz_answer_form(question));
        printf("\n%s: ", question == QUIZ_FACTOR ? "Factor" : "Letter");
        fflush(stdout);
        answer[0] = '\0';
        if (fgets(answer, ANSWER_SIZE, stdin) == NULL)
            break;
        if (strchr(answer, '\n') == NULL) /* the rest of a line that is too long */
            for (int c = getchar(); c != '\n' && c != EOF;) c = getchar();
        trim(answer);
    } while (again && !quiz_answer_is_well_formed(question, answer));
    /* An answer that is piped in ends no line of the page. */
    if (!again)
        putchar('\n');
}

/* "b,c,1.8" */
static enum status split_answers(char answers[QUIZ_QUESTIONS][ANSWER_SIZE], const char *text)
{
    int count = 0;

    for (const char *rest = text; rest != NULL; count++) {
        size_t length = strcspn(rest, ",");
        if (count == QUIZ_QUESTIONS)
            FAIL(STATUS_BAD_USAGE, "--answers=%.60s: there are %d questions", text,
                 (int)QUIZ_QUESTIONS);
        snprintf(answers[count], ANSWER_SIZE, "%.*s", (int)length, rest);
        trim(answers[count]);
        rest = rest[length] == ',' ? rest + length + 1 : NULL;
    }

    return STATUS_OK;
}

/* A mark per question with its reason; only then what it was. */
static void print_marks(const struct page *page, const struct quiz_set *set,
                        char answers[QUIZ_QUESTIONS][ANSWER_SIZE])
{
    double points = 0;

    page_heading(page, "Marks");
    for (int question = 0; question < QUIZ_QUESTIONS; question++) {
        struct quiz_mark mark =
            quiz_answer_mark(set, (enum quiz_question)question, answers[question]);
        char name[32];
        snprintf(name, sizeof name, "%d %s", question + 1, quiz_mark_word(&mark));
        page_note(page, name, mark.reason);
        points += mark.points;
    }
    page_summary(page, "Score: %g of %d", points, (int)QUIZ_QUESTIONS);
    page_paragraph(page, INK_PLAIN, "It was %s, %s.", quiz_set_name(set),
                   variant_name(set->variant));
}

/* All questions are answered before the first is marked, since a mark tells the next answer. */
static enum status ask(const struct quiz *quiz, const struct quiz_set *set)
{
    struct page page = flags_page(&quiz->flags);
    char answers[QUIZ_QUESTIONS][ANSWER_SIZE] = { "" };

    if (quiz->answers != NULL)
        TRY(split_answers(answers, quiz->answers));
    TRY(quiz_set_print(&page, set));
    for (int question = 0; question < QUIZ_QUESTIONS; question++) {
        print_question(&page, set, (enum quiz_question)question);
        if (quiz->answers == NULL)
            read_answer(answers[question], (enum quiz_question)question);
    }
    print_marks(&page, set, answers);
    putchar('\n');
    if (set->lesson != NULL)
        kernel_lesson_print(&page, set->lesson, &quiz->measured);
    else
        lesson_scenario(&page, set->scenario, &quiz->measured);

    return STATUS_OK;
}

/* --- Pages for a class --- */

/* Writes to the file what was printed to `stream`, which is closed in any case. */
static enum status write_file(const struct quiz *quiz, const char *name, FILE *stream,
                              char *const *text, const size_t *size)
{
    char path[PATH_MAX];

    if (fclose(stream) != 0)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for the text of %s", name);
    if (snprintf(path, sizeof path, "%s/%s", quiz->folder, name) >= (int)sizeof path)
        FAIL(STATUS_BAD_USAGE, "--out=%.60s...: too long a path", quiz->folder);
    return atomic_file_write(path, *text, *size);
}

static void page_name(char name[16], int number)
{
    snprintf(name, 16, "%02d.md", number + 1);
}

/* A page with the questions; the answers are in the key. */
static enum status write_set(const struct quiz *quiz, int number)
{
    enum status status = STATUS_OK;
    const struct quiz_set *set = &quiz->sets.items[number];
    char *text = NULL, name[16], title[32];
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    struct page page;

    page_name(name, number);
    snprintf(title, sizeof title, "%s %d", set->lesson != NULL ? "Kernel" : "Trace", number + 1);
    if (stream == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no memory for the text of %s", name);
    page = page_markdown(stream);
    page_title(&page, title);
    status = quiz_set_print(&page, set);
    for (int question = 0; question < QUIZ_QUESTIONS; question++)
        print_question(&page, set, (enum quiz_question)question);
    if (status == STATUS_OK)
        status = write_file(quiz, name, stream, &text, &size);
    else
        fclose(stream);

out:
    free(text);
    return status;
}

/* The right answers of a page, and the measured effect that they come from. */
static void add_key(struct json *json, cJSON *to, const struct quiz_set *set, int number)
{
    cJSON *answers = json_array(json, NULL, NULL);
    char text[16];

    for (int question = 0; question < QUIZ_CHOSEN; question++) {
        quiz_answer_right(text, sizeof text, set, (enum quiz_question)question);
        json_text(json, answers, NULL, text);
    }
    json_number(json, answers, NULL, quiz_factor(set));
    page_name(text, number);
    JSON_ROW(json, to, KEY("page", text), KEY("scenario", quiz_set_name(set)),
             KEY("variant", variant_name(set->variant)), KEY("finding", set->finding),
             KEY("answers", answers), KEY("effect", set->effect),
             KEY("interval", json_pair(json, set->low, set->high)));
}

static enum status write_key_json(const struct quiz *quiz, int count)
{
    enum status status = STATUS_OK;
    struct json json = { false };
    cJSON *root = json_object(&json, NULL, NULL), *array;
    char *text = NULL, path[PATH_MAX];

    json_integer(&json, root, "schema", KEY_SCHEMA);
    json_unsigned(&json, root, "seed", flags_seed(&quiz->flags));
    array = json_array(&json, root, "sets");
    for (int i = 0; i < count; i++) add_key(&json, array, &quiz->sets.items[i], i);
    TRY_OUT(json_print(&json, root, &text));
    if (snprintf(path, sizeof path, "%s/key.json", quiz->folder) >= (int)sizeof path)
        FAIL_OUT(STATUS_BAD_USAGE, "--out=%.60s...: too long a path", quiz->folder);
    TRY_OUT(atomic_file_write(path, text, strlen(text)));

out:
    cJSON_Delete(root);
    free(text);
    return status;
}

/* The same for people: a row per page. */
static enum status write_key(const struct quiz *quiz, int count)
{
    static const struct column columns[] = {
        { "page", -8, 0 }, { "scenario", -22, 0 }, { "variant", -8, 0 },       { "1", -2, 0 },
        { "2", -2, 0 },    { "3", -6, 0 },         { "measured", PAGE_CUT, 0 }
    };
    enum status status = STATUS_OK;
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    struct page page;
    int after = 0;

    if (stream == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no memory for the text of key.md");
    for (int i = 0; i < count; i++) after += quiz->sets.items[i].variant == VARIANT_AFTER;
    page = page_markdown(stream);
    page_title(&page, "Key");
    page_paragraph(&page, INK_PLAIN,
                   "%d of %d pages are after the fix, where nothing of the choices is right.",
                   after, count);
    page_table(&page, columns, ARRAY_SIZE(columns));
    for (int i = 0; i < count; i++) {
        const struct quiz_set *set = &quiz->sets.items[i];
        char name[16], right[QUIZ_QUESTIONS][16], effect[128];

        page_name(name, i);
        quiz_effect(effect, sizeof effect, set);
        for (int question = 0; question < QUIZ_QUESTIONS; question++)
            quiz_answer_right(right[question], sizeof right[0], set, (enum quiz_question)question);
        PAGE_LINE(&page, columns, name, quiz_set_name(set), variant_name(set->variant), right[0],
                  right[1], right[2], effect);
    }
    TRY_OUT(write_file(quiz, "key.md", stream, &text, &size));

out:
    free(text);
    return status;
}

/* Fewer pages than were asked for are no error: the result may not have more. */
static enum status write_sheet(const struct quiz *quiz)
{
    int count = quiz->sheet < quiz->sets.count ? quiz->sheet : quiz->sets.count;

    TRY(atomic_file_create_folder(quiz->folder));
    for (int i = 0; i < count; i++) TRY(write_set(quiz, i));
    TRY(write_key_json(quiz, count));
    TRY(write_key(quiz, count));
    utf8_print(stdout, "%s: %d page%s, key.json and key.md", quiz->folder, count,
               count == 1 ? "" : "s");
    if (count < quiz->sheet)
        printf("%s no more than %d %s to ask about; %d were asked for.\n",
               quiz->kernels ? "There are" : "The result has", count,
               quiz->kernels ? "kernels" : "traces", quiz->sheet);

    return STATUS_OK;
}

/* --- The command --- */

static enum status make_sets(struct quiz *quiz)
{
    const char *path = quiz->from != NULL ? quiz->from : quiz->flags.out;

    if (quiz->kernels && quiz->from != NULL)
        FAIL(STATUS_BAD_USAGE, "--kernels takes no result: it counts for itself");
    if (quiz->kernels) {
        TRY(quiz_kernel_sets_make(&quiz->sets, flags_seed(&quiz->flags)));
        return STATUS_OK;
    }
    if (access(path, F_OK) != 0)
        FAIL(STATUS_BAD_INPUT, "there is no result %s to ask about: %s run writes one, with traces",
             path, program_invocation_name);
    TRY(benchmark_file_read(&quiz->measured, path, BENCHMARK_TIME));
    return quiz_sets_make(&quiz->sets, &quiz->measured, path, flags_seed(&quiz->flags));
}

static enum status run_quiz(void *context, int *exit_code)
{
    struct quiz *quiz = context;
    (void)exit_code;
    if ((quiz->sheet > 0) != (quiz->folder != NULL))
        FAIL(STATUS_BAD_USAGE,
             "--sheet=N and --out=DIR belong together: how many pages, and where");
    if (quiz->sheet > 0 && quiz->answers != NULL)
        FAIL(STATUS_BAD_USAGE, "--answers answers one trace; --sheet asks about several");
    TRY(make_sets(quiz));
    if (quiz->page > quiz->sets.count)
        FAIL(STATUS_BAD_USAGE, "--page=%d: %s %d %s to ask about", quiz->page,
             quiz->kernels ? "there are" : "the result has", quiz->sets.count,
             quiz->kernels ? "kernels" : "traces");
    return quiz->sheet > 0 ? write_sheet(quiz)
                           : ask(quiz, &quiz->sets.items[quiz->page > 0 ? quiz->page - 1 : 0]);
}

static void release_quiz(void *context)
{
    struct quiz *quiz = context;

    quiz_sets_release(&quiz->sets);
    benchmark_file_release(&quiz->measured);
}

static const struct option_row options[] = {
    { "from", "PATH", "result of run, with its traces; chokepoint-result if not given", 1,
      value_text, .offset = offsetof(struct quiz, from) },
    { "kernels", NULL, "ask about kernels of gpu_kernels by their counts; no result is needed", 1,
      value_boolean, .offset = offsetof(struct quiz, kernels) },
    { "seed", "N", "which trace, and the order of choices", 2, flags_take_seed, .offset = 0 },
    { "page", "N", "ask about page N of the sheet with this seed; 1 if not given", 2, value_count,
      .offset = offsetof(struct quiz, page), .least = 1, .most = 1000 },
    { "answers", "LETTER,LETTER,FACTOR", "answers, instead of standard input: b,c,1.8", 2,
      value_text, .offset = offsetof(struct quiz, answers) },
    { "sheet", "N", "write N different pages and their key instead of asking", 3, value_count,
      .offset = offsetof(struct quiz, sheet), .least = 1, .most = 1000 },
    { "out", "DIR", "where --sheet writes 01.md, 02.md ..., key.md and key.json", 3, value_text,
      .offset = offsetof(struct quiz, folder) },
    FLAG_COLOR,
    FLAG_VERBOSE,
    OPTIONS_END,
};

const struct command command_quiz = {
    .name = "quiz",
    .text = "a trace without its name: what holds it back?",
    .arguments = NULL,
    .help =
        "Draws a trace of an earlier run, before the fix or, for at most a third of all, after it, "
        "and prints its page without "
        "findings and names. Asks what holds it back, where one sees that, and by which factor "
        "the fix would shorten the step. Answers are marked by what the run found and measured; a "
        "factor is right inside the measured interval or within 15%, half right within 35%. Then "
        "comes the lesson. The same seed draws the same. With --kernels it is a kernel of "
        "gpu_kernels, "
        "before or after, of which the counts are shown.\v"
        "Examples:\n"
        "  chokepoint run all; chokepoint quiz --seed=7\n"
        "  chokepoint quiz --seed=7 --answers=b,c,1.8\n"
        "  chokepoint quiz --from=chokepoint-result --sheet=12 --out=class\n"
        "  chokepoint quiz --kernels --seed=7\n"
        "\n"
        "The exit code is 0 whatever the score; 2 for bad usage or a result without traces.",
    .options = options,
    .context_size = sizeof(struct quiz),
    .run = run_quiz,
    .release = release_quiz,
};
