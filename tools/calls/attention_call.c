/* Reads a call of the Attention operator from a file, its tensors checked against each other. */
#include "calls/attention_call.h"

#include <string.h>

#include "common/arrays.h"
#include "common/message.h"

/* Everything that reading a call needs. */
struct reader {
    struct attention_call *call;
    struct arena *arena;
    const headwise_safetensors *file;
    const struct attributes *attributes;
};

struct headwise_tensor attention_view(int rank, const void *data, enum headwise_dtype dtype,
                                      int64_t batch, int64_t heads, int64_t rows, int64_t columns) {
    return rank == 3 ? headwise_tensor_brhc(data, dtype, batch, rows, heads, columns)
                     : headwise_tensor_bhrc(data, dtype, batch, heads, rows, columns);
}

static int load(const struct reader *reader, struct array *array, const char *name,
                enum array_kind kind, bool is_required) {
    int code = array_load(array, reader->arena, reader->file, name, kind, is_required);
    reader->call->narrowed = reader->call->narrowed || array->narrowed;
    return code;
}

static int fail_tensor(const struct reader *reader, const char *name, const char *problem) {
    return fail("%s: tensor \"%s\": %s", headwise_safetensors_path(reader->file), name, problem);
}

/* The number of heads of a 3D tensor, or the check of a 4D one against the attribute. */
static int find_heads(const struct reader *reader, int64_t *heads, const char *attribute,
                      struct option_integer given) {
    const char *path = headwise_safetensors_path(reader->file);
    if (given.is_set && given.value < 1)
        return fail("%s: %s is %lld, expected 1 or more", path, attribute, (long long)given.value);
    if (reader->call->rank == 3) {
        if (!given.is_set)
            return fail("%s: %s is missing, expected with 3D tensors", path, attribute);
        *heads = given.value;
    } else if (given.is_set && given.value != *heads) {
        return fail("%s: %s is %lld, expected %lld as in the 4D tensors", path, attribute,
                    (long long)given.value, (long long)*heads);
    }
    return EXIT_GOOD;
}

/* The size of a head, from the width of rows that hold all heads. */
static int split_width(const struct reader *reader, int64_t *columns, const struct array *array,
                       int64_t heads) {
    int64_t width = array->shape[2];
    if (width % heads != 0)
        return fail("%s: tensor \"%s\": rows of %lld, expected a multiple of its %lld heads",
                    headwise_safetensors_path(reader->file), array->name, (long long)width,
                    (long long)heads);
    *columns = width / heads;
    return EXIT_GOOD;
}

static int read_query(const struct reader *reader) {
    struct attention_call *call = reader->call;
    struct array q;
    int code = load(reader, &q, "Q", ARRAY_FLOAT, true);
    if (code)
        return code;
    if (q.rank != 3 && q.rank != 4) {
        char text[SHAPE_TEXT];
        return fail("%s: tensor \"Q\": shape %s, expected [batch,heads,queries,head size] or "
                    "[batch,queries,heads * head size]",
                    headwise_safetensors_path(reader->file), shape_text(text, q.rank, q.shape));
    }
    call->rank = q.rank;
    call->batch = q.shape[0];
    call->n_queries = q.shape[q.rank - 2];
    call->n_heads = q.shape[1];
    call->head_dim = q.shape[q.rank - 1];
    code = find_heads(reader, &call->n_heads, "q_num_heads", reader->attributes->q_num_heads);
    if (!code && q.rank == 3)
        code = split_width(reader, &call->head_dim, &q, call->n_heads);
    if (!code && call->head_dim == 0)
        code = fail_tensor(reader, "Q", "head size 0, expected 1 or more");
    if (!code)
        call->q = attention_view(q.rank, q.data, q.dtype, call->batch, call->n_heads,
                                 call->n_queries, call->head_dim);
    return code;
}

static int expect_key(const struct reader *reader, const struct array *k) {
    const struct attention_call *call = reader->call;
    const int64_t k4[] = {call->batch, -1, -1, call->head_dim};
    if (call->rank == 4)
        return array_expect(k, reader->file, 4, k4, "(batch, kv heads, keys, head size of Q)");
    int64_t width;
    if (__builtin_mul_overflow(call->n_kv_heads, call->head_dim, &width))
        return fail_tensor(reader, "K", "kv_num_heads times the head size of Q overflows");
    const int64_t k3[] = {call->batch, -1, width};
    return array_expect(k, reader->file, 3, k3, "(batch, keys, kv_num_heads * head size of Q)");
}

