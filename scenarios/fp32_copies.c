/* Copying batches in a wider type than the data have.
 *
 * A pixel is a byte. Turned into fp32 on the host, as transforms.ToTensor() does, it is four bytes
 * that say no more, and all four are copied; the device then narrows them to the type that it
 * computes in. Copied as bytes, they are widened and normalised by the kernel that reads them
 * anyway. The device crops the images of this step, so that a batch is large beside the work on
 * it. */
#include "scenarios/scenario.h"

const struct scenario scenario_fp32_copies = {
    .name = "fp32_copies",
    .title = "Copying batches in a wider type than the data have",
    .also = "uint8 images, PCIe traffic, conversion on the device, PCIe bandwidth",
    .group = GROUP_COPIES,
    .symptom = "the device waits for copies that are two to four times as long as the data",
    .cause = "bytes are widened to fp32 on the host (ToTensor()), and copied like that",
    .fix = "copy what the data are, bytes or 16 bits, and widen and normalise on the device",
    .look = "copies of four bytes per pixel, and kernels that begin only when they have ended",
    .cost = "normalising becomes work of the device, a single pass; gains nothing where copies "
            "are hidden behind longer work, other than a freer bus",
    .pytorch = {
        .before = "def load(x):  # x: bytes of pixels\n"
                  "    x = x.float() / 255  # four times as long\n"
                  "    return x.to(device).bfloat16()\n",
        .after = "def load(x):\n"
                 "    x = x.to(device)  # bytes\n"
                 "    return (x.float() / 255).bfloat16()\n",
    },
    .base = "model=light data=images batch=8 tokens=17 patch=8 crop=13 input=loaded "
            "transfer=inline",
    .knob = "pixels",
    .before = "fp32",
    .after = "bytes",
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* A quarter, but for the labels. */
        { METRIC_H2D_BYTES_PER_STEP, SHRINKS, .at_least = 3.9, .exact = true },
        /* Six quick runs on two very busy cores of an EPYC: 1.78 to 2.11. */
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.25 },
    },
    .accept = { { "exposed_copy", ANYWHERE } },
    /* The bytes that are left are still copied between two steps. */
    .tolerated_after = { { "exposed_copy", ANYWHERE }, { "device_wait", WHERE_CPU_DEVICE } },
};
