#include "harness/engine/settings/knob_acts.h"

#include "harness/base/words/text.h"

#include <stdio.h>
#include <string.h>

enum { WORD = 64 };

/* One setting of a condition. */
struct condition {
    char knob[WORD], values[WORD];
    bool excludes; /* "!=" */
};

static const struct knob *find(const char *name)
{
    int count;
    const struct knob *knobs = knobs_list(&count);

    for (int i = 0; i < count; i++)
        if (strcmp(knobs[i].name, name) == 0)
            return &knobs[i];
    return NULL;
}

/* Reads the setting at `text`; returns what follows it. NULL: the text is over. */
static const char *next_condition(const char *text, struct condition *condition)
{
    size_t name, values;

    text += strspn(text, " ");
    if (*text == '\0')
        return NULL;
    name = strcspn(text, "!=");
    snprintf(condition->knob, WORD, "%.*s", (int)name, text);
    condition->excludes = text[name] == '!';
    text += name + strspn(text + name, "!=");
    values = strcspn(text, " ");
    snprintf(condition->values, WORD, "%.*s", (int)values, text);
    return text + values;
}

static bool is_among(const char *values, const char *value)
{
    size_t length = strlen(value);

    while (*values != '\0') {
        size_t one = strcspn(values, "|");
        if (one == length && strncmp(values, value, one) == 0)
            return true;
        values += one + (values[one] == '|');
    }
    return false;
}

static void explain(const char *name, const struct condition *condition, const char *value,
                    char why[KNOB_WHY])
{
    char flag[WORD];

    snprintf(flag, sizeof flag, "%s", condition->knob);
    for (char *letter = flag; *letter != '\0'; letter++)
        if (*letter == '_')
            *letter = '-';
    snprintf(why, KNOB_WHY, "%s acts only with --%s%s%s (here %s=%s)", name, flag,
             condition->excludes ? " other than " : "=", condition->values, condition->knob, value);
}

bool knob_acts(const struct training_config *resolved, const char *name, char why[KNOB_WHY])
{
    const struct knob *knob = find(name);
    const char *next = knob != NULL && knob->acts != NULL ? knob->acts : "";
    struct condition condition;

    why[0] = '\0';
    while ((next = next_condition(next, &condition)) != NULL) {
        char value[WORD];
        if (knob_get(resolved, condition.knob, value, sizeof value) == STATUS_OK &&
            is_among(condition.values, value) == condition.excludes) {
            explain(name, &condition, value, why);
            return false;
        }
    }
    return true;
}

bool knobs_next_idle(const struct training_config *config, const struct training_config *resolved,
                     int *at, char why[KNOB_WHY])
{
    struct training_config defaults;
    int count;
    const struct knob *knobs = knobs_list(&count);

    knobs_defaults(&defaults);
    while (*at < count) {
        const char *name = knobs[(*at)++].name;
        char value[WORD], usual[WORD];
        if (knob_get(config, name, value, sizeof value) == STATUS_OK &&
            knob_get(&defaults, name, usual, sizeof usual) == STATUS_OK &&
            strcmp(value, usual) != 0 && !knob_acts(resolved, name, why))
            return true;
    }
    return false;
}
