#include "harness/base/nearest.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

enum { LONGEST = 63 };

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

/* Row i of the table holds the distances from the first i characters of a to every beginning of b. A
 * swap of neighbours looks two rows back, so three rows are kept. */
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

const char *nearest_name(const char *name, const char *const *names, int count)
{
    const char *nearest = NULL;
    int least_distance = INT_MAX;

    for (int i = 0; i < count; i++) {
        int distance = nearest_distance(name, names[i]);
        if (distance < least_distance) {
            nearest = names[i];
            least_distance = distance;
        }
    }
    return nearest;
}
