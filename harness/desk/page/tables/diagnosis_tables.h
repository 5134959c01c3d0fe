/* The tables of a diagnosis: the mix of a transformer, kernels, copies, phases, operators and
 * memory.
 *
 * Columns of operators have PyTorch's headings (key_averages().table()). "CUDA" stands for the
 * device where PyTorch says so, on NVIDIA's and on AMD's; other devices, ours on the CPU among
 * them, are "device". */
#pragma once

#include "harness/desk/analysis/summary.h"
#include "harness/desk/diagnosis/diagnosis.h"
#include "harness/text/page.h"

/* Those of which the trace has something; the first rows of each. */
void diagnosis_tables(const struct page *page, const struct summary *summary,
                      const struct table_choice *choice);

/* The figures that the rules looked at: this trace's figure, what is good, what is bad, and who
 * says so. */
void diagnosis_thresholds(const struct page *page, const struct findings *findings);
