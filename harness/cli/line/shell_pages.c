/* `--completion` and `--man`: what a shell completes, and the page of the manual, from the tables
 * of commands and options, so that neither can lag behind them.
 *
 * --help names neither option: they are for whoever installs the program. */
#include "harness/cli/line/command_set.h"

#include "harness/base/rows.h"
#include "harness/cli/line/flags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Some commands make their table of options as they are prepared. */
static enum status prepare_options(const struct command_set *set)
{
    for (int i = 0; i < set->command_count; i++) {
        const struct command *command = set->commands[i];
        struct flags *context;
        TRY(rows_make_bytes(&context, 1, command->context_size));
        *context = flags_default();
        if (command->prepare != NULL)
            command->prepare(context);
        if (command->release != NULL)
            command->release(context);
        free(context);
    }

    return STATUS_OK;
}

enum status shell_completion(const struct command_set *set)
{
    TRY(prepare_options(set));
    printf("# bash: source this; zsh: autoload bashcompinit && bashcompinit before.\n"
           "_chokepoint()\n{\n    local words=\n    case ${COMP_WORDS[1]} in\n");
    for (int i = 0; i < set->command_count; i++) {
        const struct command *command = set->commands[i];
        printf("    %s) words='", command->name);
        for (const struct option_row *row = command->options; row->name != NULL; row++)
            if (row->text != NULL)
                printf(" --%s", row->name);
        printf("' ;;\n");
    }
    printf(
        "    esac\n    case ${COMP_WORDS[1]} in\n    explain | run | exec) words+=\" $(\"$1\" list "
        "2>/dev/null | sed -n 's/^[* ] \\([a-z][a-z0-9_]*\\) .*/\\1/p')\" ;;\n    esac\n"
        "    [ \"$COMP_CWORD\" -gt 1 ] || words='");
    for (int i = 0; i < set->command_count; i++) printf(" %s", set->commands[i]->name);
    printf("'\n    COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n}\n"
           "complete -o default -F _chokepoint %s\n",
           set->name);

    return STATUS_OK;
}

/* roff takes a line that begins with a dot or an apostrophe, and a backslash, as its own. */
static void roff(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        bool begins = i == 0 || text[i - 1] == '\n';
        if (begins && (text[i] == '.' || text[i] == '\''))
            fputs("\\&", stdout);
        fputs(text[i] == '\\' ? "\\e" : text[i] == '-' ? "\\-" : "", stdout);
        if (text[i] != '\\' && text[i] != '-')
            putchar(text[i]);
    }
    putchar('\n');
}

/* Lines that begin with a blank, such as examples, stay as they are; others are filled. */
static void roff_help(const char *text)
{
    for (size_t bytes; *text != '\0';
         text += bytes + (text[bytes] == '\n' || text[bytes] == '\v')) {
        bytes = strcspn(text, "\n\v");
        if (bytes == 0 || text[0] == ' ')
            puts(bytes == 0 ? ".PP" : ".br");
        roff(text, bytes);
        if (text[bytes] == '\v')
            puts(".PP");
    }
}

static void roff_words(const char *heading, const struct command_word *words)
{
    printf(".SH %s\n", heading);
    for (; words->name != NULL; words++) {
        puts(".TP");
        roff(words->name, strlen(words->name));
        roff(words->text, strlen(words->text));
    }
}

enum status shell_manual(const struct command_set *set, const char *version)
{
    TRY(prepare_options(set));
    printf(".TH %s 1 \"\" \"%s %s\"\n.SH NAME\n%s \\- bottlenecks of training on GPUs\n"
           ".SH SYNOPSIS\n%s COMMAND [OPTION...]\n.SH DESCRIPTION\n",
           set->name, set->name, version, set->name, set->name);
    roff(set->text, strlen(set->text));
    puts(".SH COMMANDS");
    for (int i = 0; i < set->command_count; i++) {
        const struct command *command = set->commands[i];
        printf(".SS %s\n", command->name);
        roff_help(command->help);
        for (const struct option_row *row = command->options; row->name != NULL; row++) {
            if (row->text == NULL)
                continue;
            char heading[256];
            snprintf(heading, sizeof heading, "--%s%s%s", row->name, row->value != NULL ? "=" : "",
                     row->value != NULL ? row->value : "");
            puts(".TP");
            roff(heading, strlen(heading));
            roff(row->text, strlen(row->text));
        }
    }
    roff_words("EXAMPLES", set->examples);
    roff_words("ENVIRONMENT", set->variables);

    return STATUS_OK;
}
