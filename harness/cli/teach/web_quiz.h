/* The quiz, as the page in a browser asks for it. */
#pragma once

/* A page of the quiz as JSON, for free(); NULL: no memory. The request is an object: "seed" and
 * "page" are numbers, "from" the path of a result with its traces, null for kernels, and "answers"
 * texts, null before they are given. The answer is {"error": sentence}, or
 *
 *     {"pages": number of them, "page": its number, "shown": what `quiz` prints of it,
 *      "questions": [{"text": ..., "choices": [...], "form": what a factor means, or null}],
 *      "marks": [{"word": "right", "points": 1, "reason": ...}], or null,
 *      "name": of the scenario or lesson, "variant": before or after; both null before the answers}
 */
char *web_quiz(const char *request);
