/* An allocator that counts, checks what it is given back, and fails when told to. */
#ifndef TESTS_COUNTING_H
#define TESTS_COUNTING_H

#include <stdatomic.h>
#include <stdint.h>

#include "headwise/common.h"

struct counting {
    int64_t fail_at;         /* the call with this number, from 0, and all later ones, give NULL */
    _Atomic int64_t n_calls; /* of alloc */
    _Atomic int64_t n_live;  /* blocks not yet released */
    _Atomic int64_t n_refused; /* calls that gave NULL */
    _Atomic int64_t n_wrong; /* releases with the wrong size, alignments that are no power of two */
};

#define COUNTING_UNLIMITED                                                                         \
    { .fail_at = INT64_MAX }

/* counting must outlive every object made with the allocator. */
struct headwise_allocator counting_allocator(struct counting *counting);

/* Fails the test where a block is live, or a release was wrong. */
void counting_expect_balanced(const struct counting *counting);

#endif
