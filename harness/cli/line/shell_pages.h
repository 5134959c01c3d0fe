/* The words that a shell completes, and the page of the manual, on standard output. */
#pragma once

#include "harness/cli/line/command_set.h"

enum status
shell_completion(const struct command_set *set); /* for bash, and zsh with bashcompinit */
enum status shell_manual(const struct command_set *set, const char *version);
