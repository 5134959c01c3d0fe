/* Quantities as people read them: 1420 us is "1.42 ms", 22544384 B is "21.5 MiB". */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { QUANTITY_SIZE = 32 }; /* room for any of these texts */

/* Three digits of `value`, in a unit of its own size: "us" becomes ns, us, ms or s; "B" becomes B,
 * KiB, MiB or GiB; "B/s", "FLOP/s", "FLOP" and "Hz" get a decimal prefix, as everywhere in the
 * field: 40.9 GB/s; any other unit is printed as it is. Values that are not finite become "-". */
void quantity_print(char text[QUANTITY_SIZE], double value, const char *unit);

/* The same, and a time, a size, a count and a share, as arguments of a call:
 * quantity_time(1.42e6).text is "1.42 ms", quantity_share(0.125).text "12.5%". */
struct quantity_text {
    char text[QUANTITY_SIZE];
};
struct quantity_text quantity_of(double value, const char *unit);
struct quantity_text quantity_time(double ns);
struct quantity_text quantity_bytes(double bytes);
struct quantity_text quantity_count(int64_t count);
struct quantity_text quantity_share(double share);

/* A wait: "41 s", "3 min 05 s", "2 h 10 min". */
void quantity_duration(char text[QUANTITY_SIZE], double seconds);

/* A factor: "1.39x", "20.0x", "1250x". */
void quantity_factor(char text[QUANTITY_SIZE], double factor);
