/* all-MiniLM-L6-v2 itself on 64 real texts, against float64: vectors (the mean over a text's
 * tokens, of length 1), hidden states and maps. The model is in the folder HEADWISE_MODELS, the
 * results in HEADWISE_VECTORS. The bound on states is that of test_vectors.c; a vector, a mean that
 * is divided by its length, is nearer. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "call.h"
#include "compare.h"
#include "guard.h"
#include "networks_support.h"
#include "runner.h"
#include "json/reader.h"

enum { N_TEXTS = 64, WIDTH = 384, N_LAYERS = 6, MOST_TOKENS = 256 };

struct texts {
    int32_t starts[N_TEXTS + 1];
    int32_t ids[N_TEXTS * MOST_TOKENS];
};

/* The ids of {"text": ..., "ids": [...]}. */
static int32_t read_line(const char *line, size_t size, int32_t *ids) {
    struct headwise_json_reader json;
    struct headwise_json_text key;
    struct headwise_json_number number;
    int64_t id;
    int32_t n = 0;
    headwise_json_begin(&json, line, size);
    headwise_json_enter_object(&json);
    while (headwise_json_next_key(&json, &key)) {
        if (!headwise_json_equals(&key, "ids")) {
            headwise_json_skip(&json, NULL);
            continue;
        }
        headwise_json_enter_array(&json);
        while (headwise_json_next_item(&json)) {
            assert_true(headwise_json_take_number(&json, &number) &&
                        headwise_json_to_int64(&number, &id) && n < MOST_TOKENS);
            ids[n++] = (int32_t)id;
        }
    }
    assert_null(json.error);
    return n;
}

static struct texts *read_texts(const char *path) {
    struct texts *texts = guard_plain(1, sizeof *texts);
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    ssize_t size;
    int n = 0;
    assert_non_null(file);
    for (; n < N_TEXTS && (size = getline(&line, &room, file)) > 0; n++)
        texts->starts[n + 1] =
            texts->starts[n] + read_line(line, (size_t)size, texts->ids + texts->starts[n]);
    free(line);
    fclose(file);
    assert_int_equal(n, N_TEXTS);
    return texts;
}

struct run {
    headwise_context *context;
    headwise_transformer *network;
    headwise_safetensors *expected;
    struct texts *texts;
};

/* False: a folder is not set. */
static void open_run(struct run *run, enum headwise_isa isa,
                     enum headwise_checkpoint_weights weights) {
    const char *models = networks_folder("HEADWISE_MODELS");
    const char *vectors = networks_folder("HEADWISE_VECTORS");
    const struct headwise_transformer_options options = {
        .size = sizeof options, .weights_is_set = true, .weights = weights};
    if (models == NULL || vectors == NULL)
        test_skip("HEADWISE_MODELS or HEADWISE_VECTORS is not set");
    run->context = call_context(isa, 1);
    run->network = networks_open(run->context, networks_path(models, "minilm"), &options);
    run->texts = read_texts(networks_path(vectors, "minilm/texts.jsonl"));
    run->expected = networks_file(networks_path(vectors, "minilm/expected.safetensors"));
}

static void close_run(struct run *run) {
    headwise_safetensors_close(run->expected);
    headwise_transformer_destroy(run->network);
    headwise_context_destroy(run->context);
}

static struct headwise_transformer_call call_of(const struct run *run) {
    return (struct headwise_transformer_call){.size = sizeof(struct headwise_transformer_call),
                                              .n_sequences = N_TEXTS,
                                              .starts = run->texts->starts,
                                              .ids = run->texts->ids};
}

/* The mean of a text's rows, of length 1. */
static void pool(double vector[WIDTH], const float *rows, int64_t n) {
    double length = 0;
    for (int i = 0; i < WIDTH; i++) {
        vector[i] = 0;
        for (int64_t r = 0; r < n; r++)
            vector[i] += (double)rows[r * WIDTH + i];
        length += vector[i] * vector[i];
    }
    for (int i = 0; i < WIDTH; i++)
        vector[i] /= sqrt(length);
}

static double bound_of(int64_t n, double most) {
    return (N_LAYERS + 1) * (double)(8 * WIDTH + n + 64) * BOUND_U * most;
}