static int read_key(const struct reader *reader) {
    struct attention_call *call = reader->call;
    struct array k;
    int code = load(reader, &k, "K", ARRAY_FLOAT, true);
    if (code)
        return code;
    if (k.rank == 4)
        call->n_kv_heads = k.shape[1];
    code = find_heads(reader, &call->n_kv_heads, "kv_num_heads", reader->attributes->kv_num_heads);
    if (!code)
        code = expect_key(reader, &k);
    if (!code && (call->n_kv_heads == 0 ? call->n_heads > 0 : call->n_heads % call->n_kv_heads))
        code = fail("%s: %lld query heads and %lld kv heads, expected a multiple",
                    headwise_safetensors_path(reader->file), (long long)call->n_heads,
                    (long long)call->n_kv_heads);
    call->n_new_keys = code ? 0 : k.shape[k.rank - 2];
    if (!code)
        call->k = attention_view(k.rank, k.data, k.dtype, call->batch, call->n_kv_heads,
                                 call->n_new_keys, call->head_dim);
    return code;
}

static int read_value(const struct reader *reader) {
    struct attention_call *call = reader->call;
    struct array v;
    int code = load(reader, &v, "V", ARRAY_FLOAT, true);
    if (code)
        return code;
    const int64_t v4[] = {call->batch, call->n_kv_heads, call->n_new_keys, -1};
    const int64_t v3[] = {call->batch, call->n_new_keys, -1};
    code = call->rank == 4
               ? array_expect(&v, reader->file, 4, v4, "(batch, kv heads, keys of K, value size)")
               : array_expect(&v, reader->file, 3, v3, "(batch, keys of K, heads * value size)");
    if (code)
        return code;
    call->value_dim = v.shape[v.rank - 1];
    if (v.rank == 3)
        code = split_width(reader, &call->value_dim, &v, call->n_kv_heads);
    if (!code && call->value_dim == 0)
        code = fail_tensor(reader, "V", "value size 0, expected 1 or more");
    if (!code)
        call->v = attention_view(v.rank, v.data, v.dtype, call->batch, call->n_kv_heads,
                                 call->n_new_keys, call->value_dim);
    return code;
}

/* past_key or past_value, which are 4D whatever the rank of K and V. */
static int read_past(const struct reader *reader, struct headwise_tensor *view, const char *name,
                     int64_t rows, const struct headwise_tensor *of, const char *of_name) {
    struct array past;
    int code = load(reader, &past, name, ARRAY_FLOAT, false);
    if (code || !past.data)
        return code;
    const int64_t sizes[] = {of->size[0], of->size[1], rows, of->size[3]};
    code = array_expect(&past, reader->file, 4, sizes, "(batch, kv heads, past keys, size as new)");
    if (!code && past.dtype != of->dtype)
        return fail("%s: tensor \"%s\": is %s, expected %s as in %s",
                    headwise_safetensors_path(reader->file), name, headwise_dtype_name(past.dtype),
                    headwise_dtype_name(of->dtype), of_name);
    if (!code)
        *view = headwise_tensor_bhrc(past.data, past.dtype, past.shape[0], past.shape[1],
                                     past.shape[2], past.shape[3]);
    return code;
}

static int read_pasts(const struct reader *reader) {
    struct attention_call *call = reader->call;
    int code = read_past(reader, &call->past_key, "past_key", -1, &call->k, "K");
    bool has_key = call->past_key.data != NULL;
    call->n_past = has_key ? call->past_key.size[2] : 0;
    if (!code)
        code = read_past(reader, &call->past_value, "past_value", has_key ? call->n_past : -1,
                         &call->v, "V");
    if (code)
        return code;
    call->call.past_key = has_key ? &call->past_key : NULL;
    call->call.past_value = has_key ? &call->past_value : NULL;
    if (has_key != (call->past_value.data != NULL))
        return fail("%s: has only one of past_key and past_value, expected both or neither",
                    headwise_safetensors_path(reader->file));
    if (__builtin_add_overflow(call->n_past, call->n_new_keys, &call->n_keys))
        return fail_tensor(reader, "past_key", "past and new keys are too many");
    return code;
}

static int read_mask(const struct reader *reader) {
    struct attention_call *call = reader->call;
    struct array mask;
    int code = load(reader, &mask, "attn_mask", ARRAY_MASK, false);
    if (code || !mask.data)
        return code;
    const int64_t full[4] = {call->batch, call->n_heads, call->n_queries, call->n_keys};
    int64_t sizes[4] = {1, 1, 1, 1};
    bool fits = mask.rank >= 1 && mask.rank <= 4;
    for (int i = 0; fits && i < mask.rank; i++) {
        int axis = 4 - mask.rank + i;
        sizes[axis] = mask.shape[i];
        /* a last axis shorter than the keys hides the rest */
        fits = axis == 3 ? sizes[3] <= full[3] : sizes[axis] == 1 || sizes[axis] == full[axis];
    }
    if (!fits) {
        char found[SHAPE_TEXT], expected[SHAPE_TEXT];
        return fail("%s: tensor \"attn_mask\": shape %s, expected 1 to 4 axes that broadcast to %s "
                    "(batch, heads, queries, keys), the last one as long or shorter",
                    headwise_safetensors_path(reader->file),
                    shape_text(found, mask.rank, mask.shape), shape_text(expected, 4, full));
    }
    call->call.mask = &call->mask;
    call->mask =
        headwise_tensor_bhrc(mask.data, mask.dtype, sizes[0], sizes[1], sizes[2], sizes[3]);
    return EXIT_GOOD;
}

