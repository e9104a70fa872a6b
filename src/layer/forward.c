/* Lays out a layer's call in scratch, and runs its phases. */
#include "layer/forward.h"

#include <string.h>

#include "attention/attention.h"
#include "base/error.h"
#include "base/scratch.h"
#include "context/parallel.h"
#include "context/waking.h"

/* Whether row number b * size[2] + r of the flattened tensor lies at that many row strides. */
static bool is_flat_f32(const struct headwise_tensor *t) {
    return t->dtype == HEADWISE_F32 &&
           (t->size[0] <= 1 || t->stride[0] == t->size[2] * t->stride[2]);
}

/* Makes room for the rows of view->tensor, stride floats apart, unless they can stay where they
 * are. */
static void take_view(struct headwise_matrix_view *view, bool direct, int64_t stride,
                      int64_t *total) {
    view->direct = direct;
    view->stride = direct ? view->tensor.stride[2] : stride;
    if (!direct)
        view->at = headwise_take(total, headwise_view_rows(view), stride);
}

static void take_input(struct headwise_matrix_view *view, int64_t *total) {
    take_view(view, is_flat_f32(&view->tensor), headwise_odd_stride(view->tensor.size[3]), total);
}

static void place_view(struct headwise_matrix_view *view, float *scratch) {
    view->data = view->direct ? view->tensor.data : scratch + view->at;
}

/* The heads' views of the projected rows: [batch][row][head * columns]. */
static struct headwise_tensor heads_view(float *data, int64_t batch, int64_t heads, int64_t rows,
                                         int64_t columns, int64_t stride) {
    return (struct headwise_tensor){
        data, HEADWISE_F32, {batch, heads, rows, columns}, {rows * stride, columns, stride, 1}};
}

static int64_t padded_stride(const struct headwise_forward *forward,
                             const struct headwise_matrix *matrix) {
    return headwise_odd_stride(headwise_matrix_padded(forward->kernels, matrix->n));
}

static struct headwise_projection projection_of(const struct headwise_forward *forward,
                                                const struct headwise_matrix_view *x, int64_t k) {
    return (struct headwise_projection){
        .kernels = forward->kernels,
        .dot = forward->dot,
        .x = x->data,
        .x_stride = x->stride,
        .m = headwise_view_rows(x),
        .k = k,
        .scratch = forward->worker_scratch,
        .held = forward->held,
    };
}

static void add_output(struct headwise_projection *projection, const struct headwise_matrix *matrix,
                       float *y, int64_t y_stride) {
    projection->outputs[projection->n_outputs++] =
        (struct headwise_projection_output){matrix, y, y_stride};
}

/* Where everything lies in the scratch, as offsets; -1 in total where it overflows. */
struct scratch_map {
    int64_t q, k, v, heads, workers, held, append, attention, total;
};

static void map_keys(struct headwise_forward *forward, struct scratch_map *map, int n_threads) {
    const headwise_mha *mha = forward->mha;
    int64_t rows = forward->call->batch * forward->n_key_rows;
    if (forward->has_memory)
        take_input(&forward->memory, &map->total);
    forward->k_stride = padded_stride(forward, &mha->k);
    forward->v_stride = padded_stride(forward, &mha->v);
    map->k = headwise_take(&map->total, rows, forward->k_stride);
    map->v = headwise_take(&map->total, rows, forward->v_stride);
    if (!forward->appends)
        return;
    int64_t floats = headwise_cache_append_floats(forward->append.cache);
    forward->append.worker_floats = floats;
    map->append = headwise_take(&map->total, n_threads, floats);
}

static void map_queries(struct headwise_forward *forward, struct scratch_map *map) {
    const struct headwise_call *call = forward->call;
    forward->q_stride = padded_stride(forward, &forward->mha->q);
    map->q = headwise_take(&map->total, call->batch * call->n_queries, forward->q_stride);
}

static void map_output(struct headwise_forward *forward, struct scratch_map *map) {
    const headwise_mha *mha = forward->mha;
    const struct headwise_call *call = forward->call;
    int64_t rows = call->batch * call->n_queries;
    bool y_direct = is_flat_f32(&forward->y.tensor) && mha->d_out % forward->kernels->nr_min == 0;
    take_view(&forward->y, y_direct, padded_stride(forward, &mha->o), &map->total);
    forward->heads_stride = headwise_odd_stride(mha->n_heads * mha->value_dim);
    map->heads = headwise_take(&map->total, rows, forward->heads_stride);
    map->attention =
        headwise_take(&map->total, 1, forward->attention.scratch_bytes / (int64_t)sizeof(float));
    if (forward->attention.scratch_bytes < 0)
        map->total = -1;
}

