/* The tasks of a layer's call. */
#include <string.h>

#include "attention/attention.h"
#include "base/alloc.h"
#include "kernels/panel.h"
#include "layer/forward.h"
#include "linear/dynamic.h"
#include "tensors/rows.h"
#include "tensors/tensor.h"

/* Rows per task of the conversions and of the contributions. */
enum { TASK_ROWS = 64 };

static void convert_input(const struct headwise_forward *forward,
                          const struct headwise_matrix_view *view, int64_t block) {
    int64_t first = block * TASK_ROWS;
    int64_t last = headwise_min(first + TASK_ROWS, headwise_view_rows(view));
    for (int64_t r = first; r < last; r++)
        headwise_row_to_f32(forward->kernels, view->data + r * view->stride, &view->tensor,
                            r / view->tensor.size[2], 0, r % view->tensor.size[2]);
}

static void convert_x_task(void *arg, int64_t index, int worker) {
    const struct headwise_forward *forward = arg;
    (void)worker;
    convert_input(forward, &forward->x, index);
}

static void convert_memory_task(void *arg, int64_t index, int worker) {
    const struct headwise_forward *forward = arg;
    (void)worker;
    convert_input(forward, &forward->memory, index);
}

static void convert_y_task(void *arg, int64_t index, int worker) {
    const struct headwise_forward *forward = arg;
    const struct headwise_matrix_view *y = &forward->y;
    int64_t last = headwise_min((index + 1) * TASK_ROWS, headwise_view_rows(y));
    (void)worker;
    for (int64_t r = index * TASK_ROWS; r < last; r++)
        headwise_row_from_f32(
            forward->kernels,
            headwise_tensor_row(&y->tensor, r / y->tensor.size[2], 0, r % y->tensor.size[2]),
            y->tensor.dtype, y->data + r * y->stride, y->tensor.size[3]);
}

static void input_task(void *arg, int64_t index, int worker) {
    const struct headwise_forward *forward = arg;
    int64_t first = headwise_projection_tasks(&forward->inputs[0]);
    if (index < first)
        headwise_projection_run(&forward->inputs[0], index, worker);
    else
        headwise_projection_run(&forward->inputs[1], index - first, worker);
}

static int64_t head_blocks(const struct headwise_forward *forward,
                           const struct headwise_head_rows *rows) {
    return rows->data ? headwise_ceil_div(forward->call->batch * rows->n_rows, TASK_ROWS) : 0;
}

static void heads_task(void *arg, int64_t index, int worker) {
    const struct headwise_forward *forward = arg;
    const struct headwise_head_rows *rows = &forward->q_rows;
    int64_t q_blocks = head_blocks(forward, rows);
    (void)worker;
    if (index >= q_blocks) {
        rows = &forward->k_rows;
        index -= q_blocks;
    }
    int64_t first = index * TASK_ROWS;
    headwise_head_rows_run(rows, first,
                           headwise_min(first + TASK_ROWS, forward->call->batch * rows->n_rows));
}

static void output_task(void *arg, int64_t index, int worker) {
    const struct headwise_forward *forward = arg;
    headwise_projection_run(&forward->output, index, worker);
}

/* Contributions where head outputs are rounded: as in the row of all heads, for y. */
static void contribute_dynamic(const struct headwise_forward *forward, int64_t b, int64_t h,
                               int64_t first, int64_t m, float *scratch, float *out) {
    const struct headwise_call *call = forward->call;
    const struct headwise_matrix *o = &forward->mha->o;
    struct headwise_dot_state state = {{0, 0}};
    const struct headwise_dynamic dynamic = {
        .kernels = forward->kernels,
        .dot = forward->dot,
        .x = forward->heads + (b * call->n_queries + first) * forward->heads_stride,
        .x_stride = forward->heads_stride,
        .m = m,
        .n = o->k,
        .group = o->group,
        .scratch = scratch,
        .state = &state,
    };
    headwise_dynamic_begin(&dynamic);
    headwise_dynamic_contribute(&dynamic, o, h * call->value_dim, call->value_dim,
                                scratch + headwise_dynamic_floats(forward->kernels), out);
    headwise_dynamic_end(&dynamic);
}

