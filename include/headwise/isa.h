/* The tiers: one set of kernels per instruction set, chosen at run time. */
#ifndef HEADWISE_ISA_H
#define HEADWISE_ISA_H

#include "common.h"

#ifdef __cplusplus
extern "C" {
#endif

/* avx2, avx512 and neon give the same bits; scalar multiplies and adds separately and differs from
 * them in rounding only. */
enum headwise_isa {
    HEADWISE_ISA_AUTO = 0, /* the environment's HEADWISE_ISA where set, else the best usable tier */
    HEADWISE_ISA_SCALAR = 1,
    HEADWISE_ISA_AVX2 = 2,   /* AVX2, FMA, F16C */
    HEADWISE_ISA_AVX512 = 3, /* AVX-512 F, BW, DQ, VL */
    HEADWISE_ISA_NEON = 4    /* aarch64 Advanced SIMD */
};

/* Keys are weighed and summed in blocks of this many, at absolute positions 0, 256, 512, ..., and
 * the blocks are merged in order. This is part of the definition of every result: it is the same on
 * every tier, and bounds of rounding errors are stated with it. */
#define HEADWISE_KEY_BLOCK 256

/* "auto", "scalar", "avx2", "avx512", "neon"; "?" for a value that is no headwise_isa. */
HEADWISE_API const char *headwise_isa_name(enum headwise_isa isa);

/* Sets *isa from one of the names above. HEADWISE_ERR_INVALID, and *isa unchanged, for any other
 * text, for NULL text and for NULL isa. */
HEADWISE_API enum headwise_status headwise_isa_from_name(enum headwise_isa *isa, const char *name);

/* Whether the tier is in this build; whether it is and this processor and operating system can run
 * it. False for AUTO. Safe from any thread; detection runs once. */
HEADWISE_API bool headwise_isa_built(enum headwise_isa isa);
HEADWISE_API bool headwise_isa_usable(enum headwise_isa isa);

/* The best usable tier; SCALAR where there is no other. Does not look at the environment. */
HEADWISE_API enum headwise_isa headwise_isa_best(void);

#ifdef __cplusplus
}
#endif
#endif
