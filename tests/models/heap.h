/* Allocations of the whole program, counted, that fail when told to. */
#ifndef TESTS_MODELS_HEAP_H
#define TESTS_MODELS_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "headwise/common.h"

/* Call number fail_at fails, with all the later ones too; below 0: none. */
extern struct heap {
    int64_t fail_at, n_calls, n_live, n_refused;
    bool all;
} heap;

/* For contexts: the core's allocations count too. */
extern const struct headwise_allocator heap_allocator;

#endif
