/* Residuals and norms of rows as a call of their own. */
#ifndef HEADWISE_ROWS_NORMALIZE_H
#define HEADWISE_ROWS_NORMALIZE_H

#include "context/context.h"
#include "headwise/rows.h"

/* Runs a checked call, whose strides are filled in. */
enum headwise_status headwise_normalize_run(headwise_context *context,
                                            const struct headwise_rows *rows);

#endif
