/* diagnose --fail-on=LEVEL: a diagnosis as a check, which names what it does not pass for. */
#ifndef HARNESS_CLI_TRACES_FAIL_ON_H
#define HARNESS_CLI_TRACES_FAIL_ON_H

#include "harness/desk/diagnosis/diagnosis.h"
#include "harness/text/page.h"

/* Whether no trace (only number `only`, if that is 0 or more) has a finding of that severity or
 * above, and each tells enough to be judged. A line on `page` names each of those that do, and the
 * trace; `markdown` as the page has it. */
bool fail_on_passes(const struct page *page, const struct diagnosis *diagnosis, int only,
                    enum severity level);

#endif
