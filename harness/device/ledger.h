/* The program's own records of an open device: counters and planned faults. */
#ifndef HARNESS_DEVICE_LEDGER_H
#define HARNESS_DEVICE_LEDGER_H

#include "harness/device/device.h"
#include "harness/device/faults.h"

/* struct device_counters, counted from several threads. */
struct device_ledger {
#define LEDGER_COUNTER(name) _Atomic int64_t name;
    DEVICE_COUNTERS(LEDGER_COUNTER)
#undef LEDGER_COUNTER
    struct faults faults;
};

#endif
