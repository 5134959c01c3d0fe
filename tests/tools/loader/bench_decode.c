/* Prints what loading one generated sample costs on the host: reading, decoding, resizing to 32. */
#include "harness/engine/data/dataset.h"

#include <stdio.h>

int main(void)
{
    static const int pixels[] = { 32, 64, 96, 128, 224, 512 };

    for (size_t i = 0; i < ARRAY_SIZE(pixels); i++) {
        double whole, scaled;

        if (dataset_decode_ns(pixels[i], 32, false, &whole) != STATUS_OK ||
            dataset_decode_ns(pixels[i], 32, true, &scaled) != STATUS_OK) {
            fprintf(stderr, "%s\n", status_last()->text);
            return 1;
        }
        printf("%4d x %-4d %8.1f us, %8.1f us if the decoder scales: %.2f times as fast\n",
               pixels[i], pixels[i], whole / 1000, scaled / 1000, whole / scaled);
    }
    return 0;
}
