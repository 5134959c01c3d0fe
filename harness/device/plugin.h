/* Finding and loading the plugin of a device. */
#ifndef HARNESS_DEVICE_PLUGIN_H
#define HARNESS_DEVICE_PLUGIN_H

#include "harness/device/driver.h"

/* Loads libchokepoint_<name>.so from the folder of the running program or ../lib/chokepoint beside
 * it, or from the folder that CHOKEPOINT_PLUGINS names, and from nowhere else then. It stays loaded.
 * NO_LIBRARY: there is none, a library it needs is missing, or it was built from other sources. */
enum status plugin_load(const struct device_driver **driver, const char *name);

#endif
