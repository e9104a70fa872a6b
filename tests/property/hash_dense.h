/* Hashes of fixed calls of MLPs, linear layers and norms of rows. */
#ifndef TESTS_HASH_DENSE_H
#define TESTS_HASH_DENSE_H

#include <stdint.h>

#include "headwise/context.h"

enum { HASH_DENSE_CASES = 17 };

const char *hash_dense_name(int number);

/* Of the outputs of a call with rows in fixed random numbers. */
uint64_t hash_dense(headwise_context *context, int number);

#endif
