/* Rows rounded to bytes, from the text of mha.h. */
#ifndef TESTS_ROUNDED_H
#define TESTS_ROUNDED_H

#include <stdint.h>

#include "headwise/isa.h"

struct rounded_row {
    enum headwise_isa isa; /* scalar multiplies, then adds */
    float scale, inverse, zero;
};

struct rounded_row rounded_make(enum headwise_isa isa, const float *x, int64_t n);

/* u - zero of a component. */
int64_t rounded_integer(const struct rounded_row *row, float x);

/* A sum of integers as the output that it becomes. */
float rounded_output(const struct rounded_row *row, int64_t sum, float scale, float bias);

#endif
