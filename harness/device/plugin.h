/* Finding and loading plugins: those of devices, and the one that connects ranks. */
#pragma once

#include "harness/device/driver.h"

/* Loads libchokepoint_<name>.so, or the best of libchokepoint_<name>-x86-64-v<level>.so that this
 * CPU can run, from the folder of the running program or ../lib/chokepoint beside it, or from the
 * folder that CHOKEPOINT_PLUGINS names, and from nowhere else then. It stays loaded. NO_LIBRARY:
 * there is none, a library it needs is missing, or it was built from other sources. */
enum status plugin_load(const struct device_driver **driver, const char *name);

/* The same for a plugin that is no device: its one function. */
struct plugin_title {
    const char *file;   /* "mpi": of libchokepoint_mpi.so */
    const char *who;    /* needs it: "the cpu device" */
    const char *advice; /* if there is none */
    const char *symbol;
};
enum status plugin_symbol(void **symbol, const struct plugin_title *title);

/* Whether the plugin was built from the program's headers. */
enum status plugin_check_build(const char *build_id, const char *file);
