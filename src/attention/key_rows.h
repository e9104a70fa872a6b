/* Rows of keys and values in the caller's tensors: past ones, then new ones. */
#ifndef HEADWISE_KEY_ROWS_H
#define HEADWISE_KEY_ROWS_H

#include "attention/call.h"
#include "kernels/kernels.h"
#include "tensors/rows.h"

/* Rows of keys (or values) from key number first on: at most n, at least one, fewer where the past
 * ends or, for narrow types, after nr of them. Past keys come first, then the new ones. f32 rows
 * are the caller's memory; others are widened into buffer, which holds nr rows. */
struct headwise_rows headwise_key_rows(const struct headwise_kernels *kernels,
                                       const struct headwise_call *call,
                                       const struct headwise_tensor *now,
                                       const struct headwise_tensor *past, int64_t b, int64_t h,
                                       int64_t first, int64_t n, float *buffer);

/* Copies n rows, at most nr, to buffer, past and new ones alike. */
struct headwise_rows headwise_gather_rows(const struct headwise_kernels *kernels,
                                          const struct headwise_call *call,
                                          const struct headwise_tensor *now,
                                          const struct headwise_tensor *past, int64_t b, int64_t h,
                                          int64_t first, int64_t n, float *buffer);

#endif
