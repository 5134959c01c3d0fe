/* Looks at the images of a run before anything is measured, so that what is missing is found once.
 * The settings before the fix say which images a scenario takes; those after take the same. A
 * scenario that takes no images is only counted, for the sentence at the end of the page. */
#include "harness/cli/job/run_data.h"

#include "harness/base/words/text.h"
#include "harness/engine/data/dataset.h"
#include "harness/engine/data/images/generated_images.h"
#include "harness/lab/experiment/parent/progress.h"

/* The batch must come from the images that are left for training. */
static enum status check_image_count(const struct training_config *config,
                                     const struct scenario *scenario,
                                     const struct own_images *images)
{
    enum status status = STATUS_OK;
    struct dataset *dataset = NULL;
    uint32_t count;

    TRY_OUT(dataset_open(&dataset, &config->data));
    count = dataset_count(dataset, SPLIT_TRAIN);
    if (count < (uint32_t)config->model.batch)
        FAIL_OUT(
            STATUS_BAD_INPUT,
            "--data=%.200s: %s trains on %d images per step, and the folder has %u to train on "
            "(%u of %u files can be decoded, one in ten is held out); add %u or more",
            config->data.folder, scenario->name, config->model.batch, count, images->images,
            images->images + images->damaged, (uint32_t)config->model.batch - count);

out:
    dataset_close(dataset);
    return status;
}

/* `pixels`: side of the files; 0: as the settings have it. */
static enum status check_scenario(struct run_data *data, const struct scenario *scenario,
                                  int pixels, const struct protocol *protocol,
                                  const struct device_properties *device)
{
    enum status status;
    struct training_config config;
    char path[PATH_MAX];

    /* Such a scenario will be skipped, so its images do not matter. */
    if (!where_holds(scenario->needs, device))
        return STATUS_OK;
    status = protocol_config(protocol, scenario, VARIANT_BEFORE, device, &config);
    if (status == STATUS_REFUSED || status == STATUS_UNSUPPORTED)
        return STATUS_OK; /* The scenario will be skipped, and say so itself. */
    TRY(status);
    if (config.data.kind != DATA_IMAGES) {
        text_join(data->without, sizeof data->without, ", ", "%s", scenario->name);
        data->without_count++;
        return STATUS_OK;
    }
    if (pixels > 0)
        config.data.jpeg_pixels = pixels;
    if (protocol->data == NULL) {
        TRY(generated_images_try(config.data.jpeg_pixels, config.data.uneven));
        return STATUS_OK;
    }
    status = own_images_get(path, protocol->data, config.data.jpeg_pixels, &data->images);
    if (status != STATUS_OK)
        status_context("--data=%.60s", protocol->data);
    TRY(status);
    return check_image_count(&config, scenario, &data->images);
}

enum status run_data_check(struct run_data *data, const struct choice *choice,
                           const int pixels[CHOICE_MAX], const struct protocol *protocol,
                           const struct device_properties *device)
{
    enum status status = STATUS_OK;
    struct progress progress = progress_start(1);

    *data = (struct run_data){ 0 };
    if (protocol->data != NULL)
        progress_show(&progress, 0, "reading the images in %s", protocol->data);
    for (int i = 0; i < CHOICE_MAX; i++)
        if (choice->chosen[i])
            TRY_OUT(check_scenario(data, scenarios[i], pixels[i], protocol, device));

out:
    progress_clear(&progress);
    return status;
}

void run_data_print(const struct run_data *data, const struct protocol *protocol,
                    const struct page *page)
{
    const struct own_images *images = &data->images;
    uint32_t taken = images->images + images->damaged;

    if (protocol->data == NULL)
        return;
    if (images->found > 0 && taken < images->found)
        page_paragraph(page, INK_PLAIN,
                       "Images: %u of the %u in %s, evenly from all classes, resized.", taken,
                       images->found, protocol->data);
    else if (images->found > 0)
        page_paragraph(page, INK_PLAIN, "Images: the %u in %s, resized.", taken, protocol->data);
    if (images->damaged > 0)
        page_paragraph(page, INK_PLAIN, "%u of them cannot be decoded and %s left out: %s%s.",
                       images->damaged, images->damaged == 1 ? "was" : "were",
                       images->first_damaged, images->damaged == 1 ? "" : " is the first");
    if (data->without_count > 0)
        page_paragraph(page, INK_PLAIN, "%s train%s on generated sequences, not on images.",
                       data->without, data->without_count == 1 ? "s" : "");
}
