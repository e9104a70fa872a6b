/* Every Attention file: the engine and the oracle against the stored results. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "compare.h"
#include "guard.h"
#include "half.h"
#include "oracle.h"
#include "vector_file.h"

static const char *const folders[] = {"onnx",        "onnx_window",   "ort",
                                      "stories260K", "gpt_nano_sort", "ppocr_svtr"};

/* One file as a call. */
struct operator_file {
    headwise_safetensors *file;
    struct headwise_tensor q, k, v, y, mask, past_key, past_value, present_key, present_value;
    struct headwise_attention_options options;
    struct headwise_attention_call given;
    struct headwise_probe probe;
    int64_t *offsets;
    int64_t keys;
};

/* A tensor of 4 axes, or of 3 axes (batch, row, head * column) with that many heads. */
static struct headwise_tensor view(const headwise_safetensors *file, const char *name,
                                   const char *heads_key) {
    const struct headwise_file_tensor *t = vector_find(file, name);
    enum headwise_dtype dtype;
    void *data = vector_raw(file, name, &dtype);
    const int64_t *n = t->shape;
    if (t->rank == 4)
        return headwise_tensor_bhrc(data, dtype, n[0], n[1], n[2], n[3]);
    assert_int_equal(t->rank, 3);
    int64_t heads = (int64_t)vector_number(file, heads_key, 0);
    assert_true(heads > 0 && n[2] % heads == 0);
    return headwise_tensor_brhc(data, dtype, n[0], n[1], heads, n[2] / heads);
}

/* Untouched memory of a tensor's form, for the call to write. */
static struct headwise_tensor output_like(const struct headwise_tensor *t) {
    struct headwise_tensor out = *t;
    size_t n = (size_t)(t->size[0] * t->size[1] * t->size[2] * t->size[3]);
    out.data = guard_alloc(n * headwise_dtype_size(t->dtype), 0);
    return out;
}

/* Axes are aligned from the right; a mask of fewer axes is broadcast over the missing ones. */
static void load_mask(struct operator_file *f) {
    const struct headwise_file_tensor *t = vector_find(f->file, "attn_mask");
    int64_t n[4] = {1, 1, 1, 1};
    if (t == NULL)
        return;
    enum headwise_dtype dtype;
    void *data = vector_raw(f->file, "attn_mask", &dtype);
    for (int axis = 0; axis < t->rank; axis++)
        n[4 - t->rank + axis] = t->shape[axis];
    f->mask = headwise_tensor_bhrc(data, dtype, n[0], n[1], n[2], n[3]);
    f->given.mask = &f->mask;
}

static void load_past(struct operator_file *f) {
    if (vector_find(f->file, "past_key") != NULL) {
        f->past_key = view(f->file, "past_key", NULL);
        f->past_value = view(f->file, "past_value", NULL);
        f->given.past_key = &f->past_key;
        f->given.past_value = &f->past_value;
    }
    f->keys = f->k.size[2] + (f->given.past_key != NULL ? f->past_key.size[2] : 0);
    if (vector_find(f->file, "present_key") != NULL) {
        struct headwise_tensor key = view(f->file, "present_key", NULL);
        struct headwise_tensor value = view(f->file, "present_value", NULL);
        f->present_key = output_like(&key);
        f->present_value = output_like(&value);
        f->given.present_key = &f->present_key;
        f->given.present_value = &f->present_value;
    }
}

/* Positions: after the past; with lengths and no past, so that the last query stands on the last
 * key that counts. */
static void load_positions(struct operator_file *f) {
    int64_t batch = f->q.size[0], past = f->given.past_key != NULL ? f->past_key.size[2] : 0;
    f->offsets = guard_plain((size_t)batch, sizeof(int64_t));
    if (vector_find(f->file, "nonpad_kv_seqlen") != NULL)
        f->given.key_lengths = vector_i64(f->file, "nonpad_kv_seqlen", batch);
    for (int64_t b = 0; b < batch; b++)
        f->offsets[b] = f->given.key_lengths != NULL && f->given.past_key == NULL
                            ? f->given.key_lengths[b] - f->q.size[2]
                            : past;
    f->given.query_offsets = f->offsets;
    if (vector_number(f->file, "is_causal", 0) != 0)
        f->options.causal = HEADWISE_CAUSAL_TOP_LEFT;
    f->options.window_left = (int64_t)vector_number(f->file, "left_window_size", -1);
    f->options.window_right = (int64_t)vector_number(f->file, "right_window_size", -1);
    f->options.window_is_set = true;
}

