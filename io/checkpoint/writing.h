/* A pruned checkpoint while it is written. */
#ifndef HEADWISE_IO_CHECKPOINT_WRITING_H
#define HEADWISE_IO_CHECKPOINT_WRITING_H

#include "checkpoint/edit.h"
#include "checkpoint/prune.h"

struct headwise_io_writing {
    headwise_checkpoint *checkpoint;
    const char *folder;
    char *config_path, *model_path;
    struct headwise_io_plan before, after;
    struct headwise_io_changes changes;
    struct headwise_json_writer pruned; /* pruned_heads, with a NUL */
    struct headwise_json_writer rope;   /* rope_parameters */
    struct headwise_json_writer config; /* empty: the checkpoint has none */
};

/* pruned_config.c */
enum headwise_status headwise_io_write_pruned_heads(struct headwise_io_writing *w);
enum headwise_status headwise_io_write_config(struct headwise_io_writing *w);
void headwise_io_edit_sizes(struct headwise_io_edits *edits, const struct headwise_io_writing *w);

#endif
