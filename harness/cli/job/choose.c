/* Finds the scenarios, pairs of kernels and findings that a command line asks for. Names are those
 * of their lists, or else words that rows are also called; a name that is in none gets advice: the
 * rows whose lessons have it as a word, or else the name that is nearest to it.
 *
 * A choice is a set of places in these lists, so naming one twice, alone and within a group, runs
 * it once, and the order is always that of the list. */
#include "harness/cli/job/choose.h"

#include "harness/base/words/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { NAMES_MOST = 1024, WORDS_SIZE = 1 << 14, SPEAKERS_MOST = 4 };

static struct called also_called(const char *word)
{
    struct called called = { .scenario = NULL };
    const struct rule *rule;

    for (int i = 0; scenarios[i] != NULL && called.scenario == NULL; i++)
        if (names_have(scenarios[i]->name, word) || names_have(scenarios[i]->also, word))
            called.scenario = scenarios[i];
    for (int i = 0; kernel_lessons[i] != NULL && called.lesson == NULL; i++)
        if (names_have(kernel_lessons[i]->name, word) || names_have(kernel_lessons[i]->also, word))
            called.lesson = kernel_lessons[i];
    for (int i = 0; (rule = rule_at(i)) != NULL && called.rule == NULL; i++)
        if (names_have(rule->id, word) || names_have(rule->also, word))
            called.rule = rule;
    return called;
}

static bool is_nothing(const struct called *called)
{
    return called->scenario == NULL && called->lesson == NULL && called->rule == NULL;
}

struct called choose_called(const char *word)
{
    struct called called = { scenario_find(word), kernel_lesson_find(word), rule_find(word) };
    char argument[64];

    if (is_nothing(&called))
        called = also_called(word);
    snprintf(argument, sizeof argument, "%.*s", (int)strcspn(word, "=<>"), word);
    if (is_nothing(&called) && strcmp(argument, word) != 0)
        called = also_called(argument);
    for (const char *dot = argument; is_nothing(&called) && (dot = strchr(dot, '.')) != NULL;)
        called = also_called(++dot);
    return called;
}

/* --- Rows whose lessons have a word --- */

struct speakers {
    const char *word;
    int count;
    char names[128]; /* of the first SPEAKERS_MOST */
};

static bool is_in_word(char character)
{
    return isalnum((unsigned char)character) || character == '_';
}

/* Whether `text` has the word whole, in capitals or not. */
static bool has_word(const char *text, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = text; length > 0 && (at = strcasestr(at, word)) != NULL; at++)
        if (!(at > text && is_in_word(at[-1]) && is_in_word(*word)) &&
            !(is_in_word(at[length]) && is_in_word(word[length - 1])))
            return true;
    return false;
}

/* `texts` ends with NULL. */
static void speaker_add(struct speakers *speakers, const char *name, const char *const *texts)
{
    while (*texts != NULL && !has_word(*texts, speakers->word)) texts++;
    if (*texts == NULL || names_have(speakers->names, name))
        return;
    if (speakers->count++ < SPEAKERS_MOST)
        text_join(speakers->names, sizeof speakers->names, ", ", "%s", name);
}

#define SPEAKER_ADD(speakers, name, ...)                                                           \
    speaker_add(speakers, name, (const char *const[]){ __VA_ARGS__, NULL })

/* Follows "there is no scenario WORD". "": no lesson has it. */
static void advise_speakers(char text[NEAREST_ADVICE], const struct speakers *speakers)
{
    char more[32] = "";

    text[0] = '\0';
    if (speakers->count > SPEAKERS_MOST)
        snprintf(more, sizeof more, " and %d more", speakers->count - SPEAKERS_MOST);
    if (speakers->count > 0)
        snprintf(text, NEAREST_ADVICE, "; lessons that have this word: %s%s", speakers->names,
                 more);
}

/* Names and words, as one looks for the nearest. Words are cut out of `text`. */
struct names {
    const char *items[NAMES_MOST];
    int count;
    char text[WORDS_SIZE];
};

static void name_add(struct names *names, const char *name)
{
    if (names->count < NAMES_MOST)
        names->items[names->count++] = name;
}

static void words_add(struct names *names, const char *also)
{
    text_join(names->text, sizeof names->text, ", ", "%s", also);
}

