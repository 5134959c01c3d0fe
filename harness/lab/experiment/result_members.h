/* The members of a result's structs, once for the records of a child (records.h) and for result
 * files, whose names they are. Each list goes through one struct. */
#pragma once

#include "harness/lab/experiment/result.h"
#include "harness/text/members.h"

member_list device_members;   /* struct device_properties, without its traits */
member_list settings_members; /* char[VARIANT_COUNT][1024] */
member_list balance_members;  /* struct balance_result */
member_list tracing_members;  /* struct tracing, without file, ranks and reason */

/* struct repetition, without its damaged samples. Reading allocates step_ns, also where it finds a
 * fault after it. */
member_list repetition_members;
