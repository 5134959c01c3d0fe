#include "harness/experiment/protocol.h"

struct protocol protocol_default(bool quick)
{
    return (struct protocol){
        .device = "auto",
        .repetitions = quick ? 6 : 9,
        .extra = quick ? 9 : 6,
        .window_seconds = quick ? 0.1 : 0.2,
        .timeout_seconds = quick ? 120 : 300, /* the first run also generates its images */
        .seed = 1,
        .quick = quick,
    };
}
