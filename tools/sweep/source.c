/* A sweep's matrices and input: random ones, or those of a file. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/arrays.h"
#include "common/message.h"
#include "sweep/sweep.h"

/* Numbers in [-scale, scale), the same on every machine: Steele, Lea and Flood's splitmix64. */
static float *take_random(struct arena *arena, int64_t n, float scale, uint64_t seed) {
    float *x = arena_take(arena, n, sizeof *x);
    for (int64_t i = 0; x && i < n; i++) {
        uint64_t z = (seed += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        z ^= z >> 31;
        x[i] = scale * ((float)(z >> 40) * 0x1p-23f - 1.0f);
    }
    return x;
}

/* Matrices that keep the variance of x. */
static int make_random(struct sweep *sweep, struct arena *arena, int64_t d_model) {
    struct headwise_mha_config *config = &sweep->config;
    const void **matrices[4] = {&config->w_q, &config->w_k, &config->w_v, &config->w_o};
    config->d_model = sweep->inner_width = sweep->value_width = d_model;
    for (int i = 0; i < 4; i++) {
        *matrices[i] =
            take_random(arena, d_model * d_model, sqrtf(3.0f / (float)d_model), (uint64_t)i + 1);
        if (!*matrices[i])
            return EXIT_UNUSABLE;
    }
    return EXIT_GOOD;
}

struct reader {
    struct arena *arena;
    headwise_safetensors *file;
    const char *prefix;
    enum headwise_layout layout;
};

/* A matrix of n_in inputs and n_out outputs, each -1 where any will do. */
static int read_matrix(struct array *array, const struct reader *reader, const char *name,
                       int64_t n_in, int64_t n_out) {
    const int64_t in_out[2] = {n_in, n_out}, out_in[2] = {n_out, n_in};
    const char *full = arena_text(reader->arena, "%s%s", reader->prefix, name);
    if (!full)
        return EXIT_UNUSABLE;
    int code = array_load(array, reader->arena, reader->file, full, ARRAY_F32, true);
    if (code)
        return code;
    return reader->layout == HEADWISE_IN_OUT
               ? array_expect(array, reader->file, 2, in_out, "(inputs, outputs)")
               : array_expect(array, reader->file, 2, out_in, "(outputs, inputs)");
}

static int read_bias(const float **bias, const struct reader *reader, const char *name, int64_t n) {
    struct array array;
    const char *full = arena_text(reader->arena, "%s%s", reader->prefix, name);
    int code = full ? array_load(&array, reader->arena, reader->file, full, ARRAY_F32, false)
                    : EXIT_UNUSABLE;
    if (code || !array.data)
        return code;
    *bias = array.data;
    return array_expect(&array, reader->file, 1, &n, "(outputs)");
}

static int read_matrices(struct sweep *sweep, const struct reader *reader) {
    struct headwise_mha_config *config = &sweep->config;
    struct array q, k, v, o;
    int in = reader->layout == HEADWISE_IN_OUT ? 0 : 1, out = 1 - in;
    int code = read_matrix(&q, reader, "W_Q", -1, -1);
    if (!code)
        code = read_matrix(&k, reader, "W_K", q.shape[in], q.shape[out]);
    if (!code)
        code = read_matrix(&v, reader, "W_V", q.shape[in], -1);
    if (!code)
        code = read_matrix(&o, reader, "W_O", v.shape[out], -1);
    if (code)
        return code;
    config->layout = reader->layout;
    config->d_model = q.shape[in];
    config->d_out = o.shape[out];
    sweep->inner_width = q.shape[out];
    sweep->value_width = v.shape[out];
    config->w_q = q.data;
    config->w_k = k.data;
    config->w_v = v.data;
    config->w_o = o.data;
    code = read_bias(&config->b_q, reader, "b_Q", sweep->inner_width);
    if (!code)
        code = read_bias(&config->b_k, reader, "b_K", sweep->inner_width);
    if (!code)
        code = read_bias(&config->b_v, reader, "b_V", sweep->value_width);
    return code ? code : read_bias(&config->b_o, reader, "b_O", config->d_out);
}

/* The file's own input, where the user names no length. */
static int read_input(struct sweep *sweep, const struct reader *reader) {
    struct array x;
    int64_t sizes[2] = {-1, sweep->config.d_model};
    int code = array_load(&x, reader->arena, reader->file, "X", ARRAY_F32, false);
    if (code || !x.data || sweep->lengths.n > 0)
        return code;
    code = array_expect(&x, reader->file, 2, sizes, "(tokens, width of the layer)");
    if (!code && x.shape[0] < 1)
        code = fail("%s: tensor \"X\" has no rows", headwise_safetensors_path(reader->file));
    sweep->x = x.data;
    sweep->lengths = (struct sweep_list){1, {x.shape[0]}};
    return code;
}

static int read_file(struct sweep *sweep, struct arena *arena, const struct sweep_source *source) {
    struct reader reader = {
        .arena = arena, .prefix = source->prefix ? source->prefix : "", .layout = HEADWISE_IN_OUT};
    if (source->layout && strcmp(source->layout, "out_in") == 0)
        reader.layout = HEADWISE_OUT_IN;
    else if (source->layout && strcmp(source->layout, "in_out") != 0)
        return fail("option --layout is \"%s\", expected in_out or out_in", source->layout);
    if (headwise_safetensors_open(&reader.file, source->path) != HEADWISE_OK)
        return fail("%s", headwise_io_last_error());
    int code = read_matrices(sweep, &reader);
    if (!code && source->d_model && source->d_model != sweep->config.d_model)
        code = fail("option --d-model is %lld, but W_Q of %s has %lld inputs",
                    (long long)source->d_model, source->path, (long long)sweep->config.d_model);
    if (!code)
        code = read_input(sweep, &reader);
    sweep->file = reader.file;
    return code;
}

int sweep_read(struct sweep *sweep, struct arena *arena, const struct sweep_source *source) {
    sweep->config.size = sizeof sweep->config;
    int code = source->path ? read_file(sweep, arena, source)
                            : make_random(sweep, arena, source->d_model ? source->d_model : 512);
    if (code)
        return code;
    if (sweep->lengths.n == 0)
        sweep->lengths = (struct sweep_list){2, {128, 512}};
    int64_t longest = 0;
    for (int i = 0; i < sweep->lengths.n; i++)
        longest = sweep->lengths.values[i] > longest ? sweep->lengths.values[i] : longest;
    if (!sweep->x)
        sweep->x = take_random(arena, longest * sweep->config.d_model, 1.0f, 9);
    return sweep->x ? EXIT_GOOD : EXIT_UNUSABLE;
}