/* head_h * W_O[rows of h] for TASK_ROWS rows of one batch entry and head. */
static void contribution_task(void *arg, int64_t index, int worker) {
    const struct headwise_forward *forward = arg;
    const struct headwise_kernels *kernels = forward->kernels;
    const struct headwise_call *call = forward->call;
    const struct headwise_matrix *o = &forward->mha->o;
    int64_t blocks = headwise_ceil_div(call->n_queries, TASK_ROWS);
    int64_t h = index / blocks % call->n_heads, b = index / blocks / call->n_heads;
    int64_t first = index % blocks * TASK_ROWS;
    int64_t m = headwise_min(TASK_ROWS, call->n_queries - first);
    float *tile = forward->worker_scratch + worker * headwise_projection_floats(kernels);
    const float *heads = forward->heads + (b * call->n_queries + first) * forward->heads_stride +
                         h * call->value_dim;
    const struct headwise_matrix_input input = {heads, forward->heads_stride, 1, m};
    float *out =
        call->probe.contributions + ((b * call->n_heads + h) * call->n_queries + first) * o->n;
    if (o->together) {
        contribute_dynamic(forward, b, h, first, m, tile, out);
        return;
    }
    for (int64_t c = 0; c < o->n; c += kernels->nr) {
        int width = headwise_panel_width(kernels, o->n, c);
        size_t bytes = (size_t)headwise_min(width, o->n - c) * sizeof(float);
        const struct headwise_matrix_slice slice = {.matrix = o,
                                                    .c = c,
                                                    .n = width,
                                                    .t = h * call->value_dim,
                                                    .k = call->value_dim,
                                                    .ends = true};
        headwise_matrix_multiply(&slice, kernels, tile, width, &input, NULL);
        for (int64_t r = 0; r < m; r++)
            memcpy(out + r * o->n + c, tile + r * width, bytes);
    }
}

/* One head of q, k or v to where it is wanted. */
static void show_task(void *arg, int64_t index, int worker) {
    const struct headwise_forward *forward = arg;
    const struct headwise_call *call = forward->call;
    const struct headwise_tensor *from[3] = {&call->q, &call->k, &call->v};
    int64_t heads[3] = {call->n_heads, call->n_kv_heads, call->n_kv_heads};
    int64_t b = index % call->batch, h = index / call->batch;
    int which = 0;
    (void)worker;
    for (; h >= heads[which]; which++)
        h -= heads[which];
    const struct headwise_tensor *to = forward->wanted[which];
    for (int64_t r = 0; to && r < to->size[2]; r++)
        headwise_row_from_f32(forward->kernels, headwise_tensor_row(to, b, h, r), to->dtype,
                              headwise_tensor_row(from[which], b, h, r), to->size[3]);
}

static struct headwise_phase phase_of(struct headwise_forward *forward, int64_t n_tasks,
                                      headwise_task_fn *task) {
    return (struct headwise_phase){n_tasks, task, forward};
}

static int64_t row_blocks(const struct headwise_matrix_view *view) {
    return headwise_ceil_div(headwise_view_rows(view), TASK_ROWS);
}

static int input_phases(struct headwise_forward *forward, struct headwise_phase *phases) {
    int n = 0;
    if (!forward->x.direct)
        phases[n++] = phase_of(forward, row_blocks(&forward->x), convert_x_task);
    if (forward->has_memory && !forward->memory.direct)
        phases[n++] = phase_of(forward, row_blocks(&forward->memory), convert_memory_task);
    int64_t tasks = 0;
    for (int i = 0; i < forward->n_inputs; i++)
        tasks += headwise_projection_tasks(&forward->inputs[i]);
    phases[n++] = phase_of(forward, tasks, input_task);
    tasks = head_blocks(forward, &forward->q_rows) + head_blocks(forward, &forward->k_rows);
    if (tasks > 0)
        phases[n++] = phase_of(forward, tasks, heads_task);
    if (forward->appends)
        phases[n++] = headwise_cache_append_phase(&forward->append);
    return n;
}

static int query_phases(struct headwise_forward *forward, struct headwise_phase *phases) {
    const struct headwise_call *call = forward->call;
    int n = headwise_attention_phases(&forward->attention, phases);
    if (call->probe.contributions) {
        int64_t blocks = headwise_ceil_div(call->n_queries, TASK_ROWS);
        phases[n++] = phase_of(forward, call->batch * call->n_heads * blocks, contribution_task);
    }
    phases[n++] = phase_of(forward, headwise_projection_tasks(&forward->output), output_task);
    if (!forward->y.direct)
        phases[n++] = phase_of(forward, row_blocks(&forward->y), convert_y_task);
    return n;
}

int headwise_forward_phases(struct headwise_forward *forward, struct headwise_phase *phases) {
    const struct headwise_call *call = forward->call;
    int n = input_phases(forward, phases);
    if (forward->has_output)
        n += query_phases(forward, phases + n);
    else if (!forward->appends)
        phases[n++] =
            phase_of(forward, call->batch * (call->n_heads + 2 * call->n_kv_heads), show_task);
    return n;
}
