/* Results against the expected tensors of the same file. */
#ifndef HEADWISE_TOOLS_CHECK_H
#define HEADWISE_TOOLS_CHECK_H

#include "calls/attention_call.h"
#include "common/outputs.h"

/* Compares Y, present_key, present_value and qk_matmul_output, those that the file has, with what
 * has been computed, and prints a line for each: the largest error, where, and its share of the
 * bound there. The bound of an element is that of bound.h (0 for the copies), plus one rounding
 * each to the type of the result and to that of the expected tensor, plus what the file itself
 * states as the error of its expected values against f64 (metadata max_abs_err_f64_reference,
 * "Y=2.98e-08 ..."; printed to three digits, hence taken 0.5 % larger). NaN must be NaN, an
 * infinity the same infinity. EXIT_CHECK_FAILED where an element is beyond its bound; EXIT_UNUSABLE
 * where the file has nothing to compare with, or something of another shape. */
int check_attention(const struct outputs *outputs, struct arena *arena,
                    const headwise_safetensors *file, const struct attention_call *call);

#endif
