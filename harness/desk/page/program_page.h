/* Where the wall time of a recorded program went. */
#pragma once

#include "harness/desk/diagnosis/program_times.h"

struct page;

void program_page(const struct page *page, const struct program_times *times);