static struct scratch_map map_scratch(struct headwise_forward *forward, int n_threads) {
    struct scratch_map map = {0};
    take_input(&forward->x, &map.total);
    map.workers =
        headwise_take(&map.total, n_threads, headwise_projection_floats(forward->kernels));
    map.held = headwise_take(&map.total, n_threads, sizeof(struct headwise_held) / sizeof(float));
    if (forward->has_keys)
        map_keys(forward, &map, n_threads);
    if (forward->has_queries)
        map_queries(forward, &map);
    if (forward->has_output)
        map_output(forward, &map);
    return map;
}

static struct headwise_head_rows head_rows(const struct headwise_forward *forward,
                                           const struct headwise_head_norm *norm,
                                           const struct headwise_tensor *heads) {
    return (struct headwise_head_rows){
        .kernels = forward->kernels,
        .call = forward->call,
        .mha = forward->mha,
        .norm = norm,
        .data = headwise_changes_head_rows(forward->mha, norm) ? heads->data : NULL,
        .n_rows = heads->size[2],
        .n_heads = heads->size[1],
        .stride = heads->stride[2],
    };
}

static void bind_keys(struct headwise_forward *forward, const struct scratch_map *map,
                      float *scratch) {
    const headwise_mha *mha = forward->mha;
    struct headwise_call *call = forward->call;
    struct headwise_tensor k = heads_view(scratch + map->k, call->batch, call->n_kv_heads,
                                          forward->n_key_rows, call->head_dim, forward->k_stride);
    struct headwise_tensor v = heads_view(scratch + map->v, call->batch, call->n_kv_heads,
                                          forward->n_key_rows, call->value_dim, forward->v_stride);
    struct headwise_projection *from = &forward->inputs[0];
    if (forward->has_memory) {
        place_view(&forward->memory, scratch);
        forward->inputs[1] = projection_of(forward, &forward->memory, mha->k.k);
        from = &forward->inputs[1];
    }
    forward->k_rows = head_rows(forward, &mha->k_norm, &k);
    add_output(from, &mha->k, k.data, forward->k_stride);
    add_output(from, &mha->v, v.data, forward->v_stride);
    if (forward->appends) {
        forward->append.k = k;
        forward->append.v = v;
        forward->append.scratch = scratch + map->append;
    } else {
        call->k = k;
        call->v = v;
    }
}

static void bind_queries(struct headwise_forward *forward, const struct scratch_map *map,
                         float *scratch) {
    struct headwise_call *call = forward->call;
    call->q = heads_view(scratch + map->q, call->batch, call->n_heads, call->n_queries,
                         call->head_dim, forward->q_stride);
    forward->q_rows = head_rows(forward, &forward->mha->q_norm, &call->q);
    add_output(&forward->inputs[0], &forward->mha->q, call->q.data, forward->q_stride);
}

static void bind_output(struct headwise_forward *forward, const struct scratch_map *map,
                        float *scratch) {
    const headwise_mha *mha = forward->mha;
    struct headwise_call *call = forward->call;
    place_view(&forward->y, scratch);
    forward->heads = scratch + map->heads;
    call->y = heads_view(forward->heads, call->batch, call->n_heads, call->n_queries,
                         call->value_dim, forward->heads_stride);
    forward->output = (struct headwise_projection){
        .kernels = forward->kernels,
        .dot = forward->dot,
        .x = forward->heads,
        .x_stride = forward->heads_stride,
        .m = call->batch * call->n_queries,
        .k = mha->o.k,
        .scratch = forward->worker_scratch,
        .held = forward->held,
    };
    add_output(&forward->output, &mha->o, forward->y.data, forward->y.stride);
}

