#include "harness/desk/read/sqlite/table_columns.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* A word, or a single character such as a comma. */
struct token {
    const char *bytes;
    size_t length; /* 0: the end */
    bool quoted, is_word;
};

struct scanner {
    const char *at, *end;
};

static bool is_word_byte(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_' || byte == '$' ||
           (unsigned char)byte >= 0x80;
}

static bool begins(const struct scanner *scanner, const char *text)
{
    size_t length = strlen(text);

    return (size_t)(scanner->end - scanner->at) >= length && memcmp(scanner->at, text, length) == 0;
}

/* Behind `text`, or the end. */
static void skip_behind(struct scanner *scanner, const char *text)
{
    while (scanner->at < scanner->end && !begins(scanner, text)) scanner->at++;
    if (scanner->at < scanner->end)
        scanner->at += strlen(text);
}

/* Blanks and comments. */
static void skip_blanks(struct scanner *scanner)
{
    for (;;) {
        if (begins(scanner, "--"))
            skip_behind(scanner, "\n");
        else if (begins(scanner, "/*"))
            skip_behind(scanner, "*/");
        else if (scanner->at < scanner->end && isspace((unsigned char)*scanner->at))
            scanner->at++;
        else
            return;
    }
}

static struct token next(struct scanner *scanner)
{
    static const char opening[] = "\"'`[", closing[] = "\"'`]";
    struct token token;
    const char *quote;

    skip_blanks(scanner);
    token = (struct token){ .bytes = scanner->at };
    if (scanner->at == scanner->end)
        return token;
    quote = *scanner->at != '\0' ? strchr(opening, *scanner->at) : NULL;
    if (quote != NULL) {
        char close = closing[quote - opening];
        token = (struct token){ .bytes = ++scanner->at, .quoted = true, .is_word = true };
        while (scanner->at < scanner->end && *scanner->at != close) scanner->at++;
        token.length = (size_t)(scanner->at - token.bytes);
        scanner->at += scanner->at < scanner->end;
        return token;
    }
    token.is_word = is_word_byte(*scanner->at);
    do {
        scanner->at++;
    } while (token.is_word && scanner->at < scanner->end && is_word_byte(*scanner->at));
    token.length = (size_t)(scanner->at - token.bytes);
    return token;
}

static bool is_end(const struct token *token)
{
    return token->length == 0 && !token->quoted;
}

static bool is(const struct token *token, const char *word)
{
    return !token->quoted && token->length == strlen(word) &&
           strncasecmp(token->bytes, word, token->length) == 0;
}

static bool begins_constraint(const struct token *token)
{
    static const char *const words[] = { "CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN" };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is(token, words[i]))
            return true;
    return false;
}

/* The rest of a definition, behind its name; whether there is another one. */
static bool finish_column(struct scanner *scanner, bool *is_row_number)
{
    struct token token = next(scanner), before = token;
    bool is_integer = is(&token, "INTEGER");
    int depth = 0;

    *is_row_number = false;
    for (; !is_end(&token); before = token, token = next(scanner)) {
        if (depth == 0 && is(&token, ","))
            return true;
        if (depth == 0 && is(&token, ")"))
            return false;
        depth += is(&token, "(") - is(&token, ")");
        if (is_integer && depth == 0 && is(&before, "PRIMARY") && is(&token, "KEY"))
            *is_row_number = true;
    }
    return false;
}

void table_columns(const char *sql, size_t length, table_column_visit *visit, void *context)
{
    struct scanner scanner = { sql, sql + length };
    struct token token;
    bool more = true;

    do {
        token = next(&scanner);
    } while (!is_end(&token) && !is(&token, "("));
    for (int number = 0; more; number++) {
        struct table_column column;
        token = next(&scanner);
        if (!token.is_word || begins_constraint(&token))
            return; /* constraints of the table come last */
        column = (struct table_column){ .name = token.bytes, .length = token.length };
        more = finish_column(&scanner, &column.is_row_number);
        visit(context, number, &column);
    }
}

bool table_column_is(const struct table_column *column, const char *name)
{
    return column->length == strlen(name) && strncasecmp(column->name, name, column->length) == 0;
}
