/* The floating-point mode: rounding, flushing of subnormals, traps. Results are those of the
 * default mode (to nearest, nothing flushed, no traps), whatever the caller's is; it has its own
 * again, its sticky flags too, when the call returns. */
#ifndef HEADWISE_FLOAT_MODE_H
#define HEADWISE_FLOAT_MODE_H

#include <stdint.h>

/* What flags of the compiler would break, whoever set them. */
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "headwise: -ffast-math, -Ofast and -ffinite-math-only change results: build without them"
#endif
#if defined(__s390x__) && __FLT_EVAL_METHOD__ != 0
#error "headwise: floats are evaluated as doubles: build with -fexcess-precision=fast"
#endif
#if defined(__i386__) && !defined(__SSE2_MATH__)
#error "headwise: the x87 unit rounds in its own way: build with -msse2 -mfpmath=sse"
#endif

/* The control word of the unit that computes floats and doubles. The clobbers keep the compiler
 * from moving loads and stores, and so what is computed between them, across the change. */
#if defined(__SSE2__)
#include <xmmintrin.h>
typedef uint32_t headwise_float_word;
enum { HEADWISE_FLOAT_DEFAULT = 0x1f80 };

static inline headwise_float_word headwise_float_read(void) {
    return _mm_getcsr();
}

static inline void headwise_float_write(headwise_float_word word) {
    __asm__ volatile("ldmxcsr %0" : : "m"(word) : "memory");
}
#elif defined(__aarch64__)
typedef uint64_t headwise_float_word;
enum { HEADWISE_FLOAT_DEFAULT = 0 };

static inline headwise_float_word headwise_float_read(void) {
    headwise_float_word word;
    __asm__ volatile("mrs %0, fpcr" : "=r"(word));
    return word;
}

static inline void headwise_float_write(headwise_float_word word) {
    __asm__ volatile("msr fpcr, %0" : : "r"(word) : "memory");
}
#elif defined(__arm__) && defined(__ARM_FP)
typedef uint32_t headwise_float_word;
enum { HEADWISE_FLOAT_DEFAULT = 0 };

static inline headwise_float_word headwise_float_read(void) {
    headwise_float_word word;
    __asm__ volatile("vmrs %0, fpscr" : "=r"(word));
    return word;
}

static inline void headwise_float_write(headwise_float_word word) {
    __asm__ volatile("vmsr fpscr, %0" : : "r"(word) : "memory");
}
#else
#include <fenv.h>
typedef int headwise_float_word; /* the rounding mode: all that C knows */
enum { HEADWISE_FLOAT_DEFAULT = FE_TONEAREST };

static inline headwise_float_word headwise_float_read(void) {
    return fegetround();
}

static inline void headwise_float_write(headwise_float_word word) {
    __asm__ volatile("" : : : "memory");
    fesetround(word);
    __asm__ volatile("" : : : "memory");
}
#endif

/* Sets the default mode; returns what to restore. */
static inline headwise_float_word headwise_float_enter(void) {
    headwise_float_word word = headwise_float_read();
    headwise_float_write((headwise_float_word)HEADWISE_FLOAT_DEFAULT);
    return word;
}

static inline void headwise_float_leave(const headwise_float_word *word) {
    headwise_float_write(*word);
}

/* What *x holds was computed before whatever follows. */
static inline void headwise_float_keep(double *x) {
    __asm__ volatile("" : "+m"(*x));
}

/* Gives the rest of the block the default mode, whichever way it is left. */
#define HEADWISE_FLOAT_SCOPE()                                                                     \
    __attribute__((cleanup(headwise_float_leave), unused))                                         \
    const headwise_float_word callers_float_mode = headwise_float_enter()

#endif