void choose_advice(char text[NEAREST_ADVICE], const char *name, bool with_findings)
{
    struct names names = { .count = 0 };
    struct speakers speakers = { .word = name };
    const struct rule *rule;
    char *at = names.text;

    for (int i = 0; scenarios[i] != NULL; i++) {
        const struct scenario *row = scenarios[i];
        name_add(&names, row->name);
        words_add(&names, row->also);
        SPEAKER_ADD(&speakers, row->name, row->title, row->symptom, row->cause, row->fix, row->look,
                    row->cost, row->pytorch.before, row->pytorch.after);
    }
    for (int i = 0; kernel_lessons[i] != NULL; i++) {
        const struct kernel_lesson *row = kernel_lessons[i];
        name_add(&names, row->name);
        words_add(&names, row->also);
        SPEAKER_ADD(&speakers, row->name, row->title, row->symptom, row->cause, row->fix, row->look,
                    row->cost);
    }
    for (int group = GROUP_FIRST; group < GROUP_COUNT; group++)
        name_add(&names, scenario_groups[group].name);
    for (int i = 0; with_findings && (rule = rule_at(i)) != NULL; i++) {
        name_add(&names, rule->id);
        words_add(&names, rule->also);
        SPEAKER_ADD(&speakers, rule->id, rule->title, rule->symptom, rule->meaning, rule->advice);
    }
    advise_speakers(text, &speakers);
    if (text[0] == '\0')
        nearest_advice(text, name, names.items, names.count);
    for (char *word; text[0] == '\0' && (word = strsep(&at, ",")) != NULL;)
        name_add(&names, word + strspn(word, " "));
    if (text[0] == '\0')
        nearest_advice(text, name, names.items, names.count);
    if (text[0] == '\0')
        snprintf(text, NEAREST_ADVICE, "; chokepoint %s",
                 with_findings ? "explain lists them" : "list shows them");
}

/* The scenario or pair of kernels that a word names; a finding's word means the scenario that shows
 * it. */
static enum status choose_row(struct called *called, const char *name)
{
    char advice[NEAREST_ADVICE];

    *called = choose_called(name);
    if (called->scenario == NULL && called->lesson == NULL && called->rule != NULL)
        called->scenario = scenario_showing(called->rule->id);
    if (called->scenario != NULL || called->lesson != NULL)
        return STATUS_OK;
    if (called->rule != NULL)
        FAIL(STATUS_BAD_USAGE, "no scenario shows %s; %s explain %s says what diagnose finds",
             called->rule->id, program_invocation_name, called->rule->id);
    choose_advice(advice, name, false);
    FAIL(STATUS_BAD_USAGE, "there is no scenario %.60s%s", name[0] != '\0' ? name : "\"\"", advice);

    return STATUS_OK;
}

/* For commands that measure in their own process, as `exec` does, and so one scenario only. Each
 * way to name something else has its own sentence. */
enum status choose_only(const struct scenario **scenario, const struct flags *flags,
                        const char *command)
{
    struct called called;

    if (flags->argument_count == 0)
        FAIL(STATUS_BAD_USAGE, "a scenario is missing; %s list shows them",
             program_invocation_name);
    if (flags->argument_count > 1)
        FAIL(STATUS_BAD_USAGE, "%s takes one scenario; unexpected \"%.60s\"", command,
             flags->arguments[1]);
    if (choice_is_several(flags->arguments[0]))
        FAIL(STATUS_BAD_USAGE, "%s takes one scenario; \"%s\" stands for several, which run takes",
             command, flags->arguments[0]);
    TRY(choose_row(&called, flags->arguments[0]));
    if (called.scenario == NULL)
        FAIL(STATUS_BAD_USAGE, "%s takes a scenario; %s is a pair of kernels, which run takes",
             command, called.lesson->name);
    *scenario = called.scenario;

    return STATUS_OK;
}

bool choice_is_several(const char *name)
{
    return strcmp(name, "all") == 0 || strcmp(name, "core") == 0 || group_find(name) != GROUP_NONE;
}

enum status choice_add(struct choice *choice, const char *name)
{
    bool all = strcmp(name, "all") == 0, core = strcmp(name, "core") == 0;
    enum group group = group_find(name);
    struct called called = { .scenario = NULL };

    if (!choice_is_several(name))
        TRY(choose_row(&called, name));
    if (called.scenario != NULL) /* of both, what trains */
        called.lesson = NULL;
    for (int i = 0; i < CHOICE_MAX && scenarios[i] != NULL; i++)
        if (all || (core && i < scenarios_core) || scenarios[i] == called.scenario ||
            (group != GROUP_NONE && scenarios[i]->group == group))
            choice->chosen[i] = true;
    for (int i = 0; i < CHOICE_LESSONS_MAX && kernel_lessons[i] != NULL; i++)
        if (all || group == GROUP_GPU_KERNELS || kernel_lessons[i] == called.lesson)
            choice->lessons[i] = true;

    return STATUS_OK;
}

int choice_lessons(const struct choice *choice)
{
    int count = 0;

    for (int i = 0; i < CHOICE_LESSONS_MAX; i++) count += choice->lessons[i];
    return count;
}

int choice_count(const struct choice *choice)
{
    int count = 0;

    for (int i = 0; i < CHOICE_MAX; i++) count += choice->chosen[i];
    return count;
}
