/* The data of a run, looked at before anything is measured: what is missing is found once, and not
 * by every scenario after it was started. */
#pragma once

#include "harness/cli/job/choose.h"
#include "harness/engine/data/own_images.h"
#include "harness/lab/experiment/protocol.h"
#include "harness/text/page.h"

struct run_data {
    struct own_images images; /* found == 0: none of the scenarios takes the user's */
    char without[256];        /* "small_batch, launch_overhead": those that take no images */
    int without_count;
};

/* Brings the user's images to the sizes that the chosen scenarios begin with: `pixels`, by
 * scenario, or those of the settings where that is 0. Without --data only checks that generated
 * ones of these sizes are there or can be written. Scenarios that the device cannot show are passed
 * over. BAD_INPUT or IO names the folder and says what is wrong with it, or how many images are
 * missing. */
enum status run_data_check(struct run_data *data, const struct choice *choice,
                           const int pixels[CHOICE_MAX], const struct protocol *protocol,
                           const struct device_properties *device);

/* Says which images were used, which of them could not be, and who took none. Nothing without
 * --data. */
void run_data_print(const struct run_data *data, const struct protocol *protocol,
                    const struct page *page);
