/* The questions of the page in a browser about kernels. Each answer is JSON, for free(); NULL: no
 * memory. */
#pragma once

/* The lessons: {"kernels": [those of `list --format=json`, each with "launches", its grid, block
 * and arguments by variant as options have them, "source" and "ptx"], "strides": {"source", "ptx"}
 * of kernels/strides}. */
char *web_lessons(void);

/* The output of `kernel --format=json`, or {"error": sentence}. The request is an object with the
 * options of `kernel`: "file", "kernel", "grid", "block" and "args" are texts, "shared", "arch",
 * "registers" and "elements" numbers; "ptx" is the file's text, unless "file" is a kernel of a
 * lesson, and "source" that of "source_path", whose lines the PTX names; it may be null. The
 * kernel's own output goes to standard output. */
char *web_kernel(const char *request);

/* {"error": the last error's sentence} */
char *web_error(void);