static int read_lengths(const struct reader *reader) {
    static const char name[] = "nonpad_kv_seqlen";
    struct attention_call *call = reader->call;
    const struct headwise_file_tensor *tensor = headwise_safetensors_find(reader->file, name);
    if (!tensor)
        return EXIT_GOOD;
    char found[SHAPE_TEXT];
    if (tensor->rank != 1 || tensor->shape[0] != call->batch)
        return fail("%s: tensor \"%s\": shape %s, expected [%lld] (batch)",
                    headwise_safetensors_path(reader->file), name,
                    shape_text(found, tensor->rank, tensor->shape), (long long)call->batch);
    call->key_lengths = arena_take(reader->arena, call->batch, sizeof *call->key_lengths);
    if (!call->key_lengths)
        return EXIT_UNUSABLE;
    if (headwise_safetensors_read_i64(call->key_lengths, reader->file, tensor) != HEADWISE_OK)
        return fail("%s", headwise_io_last_error());
    for (int64_t b = 0; b < call->batch; b++) {
        if (call->key_lengths[b] < 0 || call->key_lengths[b] > call->n_keys)
            return fail("%s: tensor \"%s\": element %lld is %lld, expected 0 to %lld (keys)",
                        headwise_safetensors_path(reader->file), name, (long long)b,
                        (long long)call->key_lengths[b], (long long)call->n_keys);
    }
    return EXIT_GOOD;
}

/* ONNX's rule for the position of the first query. */
static int find_offsets(const struct reader *reader) {
    struct attention_call *call = reader->call;
    call->offsets = arena_take(reader->arena, call->batch, sizeof *call->offsets);
    if (!call->offsets)
        return EXIT_UNUSABLE;
    call->call.query_offsets = call->offsets;
    call->call.key_lengths = call->key_lengths;
    for (int64_t b = 0; b < call->batch; b++) {
        if (call->call.past_key)
            call->offsets[b] = call->n_past;
        else if (call->key_lengths)
            call->offsets[b] = call->key_lengths[b] - call->n_queries;
    }
    return EXIT_GOOD;
}

static void fill_options(struct attention_call *call, const struct attributes *a) {
    struct headwise_attention_options *options = &call->options;
    int64_t precision = a->softmax_precision.value;
    call->is_causal = a->is_causal.value != 0;
    call->stage = (enum headwise_score_stage)a->qk_matmul_output_mode.value;
    *options = (struct headwise_attention_options){
        .size = sizeof *options,
        .scale_is_set = a->scale.is_set,
        .scale = (float)a->scale.value,
        .softcap = (float)a->softcap.value,
        .causal = call->is_causal ? HEADWISE_CAUSAL_TOP_LEFT : HEADWISE_CAUSAL_NONE,
        .window_is_set = a->left_window_size.value >= 0 || a->right_window_size.value >= 0,
        .window_left = a->left_window_size.value,
        .window_right = a->right_window_size.value,
        .softmax_precision = precision == 10   ? HEADWISE_F16
                             : precision == 16 ? HEADWISE_BF16
                                               : HEADWISE_F32,
    };
}

int attention_call_read(struct attention_call *call, struct arena *arena,
                        const headwise_safetensors *file, const struct attributes *attributes) {
    const struct reader reader = {call, arena, file, attributes};
    const char *op = headwise_safetensors_metadata(file, "op");
    *call = (struct attention_call){0};
    call->call = (struct headwise_attention_call){.size = sizeof call->call,
                                                  .q = &call->q,
                                                  .k = &call->k,
                                                  .v = &call->v,
                                                  .options = &call->options};
    if (op && strcmp(op, "Attention") != 0)
        return fail("%s: metadata op is \"%s\", expected \"Attention\"",
                    headwise_safetensors_path(file), op);
    int (*const steps[])(const struct reader *) = {
        read_query, read_key, read_value, read_pasts, read_mask, read_lengths, find_offsets};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        int code = steps[i](&reader);
        if (code)
            return code;
    }
    fill_options(call, attributes);
    return EXIT_GOOD;
}
