/* What the checks of calls share about views. */
#ifndef HEADWISE_CHECK_TENSOR_H
#define HEADWISE_CHECK_TENSOR_H

#include "headwise/tensor.h"

/* Names of the four axes for error texts. */
extern const char *const headwise_axis_names[4];

/* F32, F16 or BF16. */
bool headwise_is_float(enum headwise_dtype dtype);

/* That strides are not negative and that the view's last element can be addressed. */
enum headwise_status headwise_check_extent(const char *where, const char *name,
                                           const struct headwise_tensor *t);

/* One tensor: types F32, F16, BF16; expected sizes, -1 where any is allowed; data, strides, extent.
 */
enum headwise_status headwise_check_tensor(const char *where, const char *name,
                                           const struct headwise_tensor *t, bool is_output,
                                           int64_t batch, int64_t heads, int64_t rows,
                                           int64_t columns);

/* HEADWISE_ERR_INVALID, with where before the text, unless each of the batch * rows positions is in
 * [0, n_positions). positions NULL: those of every batch entry are first, first + 1, ... */
enum headwise_status headwise_check_positions(const char *where, const int64_t *positions,
                                              int64_t batch, int64_t rows, int64_t first,
                                              int64_t n_positions);

#endif
