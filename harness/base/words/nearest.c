/* The distance of Damerau and Levenshtein, with neighbours swapped as one change: what typing gets
 * wrong most. Where no name is near, one that contains the word is meant, if only one does. */
#include "harness/base/words/nearest.h"

#include "harness/base/words/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum {
    LONGEST = 63,
    FARTHEST_SHARE = 3, /* a third of the name */
    PART_LEAST = 4,
    FEW = 20, /* names that one message lists */
};

static int least(int a, int b)
{
    return a < b ? a : b;
}

static int folded(char character)
{
    return character == '-' ? '_' : tolower((unsigned char)character);
}

static int same(char a, char b)
{
    return folded(a) == folded(b);
}

/* Row i of the table holds the distances from the first i characters of a to every beginning of b.
 * A swap of neighbours looks two rows back, so three rows are kept. */
int nearest_distance(const char *a, const char *b)
{
    int table[3][LONGEST + 1];
    int length_a = (int)strnlen(a, LONGEST), length_b = (int)strnlen(b, LONGEST);

    for (int j = 0; j <= length_b; j++) table[0][j] = j;
    for (int i = 1; i <= length_a; i++) {
        int *row = table[i % 3], *above = table[(i + 2) % 3], *above_that = table[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= length_b; j++) {
            row[j] =
                least(above[j - 1] + !same(a[i - 1], b[j - 1]), 1 + least(above[j], row[j - 1]));
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
                row[j] = least(row[j], above_that[j - 2] + 1);
        }
    }
    return table[length_a % 3][length_b];
}

/* Whether `name` contains `part`, letters compared as above. */
static bool contains(const char *name, const char *part)
{
    size_t length = strlen(part);

    for (; *name != '\0'; name++) {
        size_t alike = 0;
        while (alike < length && name[alike] != '\0' && same(name[alike], part[alike])) alike++;
        if (alike == length)
            return true;
    }
    return false;
}

const char *nearest_name(const char *name, const char *const *names, int count)
{
    int length = (int)strnlen(name, LONGEST), least_distance = length / FARTHEST_SHARE + 1;
    const char *nearest = NULL;

    for (int i = 0; i < count; i++) {
        int distance = nearest_distance(name, names[i]);
        if (distance < least_distance) {
            nearest = names[i];
            least_distance = distance;
        }
    }
    if (nearest != NULL || length < PART_LEAST)
        return nearest;
    for (int i = 0; i < count; i++) {
        if (!contains(names[i], name))
            continue;
        if (nearest != NULL)
            return NULL;
        nearest = names[i];
    }
    return nearest;
}

/* The letters and digits of a name's first `length` characters, as names_have() compares them. */
static void fold_name(char text[LONGEST + 1], const char *name, size_t length)
{
    int count = 0;

    for (size_t i = 0; i < length && count < LONGEST; i++) {
        int letter = tolower((unsigned char)name[i]);
        if (isalnum(letter))
            text[count++] = (char)(letter == 'z' ? 's' : letter);
    }
    count -= count > 1 && text[count - 1] == 's';
    text[count] = '\0';
}

bool names_have(const char *names, const char *word)
{
    char wanted[LONGEST + 1], name[LONGEST + 1];

    fold_name(wanted, word, strlen(word));
    for (size_t length; *names != '\0'; names += length + (names[length] == ',')) {
        length = strcspn(names, ",");
        fold_name(name, names, length);
        if (wanted[0] != '\0' && strcmp(name, wanted) == 0)
            return true;
    }
    return false;
}

void nearest_advice(char text[NEAREST_ADVICE], const char *name, const char *const *names,
                    int count)
{
    const char *nearest = nearest_name(name, names, count);

    text[0] = '\0';
    if (nearest != NULL)
        snprintf(text, NEAREST_ADVICE, "; did you mean %s?", nearest);
    if (nearest != NULL || count > FEW)
        return;
    for (int i = 0; i < count; i++)
        text_append(text, NEAREST_ADVICE, "%s%s",
                    i == 0           ? "; there are "
                    : i == count - 1 ? " and "
                                     : ", ",
                    names[i]);
}
