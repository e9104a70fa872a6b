/* exp2((s - base) * log2(e)) * factor as the kernels compute it, against float64. */
#ifndef TESTS_EXPONENT_H
#define TESTS_EXPONENT_H

/* Fails the test, with the text of format, where got is not factor * exp(s - base) within the
 * derived bound; base = max, or 0 where max is -inf. */
void exponent_expect(float got, float s, float max, float factor, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#endif
