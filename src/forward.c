#include <string.h>

#include "alloc.h"
#include "attention.h"
#include "error.h"
#include "mha.h"
#include "rows.h"
#include "tensor.h"

/* A matrix of f32 rows: the caller's memory where its form allows, else scratch. */
struct matrix_view {
    struct headwise_tensor tensor; /* the caller's */
    bool direct;                   /* the caller's memory is used as it is */
    int64_t at;                    /* else: offset in the scratch */
    int64_t stride;                /* floats between rows */
    float *data;
};

/* One forward call at work. */
struct forward {
    const headwise_mha *mha;
    const struct headwise_kernels *kernels;
    struct headwise_call *call;
    struct matrix_view x, memory, y;
    struct headwise_projection inputs[2]; /* q, k, v from x; or q from x, and k, v from memory */
    int n_inputs;
    struct headwise_projection output;
    struct headwise_attention_job attention;
    int64_t q_stride, k_stride, v_stride, context_stride;
    float *heads; /* concatenated head outputs, rows of context_stride floats */
    float *worker_scratch;
};

/* Rows per task of the conversions and of the contributions. */
enum { TASK_ROWS = 64 };

static int64_t n_rows(const struct headwise_tensor *t) {
    return t->size[0] * t->size[2];
}

/* Whether row number b * size[2] + r of the flattened tensor lies at that many row strides. */
static bool is_flat_f32(const struct headwise_tensor *t) {
    return t->dtype == HEADWISE_F32 &&
           (t->size[0] <= 1 || t->stride[0] == t->size[2] * t->stride[2]);
}

static struct matrix_view view_of(const struct headwise_tensor *t, bool direct, int64_t stride,
                                  int64_t *total) {
    struct matrix_view view = {.tensor = *t, .direct = direct, .stride = stride};
    if (direct)
        view.stride = t->stride[2];
    else
        view.at = headwise_take(total, n_rows(t), stride);
    return view;
}

static void place_view(struct matrix_view *view, float *scratch) {
    view->data = view->direct ? view->tensor.data : scratch + view->at;
}

static void convert_input(const struct forward *forward, const struct matrix_view *view,
                          int64_t block) {
    int64_t first = block * TASK_ROWS;
    int64_t last = headwise_min(first + TASK_ROWS, n_rows(&view->tensor));
    for (int64_t r = first; r < last; r++)
        headwise_row_to_f32(forward->kernels, view->data + r * view->stride, &view->tensor,
                            r / view->tensor.size[2], 0, r % view->tensor.size[2]);
}

static void convert_x_task(void *arg, int64_t index, int worker) {
    const struct forward *forward = arg;
    (void)worker;
    convert_input(forward, &forward->x, index);
}

static void convert_memory_task(void *arg, int64_t index, int worker) {
    const struct forward *forward = arg;
    (void)worker;
    convert_input(forward, &forward->memory, index);
}

static void convert_y_task(void *arg, int64_t index, int worker) {
    const struct forward *forward = arg;
    const struct matrix_view *y = &forward->y;
    int64_t last = headwise_min((index + 1) * TASK_ROWS, n_rows(&y->tensor));
    (void)worker;
    for (int64_t r = index * TASK_ROWS; r < last; r++)
        headwise_row_from_f32(
            forward->kernels,
            headwise_tensor_row(&y->tensor, r / y->tensor.size[2], 0, r % y->tensor.size[2]),
            y->tensor.dtype, y->data + r * y->stride, y->tensor.size[3]);
}

static void input_task(void *arg, int64_t index, int worker) {
    const struct forward *forward = arg;
    int64_t first = headwise_projection_tasks(&forward->inputs[0]);
    if (index < first)
        headwise_projection_run(&forward->inputs[0], index, worker);
    else
        headwise_projection_run(&forward->inputs[1], index - first, worker);
}

static void output_task(void *arg, int64_t index, int worker) {
    const struct forward *forward = arg;
    headwise_projection_run(&forward->output, index, worker);
}

/* head_h * W_O[rows of h] for TASK_ROWS rows of one batch entry and head. */
static void contribution_task(void *arg, int64_t index, int worker) {
    const struct forward *forward = arg;
    const struct headwise_kernels *kernels = forward->kernels;
    const struct headwise_call *call = forward->call;
    const struct headwise_matrix *o = &forward->mha->o;
    int64_t blocks = headwise_ceil_div(call->n_queries, TASK_ROWS);
    int64_t h = index / blocks % call->n_heads, b = index / blocks / call->n_heads;
    int64_t first = index % blocks * TASK_ROWS;
    int64_t m = headwise_min(TASK_ROWS, call->n_queries - first);
    float *tile = forward->worker_scratch + worker * headwise_projection_floats(kernels);
    const float *heads = forward->heads + (b * call->n_queries + first) * forward->context_stride +
                         h * call->value_dim;
    float *out =
        call->probe.contributions + ((b * call->n_heads + h) * call->n_queries + first) * o->n;
    for (int64_t c = 0; c < o->n; c += kernels->nr) {
        int width = headwise_panel_width(kernels, o->n, c);
        size_t bytes = (size_t)headwise_min(width, o->n - c) * sizeof(float);
        kernels->project(tile, width, heads, forward->context_stride,
                         o->panels + o->k * c + h * call->value_dim * width, m, width,
                         call->value_dim, false, NULL);
        for (int64_t r = 0; r < m; r++)
            memcpy(out + r * o->n + c, tile + r * width, bytes);
    }
}

