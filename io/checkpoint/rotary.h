/* Rotary tables, shared by the layers of a model. */
#ifndef HEADWISE_IO_CHECKPOINT_ROTARY_H
#define HEADWISE_IO_CHECKPOINT_ROTARY_H

#include "checkpoint/internal.h"

/* The tables of a model: it holds them, and so does every layer that uses one, so that layers
 * outlive the model. */
headwise_io_tables *headwise_io_tables_hold(headwise_checkpoint *checkpoint);
void headwise_io_tables_release(headwise_io_tables *tables);

/* What is read before a table is made, and the lists of longrope. */
struct headwise_io_rope {
    const struct headwise_io_plan *plan;
    struct headwise_io_config settings; /* inside of the sources' rope objects, or all */
    struct headwise_io_config bases;
    bool is_local; /* a layer with a window, in a family where these have their own settings */
    bool is_plain; /* of which there is only a base */
    struct headwise_rotary_config config;
    int64_t max_positions;
    double *lists[2]; /* short, long: to be freed, also after a failure */
};

/* rope.c: the rope keys of source number index: its rope_scaling, else its rope_parameters, as
 * transformers 5 takes them where a file has both; *has tells whether it has either, *object is
 * empty where that is null. */
enum headwise_status headwise_io_rope_object(const struct headwise_io_config *settings, int index,
                                             headwise_io_value *object, bool *has);

/* rope.c: fills in a rope whose plan, is_local and config.pairs are set. */
enum headwise_status headwise_io_rope_read(struct headwise_io_rope *rope);

/* scaling.c */
enum headwise_status headwise_io_rope_read_scaling(struct headwise_io_rope *rope);

/* Sets *rotary to the table of the layer, made at its first use; NULL where the layer turns
 * nothing. */
enum headwise_status headwise_io_plan_rotary(const struct headwise_io_plan *plan,
                                             headwise_context *context,
                                             const headwise_rotary **rotary);

#endif
