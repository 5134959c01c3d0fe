/* Every kernel of the CPU device, called directly, against its reference in double precision. */
#include "tests/kernels/families.h"

int main(void)
{
    int pieces = 1;
    struct kernel_runner runner = cpu_runner(&pieces);

    return kernel_families_run(&runner, &pieces);
}