static void states_and_maps(enum headwise_isa isa) {
    struct run run;
    static const int64_t layers[] = {0, 1, 2, 3, 4, 5, 6};
    struct headwise_probe probes[N_LAYERS];
    open_run(&run, isa, HEADWISE_CHECKPOINT_WEIGHTS_F32);
    for (int t = 0; t <= 24; t += 24) {
        int32_t starts[2] = {0, run.texts->starts[t + 1] - run.texts->starts[t]};
        int64_t n = starts[1];
        char tag[8], name[32];
        struct headwise_transformer_call call = call_of(&run);
        snprintf(tag, sizeof tag, "%d", t);
        call.n_sequences = 1;
        call.ids += run.texts->starts[t];
        call.starts = starts;
        call.n_hidden = N_LAYERS + 1;
        call.hidden_layers = layers;
        call.hidden = guard_floats((size_t)((N_LAYERS + 1) * n * WIDTH));
        for (int i = 0; i < N_LAYERS; i++)
            probes[i] = (struct headwise_probe){.size = sizeof *probes,
                                                .weights = guard_floats((size_t)(12 * n * n)),
                                                .scores = guard_floats((size_t)(12 * n * n))};
        call.probes = probes;
        networks_forward(run.context, run.network, &call);
        for (int layer = 0; layer <= N_LAYERS; layer++) {
            snprintf(name, sizeof name, "hidden.%d", layer);
            const struct headwise_file_tensor *tensor = networks_find(run.expected, tag, name);
            const double *want = networks_doubles(run.expected, tensor);
            double most = 0;
            for (int64_t i = 0; i < n * WIDTH; i++)
                most = fmax(most, fabs(want[i]));
            for (int64_t i = 0; i < n * WIDTH; i++)
                compare_expect((double)call.hidden[layer * n * WIDTH + i], want[i],
                               bound_of(n, most), "text %d, layer %d, element %lld", t, layer,
                               (long long)i);
        }
        for (int layer = 0; layer < N_LAYERS && t == 0; layer++) {
            snprintf(name, sizeof name, "attention.%d", layer);
            const double *want =
                networks_doubles(run.expected, networks_find(run.expected, tag, name));
            for (int64_t i = 0; i < 12 * n * n; i++)
                compare_expect((double)probes[layer].weights[i], want[i],
                               bound_of(n, 2 * fabs((double)probes[layer].scores[i]) + 2),
                               "map of layer %d, element %lld", layer, (long long)i);
        }
    }
    close_run(&run);
}

/* Texts that a tier runs: scalar takes 20 times as long as the others, as do watched and emulated
 * processors. */
static int texts_of(enum headwise_isa isa) {
    return isa == HEADWISE_ISA_SCALAR || test_share() > 1 ? N_TEXTS / 8 : N_TEXTS;
}

/* Least and mean cosine with the vectors in float64. */
static void compare_vectors(enum headwise_isa isa, enum headwise_checkpoint_weights weights,
                            double *least, double *mean) {
    struct run run;
    open_run(&run, isa, weights);
    struct headwise_transformer_call call = call_of(&run);
    int n_texts = texts_of(isa);
    const int32_t *starts = run.texts->starts;
    const double *want =
        networks_doubles(run.expected, headwise_safetensors_find(run.expected, "vectors"));
    call.n_sequences = n_texts;
    call.last_hidden = guard_floats((size_t)(starts[n_texts] * WIDTH));
    networks_forward(run.context, run.network, &call);
    *least = 1;
    *mean = 0;
    for (int t = 0; t < n_texts; t++) {
        double vector[WIDTH], cosine = 0;
        pool(vector, call.last_hidden + starts[t] * WIDTH, starts[t + 1] - starts[t]);
        for (int i = 0; i < WIDTH; i++)
            cosine += vector[i] * want[t * WIDTH + i];
        *least = fmin(*least, cosine);
        *mean += cosine / n_texts;
    }
    close_run(&run);
}

/* A vector that is off by e has a cosine of 1 - e^2 / 2: with the bound above, e is at most 8e-3 of
 * the largest state, and in truth 1e-6. */
static void vectors_in_f32(enum headwise_isa isa) {
    double least, mean;
    compare_vectors(isa, HEADWISE_CHECKPOINT_WEIGHTS_F32, &least, &mean);
    assert_true(least > 1 - 1e-11);
}

/* What is promised of 8 bits: of whole rows, and of groups of 128. */
static void vectors_in_8_bits(enum headwise_isa isa) {
    double least, mean;
    compare_vectors(isa, HEADWISE_CHECKPOINT_WEIGHTS_DYNAMIC, &least, &mean);
    print_message("cosine of 8 bits: least %.5f, mean %.5f\n", least, mean);
    assert_true(least > 0.991 && mean > 0.998);
    compare_vectors(isa, HEADWISE_CHECKPOINT_WEIGHTS_DYNAMIC_128, &least, &mean);
    print_message("in groups of 128: least %.5f, mean %.5f\n", least, mean);
    assert_true(least > 0.997 && mean > 0.999);
}

int main(void) {
    static const struct test_case cases[] = {TEST_CASE(states_and_maps), TEST_CASE(vectors_in_f32),
                                             TEST_CASE(vectors_in_8_bits)};
    return test_run_tiers(cases, TEST_COUNT(cases));
}