static enum headwise_dtype softmax_type(const headwise_safetensors *file) {
    /* 1 F32 and 11 F64 are no coarser than the engine's f32. */
    double code = vector_number(file, "softmax_precision", 1);
    return code == 10 ? HEADWISE_F16 : code == 16 ? HEADWISE_BF16 : HEADWISE_F32;
}

static void load_numbers(struct operator_file *f) {
    f->options.scale_is_set = headwise_safetensors_metadata(f->file, "scale") != NULL;
    f->options.scale = (float)vector_number(f->file, "scale", 0);
    f->options.softcap = (float)vector_number(f->file, "softcap", 0);
    f->options.softmax_precision = softmax_type(f->file);
    if (vector_find(f->file, "qk_matmul_output") != NULL) {
        size_t n = (size_t)(f->q.size[0] * f->q.size[1] * f->q.size[2] * f->keys);
        f->probe = (struct headwise_probe){.size = sizeof(f->probe),
                                           .scores = guard_floats(n),
                                           .score_stage = (enum headwise_score_stage)vector_number(
                                               f->file, "qk_matmul_output_mode", 0)};
        f->given.probe = &f->probe;
    }
}

static void load_file(struct operator_file *f, const char *path) {
    memset(f, 0, sizeof(*f));
    f->file = vector_open(path);
    f->options.size = sizeof(f->options);
    f->given = (struct headwise_attention_call){.size = sizeof(f->given),
                                                .y = &f->y,
                                                .q = &f->q,
                                                .k = &f->k,
                                                .v = &f->v,
                                                .options = &f->options};
    f->q = view(f->file, "Q", "q_num_heads");
    f->k = view(f->file, "K", "kv_num_heads");
    f->v = view(f->file, "V", "kv_num_heads");
    f->y = view(f->file, "Y", "q_num_heads");
    f->y = output_like(&f->y);
    load_past(f);
    load_mask(f);
    load_positions(f);
    load_numbers(f);
}

/* How far the stored values of an output are from the exact ones, beyond rounding to their type:
 * 0, or what the file says (literals of another engine's tests), or an f32 run's own bound (the
 * author's activations of gpt_nano_sort). */
static double file_error(const headwise_safetensors *file, const char *output, double bound) {
    const char *list = headwise_safetensors_metadata(file, "max_abs_err_f64_reference");
    const char *source = headwise_safetensors_metadata(file, "source");
    char key[64];
    snprintf(key, sizeof(key), "%s=", output);
    const char *found = list != NULL ? strstr(list, key) : NULL;
    if (found != NULL)
        return 1.01 * strtod(found + strlen(key), NULL); /* printed with three digits */
    return source != NULL && strstr(source, "partials.json") != NULL ? bound : 0;
}

/* The oracle must give the stored value but for its rounding, the file's own error and float64's
 * rounding; the engine must be within the oracle's bound of that. */
static void expect_stored(const struct operator_file *f, const char *output, int64_t at, double got,
                          double exact, double bound, double stored, enum headwise_dtype dtype) {
    double slack = bound_rounding(dtype, stored) + file_error(f->file, output, bound) +
                   1e-13 * (1 + fabs(exact));
    if (isfinite(stored) && isfinite(exact) && !(fabs(exact - stored) <= slack))
        fail_msg("%s[%lld]: the oracle has %.17g, the file %.17g", output, (long long)at, exact,
                 stored);
    compare_expect(got, stored, bound + slack, "%s[%lld]", output, (long long)at);
}

