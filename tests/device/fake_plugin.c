/* Plugins that the loader must refuse. As built: of another build id. With FAKE_WITHOUT_DRIVER: no
 * plugin at all. With FAKE_NEEDS: linked to a library that is nowhere to be found. */
#include "harness/device/driver.h"

#ifdef FAKE_NEEDS
int fake_absent(void);
__attribute__((visibility("default"))) int fake_needs(void);
int fake_needs(void)
{
    return fake_absent();
}
#endif

#ifndef FAKE_WITHOUT_DRIVER
__attribute__((visibility("default"))) device_driver_fn chokepoint_device_driver;

const struct device_driver *chokepoint_device_driver(void)
{
    static const struct device_driver driver = { .name = "cuda", .build_id = "of-yesterday" };

    return &driver;
}
#endif
