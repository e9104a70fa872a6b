/* Inner products of the heads' contributions. */
#ifndef HEADWISE_GRAM_H
#define HEADWISE_GRAM_H

#include "layer/mha.h"

/* headwise_contribution_gram() of checked arguments. */
enum headwise_status headwise_gram_sum(headwise_context *context, const headwise_mha *mha,
                                       double *gram, const float *head_outputs, int64_t batch,
                                       int64_t queries);

#endif
