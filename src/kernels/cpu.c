/* Asks the processor and the operating system what they can run. */
#include "kernels/cpu.h"

#include <stdatomic.h>
#include <stdbool.h>

#if defined(__x86_64__)
#include <cpuid.h>

static unsigned long long read_xcr0(void) {
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (unsigned long long)high << 32 | low;
}

static unsigned detect(void) {
    const unsigned avx_vnni = 1u << 4;         /* of leaf 7, 1: EAX */
    const unsigned amx = 1u << 24 | 1u << 25;  /* of leaf 7: EDX: tiles, products of bytes */
    const unsigned long long tiles = 3u << 17; /* of XCR0: their configuration and data */
    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx))
        return 0;
    unsigned needed = bit_OSXSAVE | bit_AVX | bit_FMA | bit_F16C;
    if ((ecx & needed) != needed)
        return 0;
    unsigned long long xcr0 = read_xcr0();
    if ((xcr0 & 0x6) != 0x6) /* XMM, YMM */
        return 0;
    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || !(ebx & bit_AVX2))
        return 0;
    unsigned features = HEADWISE_CPU_AVX2;
    unsigned avx512 = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
    if ((ebx & avx512) == avx512 && (xcr0 & 0xe6) == 0xe6) /* and opmask, both halves of ZMM */
        features |= HEADWISE_CPU_AVX512;
    if ((features & HEADWISE_CPU_AVX512) && (ecx & bit_AVX512VNNI))
        features |= HEADWISE_CPU_VNNI;
    if ((features & HEADWISE_CPU_VNNI) && (edx & amx) == amx && (xcr0 & tiles) == tiles)
        features |= HEADWISE_CPU_AMX;
    if (__get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && (eax & avx_vnni))
        features |= HEADWISE_CPU_AVXVNNI;
    return features;
}
#elif defined(__aarch64__)
#include <sys/auxv.h>

static unsigned detect(void) {
    const unsigned long asimddp = 1ul << 20; /* HWCAP_ASIMDDP of the kernel's interface */
    bool has_dot = (getauxval(AT_HWCAP) & asimddp) != 0;
    return HEADWISE_CPU_NEON | (has_dot ? HEADWISE_CPU_DOTPROD : 0);
}
#else
static unsigned detect(void) {
    return 0;
}
#endif

unsigned headwise_cpu_features(void) {
    enum { DETECTED = 1 << 30 };
    static _Atomic unsigned cached;
    unsigned features = atomic_load_explicit(&cached, memory_order_relaxed);
    if (!features) {
        features = detect() | DETECTED;
        atomic_store_explicit(&cached, features, memory_order_relaxed);
    }
    return features & ~(unsigned)DETECTED;
}
