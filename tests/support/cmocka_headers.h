/* cmocka.h needs these four before it, in every test. */
#ifndef TESTS_CMOCKA_HEADERS_H
#define TESTS_CMOCKA_HEADERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