static void expect_y(const struct operator_file *f, const struct oracle_result *result) {
    struct headwise_tensor stored = view(f->file, "Y", "q_num_heads");
    int64_t at = 0;
    for (int64_t b = 0; b < stored.size[0]; b++)
        for (int64_t h = 0; h < stored.size[1]; h++)
            for (int64_t i = 0; i < stored.size[2]; i++)
                for (int64_t c = 0; c < stored.size[3]; c++, at++) {
                    double own =
                        f->y.dtype == HEADWISE_F32
                            ? 0
                            : bound_rounding(f->y.dtype, fabs(result->y[at]) + result->y_bound[at]);
                    expect_stored(f, "Y", at, oracle_load(&f->y, b, h, i, c), result->y[at],
                                  result->y_bound[at] + own, oracle_load(&stored, b, h, i, c),
                                  stored.dtype);
                }
}

static void expect_scores(const struct operator_file *f, const struct oracle_result *result) {
    if (f->given.probe == NULL)
        return;
    enum headwise_score_stage stage = f->probe.score_stage;
    const double *exact = stage == HEADWISE_SCORES_WEIGHTS ? result->weights : result->stage[stage];
    const double *bound =
        stage == HEADWISE_SCORES_WEIGHTS ? result->weights_bound : result->stage_bound[stage];
    struct headwise_tensor stored = view(f->file, "qk_matmul_output", NULL);
    int64_t n = stored.size[0] * stored.stride[0];
    assert_int_equal(n, f->q.size[0] * f->q.size[1] * f->q.size[2] * f->keys);
    for (int64_t i = 0; i < n; i++)
        expect_stored(f, "qk_matmul_output", i, (double)f->probe.scores[i], exact[i], bound[i],
                      half_load(stored.dtype, stored.data, i), stored.dtype);
}

/* Copies: equal to the past's and the new rows' bits, and to the stored ones as far as they go. */
static void expect_present(const struct operator_file *f) {
    const char *const names[] = {"present_key", "present_value"};
    const struct headwise_tensor *outputs[] = {&f->present_key, &f->present_value};
    const struct headwise_tensor *pasts[] = {&f->past_key, &f->past_value};
    const struct headwise_tensor *news[] = {&f->k, &f->v};
    for (int t = 0; f->given.present_key != NULL && t < 2; t++) {
        struct headwise_tensor stored = view(f->file, names[t], NULL);
        double error = file_error(f->file, names[t], 0);
        int64_t n_past = f->given.past_key != NULL ? pasts[t]->size[2] : 0;
        for (int64_t b = 0; b < stored.size[0]; b++)
            for (int64_t h = 0; h < stored.size[1]; h++)
                for (int64_t r = 0; r < stored.size[2]; r++)
                    for (int64_t c = 0; c < stored.size[3]; c++) {
                        double got = oracle_load(outputs[t], b, h, r, c);
                        double given = r < n_past ? oracle_load(pasts[t], b, h, r, c)
                                                  : oracle_load(news[t], b, h, r - n_past, c);
                        compare_expect(got, given, 0, "%s", names[t]);
                        compare_expect(got, oracle_load(&stored, b, h, r, c), error, "%s",
                                       names[t]);
                    }
    }
}

static void run_file(enum headwise_isa isa, const void *path) {
    struct operator_file f;
    headwise_context *context = NULL;
    struct headwise_context_options options = {.size = sizeof(options), .isa = isa, .n_threads = 2};
    load_file(&f, path);
    assert_int_equal(headwise_context_create(&context, &options), HEADWISE_OK);
    enum headwise_status status = headwise_attention(context, &f.given);
    headwise_context_destroy(context);
    if (status != HEADWISE_OK)
        fail_msg("%s", headwise_last_error());
    guard_check();
    struct oracle_result *result = oracle_attention(&f.given);
    expect_y(&f, result);
    expect_scores(&f, result);
    expect_present(&f);
    headwise_safetensors_close(f.file);
}

static bool is_attention(const headwise_safetensors *file) {
    const char *op = headwise_safetensors_metadata(file, "op");
    return op != NULL && strcmp(op, "Attention") == 0;
}

int main(void) {
    size_t n;
    const struct test_case *cases =
        vector_cases(folders, TEST_COUNT(folders), is_attention, run_file, &n);
    return vector_run(cases, n);
}
