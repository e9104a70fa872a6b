/* Compares with float64, and keeps the largest error over bound that was seen. */
#include "compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmocka_headers.h"

static double worst[5]; /* by tier */
static enum headwise_isa tier;

bool compare_close(double got, double want, double bound) {
    if (isnan(want))
        return isnan(got);
    if (isinf(want) || got == want)
        return got == want;
    double ratio = fabs(got - want) / bound;
    if (!(ratio <= 1)) /* also where got or bound is NaN, or bound is 0 */
        return false;
    if (ratio > worst[tier])
        worst[tier] = ratio;
    return true;
}

void compare_expect(double got, double want, double bound, const char *format, ...) {
    char what[256];
    va_list args;
    if (compare_close(got, want, bound))
        return;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    fail_msg("%s: got %.9g, want %.9g, error %.3g, bound %.3g", what, got, want, fabs(got - want),
             bound);
}

bool compare_equal_bits(float a, float b) {
    return memcmp(&a, &b, sizeof(a)) == 0 || (isnan(a) && isnan(b));
}

void compare_same_bits(const float *got, const float *want, size_t n, const char *format, ...) {
    char what[256];
    va_list args;
    size_t i = 0;
    while (i < n && compare_equal_bits(got[i], want[i]))
        i++;
    if (i == n)
        return;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    fail_msg("%s: element %zu of %zu is %a, expected the bits of %a", what, i, n, (double)got[i],
             (double)want[i]);
}

uint64_t compare_hash(uint64_t hash, const void *data, size_t size_bytes) {
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size_bytes; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

void compare_set_tier(enum headwise_isa isa) {
    tier = isa;
}

void compare_print_worst(void) {
    for (int isa = HEADWISE_ISA_SCALAR; isa <= HEADWISE_ISA_NEON; isa++)
        if (worst[isa] > 0)
            print_message("largest error / bound, %s: %.3f\n", headwise_isa_name(isa), worst[isa]);
}
