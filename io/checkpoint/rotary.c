/* Rotary tables, shared by the layers of a checkpoint. */
#include "checkpoint/rotary.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "files/error.h"

/* One table for each part, and one for layers with a window where they have settings of their own:
 * nothing else in a model's rope settings differs between layers. */
struct headwise_io_tables {
    atomic_int n_holders;
    size_t n;
    struct table {
        const struct headwise_io_part *part;
        bool is_local;
        headwise_rotary *rotary;
    } tables[8];
};

headwise_io_tables *headwise_io_tables_hold(headwise_checkpoint *checkpoint) {
    if (!checkpoint->tables) {
        checkpoint->tables = calloc(1, sizeof *checkpoint->tables);
        if (!checkpoint->tables) {
            headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "%s: out of memory", checkpoint->files.name);
            return NULL;
        }
        checkpoint->tables->n_holders = 1;
    }
    atomic_fetch_add(&checkpoint->tables->n_holders, 1);
    return checkpoint->tables;
}

void headwise_io_tables_release(headwise_io_tables *tables) {
    if (!tables || atomic_fetch_sub(&tables->n_holders, 1) > 1)
        return;
    for (size_t i = 0; i < tables->n; i++)
        headwise_rotary_destroy(tables->tables[i].rotary);
    free(tables);
}

/* Which components are paired: the option, else what the metadata's "rope" begins with. */
static enum headwise_pairs pairs_of(const headwise_checkpoint *checkpoint) {
    const char *text = headwise_safetensors_metadata(checkpoint->files.files[0], "rope");
    if (checkpoint->options.rotary != HEADWISE_CHECKPOINT_ROTARY_AUTO)
        return checkpoint->options.rotary == HEADWISE_CHECKPOINT_ROTARY_INTERLEAVED
                   ? HEADWISE_PAIRS_INTERLEAVED
                   : HEADWISE_PAIRS_HALF;
    return text && strncmp(text, "interleaved", strlen("interleaved")) == 0
               ? HEADWISE_PAIRS_INTERLEAVED
               : HEADWISE_PAIRS_HALF;
}

static enum headwise_status make_table(const struct headwise_io_rope *rope,
                                       headwise_context *context, headwise_rotary **rotary) {
    enum headwise_status status = headwise_rotary_create(rotary, context, &rope->config);
    if (status == HEADWISE_ERR_INVALID) /* every number of it came from the file */
        return headwise_io_fail(HEADWISE_ERR_FORMAT, "%s: %s", rope->plan->settings.sources[1].name,
                                headwise_last_error());
    if (status)
        return headwise_io_fail(status, "%s", headwise_last_error());
    return HEADWISE_OK;
}

enum headwise_status headwise_io_plan_rotary(const struct headwise_io_plan *plan,
                                             headwise_context *context,
                                             const headwise_rotary **rotary) {
    headwise_io_tables *tables = plan->checkpoint->tables;
    struct headwise_io_rope rope = {.plan = plan, .config = {.size = sizeof rope.config}};
    rope.is_local = plan->sliding && plan->family->rope_local_base > 0;
    for (size_t i = 0; i < tables->n; i++) {
        if (tables->tables[i].part == plan->part && tables->tables[i].is_local == rope.is_local) {
            *rotary = tables->tables[i].rotary;
            return HEADWISE_OK;
        }
    }
    rope.config.pairs = pairs_of(plan->checkpoint);
    enum headwise_status status = headwise_io_rope_read(&rope);
    struct table table = {plan->part, rope.is_local, NULL};
    if (!status && rope.config.rotary_dim > 0)
        status = make_table(&rope, context, &table.rotary);
    if (!status) {
        tables->tables[tables->n++] = table;
        *rotary = table.rotary;
    }
    free(rope.lists[0]);
    free(rope.lists[1]);
    return status;
}
