/* From a tier's name to its kernels. */
#include "kernels/dispatch.h"

#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "kernels/amx.h"
#include "kernels/cpu.h"

struct tier {
    const char *name;
    const struct headwise_kernels *kernels; /* NULL: not built */
    unsigned features;                      /* bits of cpu.h that it needs */
};

/* Indexed by enum headwise_isa, better tiers later within a processor family. */
static const struct tier tiers[] = {
    [HEADWISE_ISA_AUTO] = {"auto", NULL, 0},
    [HEADWISE_ISA_SCALAR] = {"scalar", &headwise_kernels_scalar, 0},
#ifdef HEADWISE_HAVE_AVX2
    [HEADWISE_ISA_AVX2] = {"avx2", &headwise_kernels_avx2, HEADWISE_CPU_AVX2},
#else
    [HEADWISE_ISA_AVX2] = {"avx2", NULL, 0},
#endif
#ifdef HEADWISE_HAVE_AVX512
    [HEADWISE_ISA_AVX512] = {"avx512", &headwise_kernels_avx512, HEADWISE_CPU_AVX512},
#else
    [HEADWISE_ISA_AVX512] = {"avx512", NULL, 0},
#endif
#ifdef HEADWISE_HAVE_NEON
    [HEADWISE_ISA_NEON] = {"neon", &headwise_kernels_neon, HEADWISE_CPU_NEON},
#else
    [HEADWISE_ISA_NEON] = {"neon", NULL, 0},
#endif
};

enum { N_TIERS = sizeof tiers / sizeof tiers[0] };

static bool is_isa(enum headwise_isa isa) {
    return (unsigned)isa < N_TIERS;
}

const char *headwise_isa_name(enum headwise_isa isa) {
    return is_isa(isa) ? tiers[isa].name : "?";
}

enum headwise_status headwise_isa_from_name(enum headwise_isa *isa, const char *name) {
    if (!isa || !name)
        return headwise_fail(HEADWISE_ERR_INVALID, "isa_from_name: %s is NULL",
                             isa ? "name" : "isa");
    for (int i = 0; i < N_TIERS; i++) {
        if (strcmp(name, tiers[i].name) == 0) {
            *isa = (enum headwise_isa)i;
            return HEADWISE_OK;
        }
    }
    return headwise_fail(HEADWISE_ERR_INVALID,
                         "\"%.40s\" is no tier: expected auto, scalar, avx2, avx512 or neon", name);
}

bool headwise_isa_built(enum headwise_isa isa) {
    return is_isa(isa) && tiers[isa].kernels;
}

bool headwise_isa_usable(enum headwise_isa isa) {
    return headwise_isa_built(isa) &&
           (headwise_cpu_features() & tiers[isa].features) == tiers[isa].features;
}

enum headwise_isa headwise_isa_best(void) {
    int best = HEADWISE_ISA_SCALAR;
    for (int i = best + 1; i < N_TIERS; i++) {
        if (headwise_isa_usable((enum headwise_isa)i))
            best = i;
    }
    return (enum headwise_isa)best;
}

const struct headwise_kernels *headwise_kernels_get(enum headwise_isa isa) {
    return headwise_isa_usable(isa) ? tiers[isa].kernels : NULL;
}

/* Products of bytes of the tiers, better ones first; the last of each tier need nothing beyond
 * it. */
static const struct byte_products {
    enum headwise_isa isa;
    unsigned features; /* bits of cpu.h that they need beyond the tier's */
    const struct headwise_dot *dot;
} byte_products[] = {
#ifdef HEADWISE_HAVE_AMX
    {HEADWISE_ISA_AVX512, HEADWISE_CPU_AMX, &headwise_dot_amx},
#endif
#ifdef HEADWISE_HAVE_AVX512
    {HEADWISE_ISA_AVX512, HEADWISE_CPU_VNNI, &headwise_dot_vnni},
    {HEADWISE_ISA_AVX512, 0, &headwise_dot_avx512},
#endif
#ifdef HEADWISE_HAVE_AVXVNNI
    {HEADWISE_ISA_AVX2, HEADWISE_CPU_AVXVNNI, &headwise_dot_avxvnni},
#endif
#ifdef HEADWISE_HAVE_AVX2
    {HEADWISE_ISA_AVX2, 0, &headwise_dot_avx2},
#endif
#ifdef HEADWISE_HAVE_NEON
    {HEADWISE_ISA_NEON, HEADWISE_CPU_DOTPROD, &headwise_dot_dotprod},
    {HEADWISE_ISA_NEON, 0, &headwise_dot_neon},
#endif
    {HEADWISE_ISA_SCALAR, 0, &headwise_dot_scalar},
};

enum { N_BYTE_PRODUCTS = sizeof byte_products / sizeof byte_products[0] };

const struct headwise_dot *headwise_dot_get(enum headwise_isa isa, int number) {
    unsigned features = headwise_cpu_features();
    for (int i = 0; i < N_BYTE_PRODUCTS; i++) {
        const struct byte_products *products = &byte_products[i];
        bool usable = (features & products->features) == products->features;
        if (products->isa == isa && usable && number-- == 0)
            return products->dot;
    }
    return NULL;
}

enum headwise_status headwise_kernels_choose(const struct headwise_kernels **kernels,
                                             enum headwise_isa isa) {
    if (!is_isa(isa))
        return headwise_fail(HEADWISE_ERR_INVALID, "isa: %d is no headwise_isa", (int)isa);
    if (isa == HEADWISE_ISA_AUTO) {
        const char *name = headwise_environment("HEADWISE_ISA");
        if (name) {
            enum headwise_status status = headwise_isa_from_name(&isa, name);
            if (status != HEADWISE_OK)
                return headwise_fail(status,
                                     "HEADWISE_ISA: \"%.40s\" is no tier: expected auto, "
                                     "scalar, avx2, avx512 or neon",
                                     name);
        }
        if (isa == HEADWISE_ISA_AUTO)
            isa = headwise_isa_best();
    }
    if (!headwise_isa_built(isa))
        return headwise_fail(HEADWISE_ERR_UNSUPPORTED, "isa: %s is not in this build",
                             headwise_isa_name(isa));
    if (!headwise_isa_usable(isa))
        return headwise_fail(HEADWISE_ERR_UNSUPPORTED, "isa: this processor cannot run %s",
                             headwise_isa_name(isa));
    *kernels = tiers[isa].kernels;
    return HEADWISE_OK;
}
