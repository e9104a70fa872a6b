/* Checks of calls over rows of f32. Each sets the error text on failure. */
#ifndef HEADWISE_CHECK_LINEAR_H
#define HEADWISE_CHECK_LINEAR_H

#include "headwise/linear.h"

/* n_rows rows of n numbers: that the pointer is there where the rows are needed, and that the
 * stride, whose default is filled in, lets every number be addressed. */
enum headwise_status headwise_check_row_view(const char *where, const char *name, const float *data,
                                             bool needed, int64_t *stride, int64_t n_rows,
                                             int64_t n);

/* That y and sum are not one another. */
enum headwise_status headwise_check_sum(const char *where, const float *y, const float *sum,
                                        int64_t n_rows);

/* Copies the norm that *norm points to, NULL for none, to `copy`, which it points to afterwards. */
enum headwise_status headwise_check_row_norm(const char *where, const char *name,
                                             struct headwise_row_norm *copy,
                                             const struct headwise_row_norm **norm);

enum headwise_status headwise_check_activation(const char *where, const char *name, int activation);

/* All of a layer's or an MLP's call. norms: two, for copies of the call's. */
enum headwise_status headwise_check_linear_call(const char *where,
                                                struct headwise_linear_call *call,
                                                struct headwise_row_norm *norms, int64_t n_inputs,
                                                int64_t n_outputs);

#endif
