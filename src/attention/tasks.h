/* The tasks of one call that is not ragged. */
#ifndef HEADWISE_TASKS_H
#define HEADWISE_TASKS_H

#include "attention/job.h"
#include "headwise/context.h"

/* arg is a headwise_attention_job. Attend: all key blocks of a tile. Split: a part of its key
 * blocks, where keys are split. Join: what the parts of one tile gave, joined. */
headwise_task_fn headwise_attend_task, headwise_split_task, headwise_join_task;

/* Tiles of one batch entry, of all heads. */
static inline int64_t headwise_count_tiles(const struct headwise_plan *plan) {
    return plan->n_head_tasks * plan->n_tiles;
}

#endif
