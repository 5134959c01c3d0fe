/* A number with its unit, in three digits: each unit is scaled by its own steps, times and sizes
 * by tables, rates by powers of 1,000. */
#include "harness/base/figures/quantity.h"

#include "harness/base/status.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct scale {
    double least; /* the smallest magnitude, in the base unit, for which this row is used */
    double divisor;
    const char *unit;
};

/* Largest first; the last row takes everything that is left. */
static const struct scale times[] = {
    { 1e6, 1e6, "s" }, { 1e3, 1e3, "ms" }, { 1, 1, "us" }, { 0, 1e-3, "ns" }
};
static const struct scale sizes[] = { { 1 << 30, 1 << 30, "GiB" },
                                      { 1 << 20, 1 << 20, "MiB" },
                                      { 1 << 10, 1 << 10, "KiB" },
                                      { 0, 1, "B" } };

static int decimals(double value)
{
    double magnitude = fabs(value);

    return magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0;
}

static void print_scaled(char text[QUANTITY_SIZE], double value, const struct scale *scale)
{
    while (fabs(value) < scale->least) scale++;
    value /= scale->divisor;
    snprintf(text, QUANTITY_SIZE, "%.*f %s",
             value == rint(value) && scale->divisor == 1 ? 0 : decimals(value), value, scale->unit);
}

static bool is_decimal(const char *unit)
{
    static const char *const units[] = { "B/s", "FLOP/s", "FLOP", "Hz" };

    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        if (strcmp(unit, units[i]) == 0)
            return true;
    return false;
}

static void print_decimal(char text[QUANTITY_SIZE], double value, const char *unit)
{
    static const char *const prefixes[] = { "", "k", "M", "G", "T", "P" };
    size_t prefix = 0;

    for (; fabs(value) >= 999.5 && prefix + 1 < ARRAY_SIZE(prefixes); prefix++) value /= 1000;
    snprintf(text, QUANTITY_SIZE, "%.*f %s%s", decimals(value), value, prefixes[prefix], unit);
}

void quantity_print(char text[QUANTITY_SIZE], double value, const char *unit)
{
    if (!isfinite(value))
        snprintf(text, QUANTITY_SIZE, "-");
    else if (value == 0)
        snprintf(text, QUANTITY_SIZE, "0%s%s", unit[0] != '\0' ? " " : "", unit);
    else if (strcmp(unit, "us") == 0)
        print_scaled(text, value, times);
    else if (strcmp(unit, "B") == 0)
        print_scaled(text, value, sizes);
    else if (is_decimal(unit))
        print_decimal(text, value, unit);
    else if (fabs(value) < 0.01)
        snprintf(text, QUANTITY_SIZE, "%.1g%s%s", value, unit[0] != '\0' ? " " : "", unit);
    else
        snprintf(text, QUANTITY_SIZE, "%.*f%s%s", decimals(value), value,
                 unit[0] != '\0' ? " " : "", unit);
}

struct quantity_text quantity_of(double value, const char *unit)
{
    struct quantity_text quantity;

    quantity_print(quantity.text, value, unit);
    return quantity;
}

struct quantity_text quantity_time(double ns)
{
    return quantity_of(ns / 1e3, "us");
}

struct quantity_text quantity_bytes(double bytes)
{
    return quantity_of(bytes, "B");
}

struct quantity_text quantity_count(int64_t count)
{
    struct quantity_text text;

    snprintf(text.text, QUANTITY_SIZE, "%lld", (long long)count);
    return text;
}

struct quantity_text quantity_share(double share)
{
    struct quantity_text text = { "-" };

    if (isfinite(share))
        snprintf(text.text, QUANTITY_SIZE, "%.1f%%", 100 * share);
    return text;
}

void quantity_duration(char text[QUANTITY_SIZE], double seconds)
{
    long whole = isfinite(seconds) && seconds > 0 ? lround(fmin(seconds, 1e9)) : 0;

    if (whole < 60)
        snprintf(text, QUANTITY_SIZE, "%ld s", whole);
    else if (whole < 3600)
        snprintf(text, QUANTITY_SIZE, "%ld min %02ld s", whole / 60, whole % 60);
    else
        snprintf(text, QUANTITY_SIZE, "%ld h %02ld min", whole / 3600, whole % 3600 / 60);
}

void quantity_factor(char text[QUANTITY_SIZE], double factor)
{
    if (isfinite(factor))
        snprintf(text, QUANTITY_SIZE, "%.*fx", decimals(factor), factor);
    else
        snprintf(text, QUANTITY_SIZE, "-");
}
