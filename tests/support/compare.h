/* Comparisons with float64, and the largest error over bound that was seen. */
#ifndef TESTS_COMPARE_H
#define TESTS_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "headwise/isa.h"

/* Whether |got - want| <= bound. A want that is NaN asks for NaN, an infinity for the same
 * infinity, and a bound of 0 for equality. Remembers the largest error / bound. */
bool compare_close(double got, double want, double bound);

/* compare_close(), or the test fails with the values, after the text of format. */
void compare_expect(double got, double want, double bound, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Fails the test unless the n floats have the same bits; any NaN equals any NaN. */
void compare_same_bits(const float *got, const float *want, size_t n, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

bool compare_equal_bits(float a, float b);

/* FNV-1a of 64 bits; begin with COMPARE_HASH_BASIS. */
#define COMPARE_HASH_BASIS 0xcbf29ce484222325u
uint64_t compare_hash(uint64_t hash, const void *data, size_t size_bytes);

/* Which tier the following comparisons belong to; prints the largest error / bound of each. */
void compare_set_tier(enum headwise_isa isa);
void compare_print_worst(void);

#endif