/* The heads' views of the projected rows: [batch][row][head * columns]. */
static struct headwise_tensor heads_view(float *data, int64_t batch, int64_t heads, int64_t rows,
                                         int64_t columns, int64_t stride) {
    return (struct headwise_tensor){
        data, HEADWISE_F32, {batch, heads, rows, columns}, {rows * stride, columns, stride, 1}};
}

static int64_t padded_stride(const struct forward *forward, const struct headwise_matrix *matrix) {
    return headwise_odd_stride(headwise_matrix_padded(forward->kernels, matrix->n));
}

static struct headwise_projection projection_of(const struct forward *forward,
                                                const struct matrix_view *x, int64_t k) {
    return (struct headwise_projection){
        .kernels = forward->kernels,
        .x = x->data,
        .x_stride = x->stride,
        .m = n_rows(&x->tensor),
        .k = k,
        .scratch = forward->worker_scratch,
    };
}

static void add_output(struct headwise_projection *projection, const struct headwise_matrix *matrix,
                       float *y, int64_t y_stride) {
    projection->outputs[projection->n_outputs++] =
        (struct headwise_projection_output){matrix, y, y_stride};
}

static int collect_phases(struct forward *forward, struct headwise_phase *phases) {
    int n = 0;
    const struct headwise_call *call = forward->call;
    int64_t x_blocks = headwise_ceil_div(n_rows(&forward->x.tensor), TASK_ROWS);
    if (!forward->x.direct)
        phases[n++] = (struct headwise_phase){x_blocks, convert_x_task, forward};
    if (forward->n_inputs > 1 && !forward->memory.direct)
        phases[n++] =
            (struct headwise_phase){headwise_ceil_div(n_rows(&forward->memory.tensor), TASK_ROWS),
                                    convert_memory_task, forward};
    int64_t input_tasks = headwise_projection_tasks(&forward->inputs[0]);
    if (forward->n_inputs > 1)
        input_tasks += headwise_projection_tasks(&forward->inputs[1]);
    phases[n++] = (struct headwise_phase){input_tasks, input_task, forward};
    n += headwise_attention_phases(&forward->attention, phases + n);
    if (call->probe.contributions)
        phases[n++] = (struct headwise_phase){call->batch * call->n_heads *
                                                  headwise_ceil_div(call->n_queries, TASK_ROWS),
                                              contribution_task, forward};
    phases[n++] =
        (struct headwise_phase){headwise_projection_tasks(&forward->output), output_task, forward};
    if (!forward->y.direct)
        phases[n++] = (struct headwise_phase){x_blocks, convert_y_task, forward};
    return n;
}

/* Where everything lies in the scratch, as offsets; -1 in total where it overflows. */
struct scratch_map {
    int64_t q, k, v, heads, workers, attention, total;
};

static struct scratch_map map_scratch(struct forward *forward, int n_threads) {
    const headwise_mha *mha = forward->mha;
    const struct headwise_call *call = forward->call;
    int64_t rows = call->batch * call->n_queries;
    int64_t memory_rows = call->batch * (call->n_keys - call->n_past);
    struct scratch_map map = {0};
    struct headwise_tensor x = forward->x.tensor, memory = forward->memory.tensor,
                           y = forward->y.tensor;
    bool y_direct = is_flat_f32(&y) && mha->d_out % forward->kernels->nr_min == 0;
    forward->x = view_of(&x, is_flat_f32(&x), headwise_odd_stride(mha->d_model), &map.total);
    if (forward->n_inputs > 1)
        forward->memory =
            view_of(&memory, is_flat_f32(&memory), headwise_odd_stride(mha->d_memory), &map.total);
    forward->y = view_of(&y, y_direct, padded_stride(forward, &mha->o), &map.total);
    forward->q_stride = padded_stride(forward, &mha->q);
    forward->k_stride = padded_stride(forward, &mha->k);
    forward->v_stride = padded_stride(forward, &mha->v);
    forward->context_stride = headwise_odd_stride(mha->n_heads * mha->value_dim);
    map.q = headwise_take(&map.total, rows, forward->q_stride);
    map.k = headwise_take(&map.total, memory_rows, forward->k_stride);
    map.v = headwise_take(&map.total, memory_rows, forward->v_stride);
    map.heads = headwise_take(&map.total, rows, forward->context_stride);
    map.workers =
        headwise_take(&map.total, n_threads, headwise_projection_floats(forward->kernels));
    map.attention = headwise_take(&map.total, 1,
                                  forward->attention.plan.scratch_bytes / (int64_t)sizeof(float));
    if (forward->attention.plan.scratch_bytes < 0)
        map.total = -1;
    return map;
}