static void bind_scratch(struct headwise_forward *forward, const struct scratch_map *map,
                         float *scratch, int n_threads) {
    place_view(&forward->x, scratch);
    forward->worker_scratch = scratch + map->workers;
    forward->held = (struct headwise_held *)(void *)(scratch + map->held);
    memset(forward->held, 0, (size_t)n_threads * sizeof *forward->held);
    forward->n_inputs = forward->has_memory ? 2 : 1;
    forward->inputs[0] = projection_of(forward, &forward->x, forward->x.tensor.size[3]);
    if (forward->has_queries)
        bind_queries(forward, map, scratch);
    if (forward->has_output)
        bind_output(forward, map, scratch);
    if (forward->has_keys)
        bind_keys(forward, map, scratch);
    for (int i = 0; i < forward->n_inputs; i++)
        headwise_projection_plan(&forward->inputs[i], n_threads);
    if (forward->has_output)
        headwise_projection_plan(&forward->output, n_threads);
}

static bool is_tiny(const struct headwise_forward *forward) {
    const headwise_mha *mha = forward->mha;
    const struct headwise_call *call = forward->call;
    double keys = (double)mha->k.k * (double)(mha->k.n + mha->v.n);
    double queries = (double)mha->q.k * (double)mha->q.n + (double)mha->o.k * (double)mha->o.n;
    double work = 0;
    if (forward->has_keys)
        work += keys * (double)(call->batch * forward->n_key_rows);
    if (forward->has_queries)
        work += queries * (double)(call->batch * call->n_queries);
    return headwise_is_tiny(work, HEADWISE_WAKING_PROJECTION) &&
           (!forward->has_output || headwise_attention_is_tiny(&forward->attention));
}

static struct headwise_forward make_forward(const headwise_context *context,
                                            const headwise_mha *mha,
                                            const struct headwise_mha_io *io,
                                            struct headwise_call *call) {
    struct headwise_forward forward = {
        .mha = mha,
        .kernels = context->kernels,
        .dot = context->dot,
        .call = call,
        .has_queries = io->y || io->q,
        .has_keys = io->y ? !call->cache || io->appended : io->appended || io->k || io->v,
        .has_output = io->y != NULL,
        .appends = io->appended != NULL,
        .x.tensor = io->x ? *io->x : *io->memory,
        .append.cache = io->appended,
        .append.first_sequence = call->first_sequence,
        .append.ragged = call->ragged.query_starts ? &call->ragged : NULL,
        .wanted = {io->q, io->k, io->v},
    };
    forward.has_memory = forward.has_keys && io->x && io->memory;
    if (io->y)
        forward.y.tensor = *io->y;
    if (io->memory)
        forward.memory.tensor = *io->memory;
    forward.n_key_rows = io->memory ? io->memory->size[2] : io->x->size[2];
    if (forward.has_output)
        headwise_attention_plan(&forward.attention, call, context->kernels, context->n_threads);
    return forward;
}

/* Rows that belong to no sequence of a ragged call: no task writes their head outputs. */
static void clear_outside(const struct headwise_forward *forward) {
    const struct headwise_call *call = forward->call;
    const int32_t *starts = call->ragged.query_starts;
    if (!starts || !forward->has_output)
        return;
    size_t row_bytes = (size_t)forward->heads_stride * sizeof(float);
    int64_t end = starts[call->ragged.n_sequences];
    memset(forward->heads, 0, (size_t)starts[0] * row_bytes);
    memset(forward->heads + end * forward->heads_stride, 0,
           (size_t)(call->n_queries - end) * row_bytes);
}

enum headwise_status headwise_mha_run(headwise_context *context, const headwise_mha *mha,
                                      const struct headwise_mha_io *io,
                                      struct headwise_call *call) {
    struct headwise_forward forward = make_forward(context, mha, io, call);
    struct scratch_map map = map_scratch(&forward, context->n_threads);
    TRY(headwise_context_begin(context, headwise_float_bytes(map.total)));
    enum headwise_status status;
    bind_scratch(&forward, &map, context->scratch, context->n_threads);
    if (forward.has_output)
        headwise_attention_bind(&forward.attention, (float *)context->scratch + map.attention);
    clear_outside(&forward);
    struct headwise_phase phases[HEADWISE_MAX_PHASES];
    int n_phases = headwise_forward_phases(&forward, phases);
    if (forward.appends)
        status = headwise_cache_append_phases(context, &forward.append, phases, n_phases,
                                              is_tiny(&forward));
    else
        status = headwise_parallel_run(context, phases, n_phases, is_tiny(&forward));
    headwise_context_end(context);
    return status;
}
