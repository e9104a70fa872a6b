/* From a tier's name to its kernels. */
#ifndef HEADWISE_DISPATCH_H
#define HEADWISE_DISPATCH_H

#include "kernels/dot.h"
#include "kernels/kernels.h"

/* The table of a tier that is built and usable here, else NULL. AUTO gives NULL. */
const struct headwise_kernels *headwise_kernels_get(enum headwise_isa isa);

/* Products of bytes of a usable tier that are built and that this processor has: number 0 the
 * fastest, then others, which give the same bits; NULL from the first number that there is not. */
const struct headwise_dot *headwise_dot_get(enum headwise_isa isa, int number);

/* Resolves AUTO by HEADWISE_ISA of the environment, then the best usable tier, and finds the table.
 * HEADWISE_ERR_INVALID: HEADWISE_ISA holds no tier's name, isa is no headwise_isa.
 * HEADWISE_ERR_UNSUPPORTED: not built, or not usable here. The error text is set. */
enum headwise_status headwise_kernels_choose(const struct headwise_kernels **kernels,
                                             enum headwise_isa isa);

#endif
