/* Rotary tables, shared by the layers of a model. */
#ifndef HEADWISE_IO_CHECKPOINT_ROTARY_H
#define HEADWISE_IO_CHECKPOINT_ROTARY_H

#include "checkpoint/internal.h"

/* The tables of a model: it holds them, and so does every layer that uses one, so that layers
 * outlive the model. */
headwise_io_tables *headwise_io_tables_hold(headwise_checkpoint *model);
void headwise_io_tables_release(headwise_io_tables *tables);

/* Sets *rotary to the table of the layer, made at its first use; NULL where the layer turns
 * nothing. */
enum headwise_status headwise_io_plan_rotary(const struct headwise_io_plan *plan,
                                             headwise_context *context,
                                             const headwise_rotary **rotary);

#endif