static void bind_scratch(struct forward *forward, const struct scratch_map *map, float *scratch) {
    const headwise_mha *mha = forward->mha;
    struct headwise_call *call = forward->call;
    int64_t new_keys = call->n_keys - call->n_past;
    place_view(&forward->x, scratch);
    place_view(&forward->memory, scratch);
    place_view(&forward->y, scratch);
    forward->heads = scratch + map->heads;
    forward->worker_scratch = scratch + map->workers;
    forward->attention.shared = scratch + map->attention;
    call->q = heads_view(scratch + map->q, call->batch, call->n_heads, call->n_queries,
                         call->head_dim, forward->q_stride);
    call->k = heads_view(scratch + map->k, call->batch, call->n_kv_heads, new_keys, call->head_dim,
                         forward->k_stride);
    call->v = heads_view(scratch + map->v, call->batch, call->n_kv_heads, new_keys, call->value_dim,
                         forward->v_stride);
    call->y = heads_view(forward->heads, call->batch, call->n_heads, call->n_queries,
                         call->value_dim, forward->context_stride);
    const struct matrix_view *memory = forward->n_inputs > 1 ? &forward->memory : &forward->x;
    struct headwise_projection *kv = &forward->inputs[forward->n_inputs - 1];
    forward->inputs[0] = projection_of(forward, &forward->x, mha->d_model);
    if (forward->n_inputs > 1)
        forward->inputs[1] = projection_of(forward, memory, mha->d_memory);
    add_output(&forward->inputs[0], &mha->q, call->q.data, forward->q_stride);
    add_output(kv, &mha->k, call->k.data, forward->k_stride);
    add_output(kv, &mha->v, call->v.data, forward->v_stride);
    forward->output = (struct headwise_projection){
        .kernels = forward->kernels,
        .x = forward->heads,
        .x_stride = forward->context_stride,
        .m = call->batch * call->n_queries,
        .k = mha->o.k,
        .scratch = forward->worker_scratch,
    };
    add_output(&forward->output, &mha->o, forward->y.data, forward->y.stride);
}

/* Multiply-adds below which waking threads costs more than it gives. */
enum { TINY_WORK = 512 * 1024 };

static bool is_tiny(const struct forward *forward) {
    const headwise_mha *mha = forward->mha;
    const struct headwise_call *call = forward->call;
    double weights = (double)mha->q.k * (double)mha->q.n + (double)mha->o.k * (double)mha->o.n;
    weights += (double)mha->k.k * (double)mha->k.n + (double)mha->v.k * (double)mha->v.n;
    return headwise_plan_is_tiny(&forward->attention.plan) &&
           weights * (double)(call->batch * call->n_queries) < TINY_WORK;
}

enum headwise_status headwise_mha_run(headwise_context *context, const headwise_mha *mha,
                                      const struct headwise_tensor *y,
                                      const struct headwise_tensor *x,
                                      const struct headwise_tensor *memory,
                                      struct headwise_call *call) {
    struct forward forward = {
        .mha = mha,
        .kernels = context->kernels,
        .call = call,
        .x.tensor = *x,
        .y.tensor = *y,
        .n_inputs = memory ? 2 : 1,
    };
    if (memory)
        forward.memory.tensor = *memory;
    headwise_plan_init(&forward.attention.plan, call, context->kernels, context->n_threads);
    struct scratch_map map = map_scratch(&forward, context->n_threads);
    int64_t bytes;
    if (map.total < 0 || !headwise_mul(&bytes, map.total, sizeof(float)))
        bytes = -1;
    enum headwise_status status = headwise_context_grow(context, bytes);
    if (status != HEADWISE_OK)
        return status;
    bind_scratch(&forward, &map, context->scratch);
    for (int i = 0; i < forward.n_inputs; i++)
        headwise_projection_plan(&forward.inputs[i], context->n_threads);
    headwise_projection_plan(&forward.output, context->n_threads);
    struct headwise_phase phases[HEADWISE_MAX_PHASES];
    int n_phases = collect_phases(&forward, phases);
    headwise_parallel_run(context, phases, n_phases, is_tiny(&forward));
    return HEADWISE_OK;
}
