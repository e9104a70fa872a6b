/* A model's tensors without some heads of a layer. */
#ifndef HEADWISE_IO_CHECKPOINT_PRUNE_H
#define HEADWISE_IO_CHECKPOINT_PRUNE_H

#include "checkpoint/internal.h"

/* made[i] takes the place of old[i]; its data is to be freed. q, k, v, o, four biases, sinks. */
struct headwise_io_changes {
    const struct headwise_file_tensor *old[9];
    struct headwise_file_tensor made[9];
    size_t n;
};

/* *after is the layer without the heads that options name; free after->heads, also after a
 * failure. */
enum headwise_status headwise_io_plan_prune(struct headwise_io_plan *after,
                                            const struct headwise_io_plan *before,
                                            const struct headwise_prune_options *options);

/* Makes the tensors that change; changes is zero at the start. */
enum headwise_status headwise_io_change_tensors(struct headwise_io_changes *changes,
                                                const struct headwise_io_plan *before,
                                                const struct headwise_io_plan *after,
                                                const struct headwise_prune_options *options);
void headwise_io_changes_free(struct headwise_io_changes *changes);

#endif
