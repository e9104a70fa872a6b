/* What this processor and operating system can run. */
#ifndef HEADWISE_CPU_H
#define HEADWISE_CPU_H

/* Feature bits, each standing for the compiler flag of a tier, the operating system's support of
 * the registers included. */
enum {
    HEADWISE_CPU_AVX2 = 1 << 0,    /* -mavx2 -mfma -mf16c; XMM and YMM state saved */
    HEADWISE_CPU_AVX512 = 1 << 1,  /* the above, -mavx512f -mavx512bw -mavx512dq -mavx512vl; opmask
                                    * and ZMM state saved */
    HEADWISE_CPU_NEON = 1 << 2,    /* part of every aarch64 */
    HEADWISE_CPU_VNNI = 1 << 3,    /* AVX512 and -mavx512vnni */
    HEADWISE_CPU_DOTPROD = 1 << 4, /* NEON's dot product extension */
    HEADWISE_CPU_AVXVNNI = 1 << 5, /* AVX2 and AVX-VNNI */
    HEADWISE_CPU_AMX = 1 << 6      /* AVX-512 VNNI, AMX-TILE, AMX-INT8; tiles saved for those that
                                    * the system permits to use them (amx.h) */
};

/* Detected once, then cached: cpuid costs 29 us on a virtual machine. */
unsigned headwise_cpu_features(void);

#endif
