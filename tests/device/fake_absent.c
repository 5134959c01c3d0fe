/* The library that fake_plugin.c needs and that is not where the loader looks. */
__attribute__((visibility("default"))) int fake_absent(void);

int fake_absent(void)
{
    return 0;
}
