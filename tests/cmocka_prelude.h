/* cmocka wants these before it. */
#ifndef TESTS_CMOCKA_PRELUDE_H
#define TESTS_CMOCKA_PRELUDE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
