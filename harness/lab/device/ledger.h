/* The program's own records of an open device: counters and planned faults. */
#ifndef HARNESS_LAB_DEVICE_LEDGER_H
#define HARNESS_LAB_DEVICE_LEDGER_H

#include "harness/lab/device/faults.h"

/* struct device_counters, counted from several threads. */
struct device_ledger {
    _Atomic int64_t launches, graph_launches;
    _Atomic int64_t copies, copy_bytes[3]; /* by enum copy_kind */
    _Atomic int64_t memsets, synchronizations, event_records;
    _Atomic int64_t collectives, collective_bytes;
    _Atomic int64_t allocations, frees, host_allocations;
    struct faults faults;
};

#endif
