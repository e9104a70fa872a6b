/* The kernels of the tier under test. */
#ifndef TESTS_TIER_H
#define TESTS_TIER_H

#include "cmocka_headers.h"
#include "kernels/dispatch.h"
#include "kernels/kernels.h"

static inline const struct headwise_kernels *tier_kernels(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = headwise_kernels_get(isa);
    assert_non_null(kernels);
    assert_int_equal(kernels->isa, isa); /* the tier that was asked for, not a stand-in */
    return kernels;
}

#endif
