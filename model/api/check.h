/* Checks of what a forward is given. */
#ifndef HEADWISE_MODEL_CHECK_H
#define HEADWISE_MODEL_CHECK_H

#include "stack/transformer.h"

/* HEADWISE_OK, or HEADWISE_ERR_INVALID with what was wrong. */
enum headwise_status headwise_check_forward(const headwise_context *context,
                                            const headwise_transformer *network,
                                            const struct headwise_transformer_call *call);

#endif
