/* The questions that a page in a browser asks of the desk: chokepoint_desk.h with texts as
 * arguments, for one desk at a time. Each answer is JSON, for free(); NULL: no memory. A question
 * that cannot be answered has {"error": sentence}. */
#pragma once

/* Opens files and folders, named by lines, in place of those that were open: {"count": of those
 * that were read, "troubles": [a sentence for each that could not be]}. */
char *web_desk_open(const char *names);

/* The output of `diagnose --format=json --what-if`, with the timeline of so many steps; of digests
 * without replay and timeline, for which they have no events. */
char *web_desk_diagnosis(int timeline);

/* chokepoint_desk_what_if() */
char *web_desk_what_if(int which, const char *causes);

/* chokepoint_desk_timeline() */
char *web_desk_timeline(int which, int steps);

/* chokepoint_compare(), of two files whether or not they are open */
char *web_desk_compare(const char *base, const char *other);

/* The document of `report` (viewer/README.md): of one result with the traces beside it. */
char *web_desk_report(const char *name);
