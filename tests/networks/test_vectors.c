/* Small models of thirty families against what the transformers library gives for them in float64:
 * hidden states of every layer, maps of every head, pooled vectors and logits.
 *
 * The bound. With u = 2^-24 each element that a block makes is a chain of sums: of d_model terms in
 * q, k, v, o and the first matrix of the MLP, d_hidden (here at most 4 d_model) in the second, n in
 * the sum over n keys; norms, biases, activations and the exponential add some 64 u. A chain of n
 * terms of random sign and size t has partial sums of t sqrt(k), each rounded by at most u of it:
 * in all u t n / sqrt(2) or less where roundings are independent, beside a result of t sqrt(n),
 * which is u sqrt(n / 2) of it. Allowed is u n, as if every rounding were the largest and went the
 * same way: sqrt(2 n) times as much. Norms keep what the next block reads at the size of what this
 * one reads, so that what blocks add to the error adds up: (n_layers + 1) * (8 d_model + n + 64) *
 * u * max |states| A map is off by at most twice the error of its scores, which is as large beside
 * the largest score. test_bound_finds() shows that small mistakes are beyond it. */
#include <dirent.h>
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

/* Folders that do not run, and what is said about them. */
static const struct {
    const char *folder, *message;
} refused[] = {
    {"olmo2", "model_type \"olmo2\" is not known"},
};

struct run {
    headwise_context *context;
    headwise_transformer *network;
    const struct headwise_transformer_info *info;
    headwise_safetensors *file;
    struct networks_batch batch;
    const char *folder;
    double relative; /* the bound beside the largest value */
    int64_t n_seen;  /* tensors that were compared */
    bool counts;     /* what is beyond the bound is counted */
    int64_t n_beyond;
};

/* Compares, with "NAME[at]" for messages. */
static void expect(struct run *run, double got, double want, double bound, const char *name,
                   int64_t at) {
    if (!run->counts)
        compare_expect(got, want, bound, "%s: %s.%s[%lld]", run->folder, run->batch.tag, name,
                       (long long)at);
    else
        run->n_beyond += !(fabs(got - want) <= bound);
}

static double largest(const double *values, size_t n) {
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs(values[i]));
    return most;
}

/* Compares rows of got with the places of the batch in tensor TAG.NAME, where the file has it. */
static void expect_rows(struct run *run, const char *name, const float *got, int64_t width) {
    const struct headwise_file_tensor *tensor = networks_find(run->file, run->batch.tag, name);
    if (tensor == NULL)
        return;
    assert_int_equal(tensor->n_elements, run->batch.n_sequences * run->batch.n_columns * width);
    const double *want = networks_doubles(run->file, tensor);
    double bound = run->relative * largest(want, tensor->n_elements);
    for (int64_t r = 0; r < run->batch.n_rows; r++) {
        for (int64_t i = 0; i < width; i++)
            expect(run, (double)got[r * width + i], want[run->batch.places[r] * width + i], bound,
                   name, r * width + i);
    }
    run->n_seen++;
}

/* Compares a row for each sequence. */
static void expect_sequences(struct run *run, const char *name, const float *got, int64_t width) {
    const struct headwise_file_tensor *tensor = networks_find(run->file, run->batch.tag, name);
    if (tensor == NULL)
        return;
    assert_int_equal(tensor->n_elements, run->batch.n_sequences * width);
    const double *want = networks_doubles(run->file, tensor);
    double bound = run->relative * largest(want, tensor->n_elements);
    for (size_t i = 0; i < tensor->n_elements; i++)
        expect(run, (double)got[i], want[i], bound, name, (int64_t)i);
    run->n_seen++;
}

/* Where sequence s begins among maps of h heads that lie one after another. */
static int64_t sequence_rows(const struct run *run, int64_t s) {
    return run->batch.starts != NULL ? run->batch.starts[s] : s * run->batch.n_columns;
}

static void expect_maps(struct run *run, int64_t layer, const float *weights, const float *scores) {
    char name[32];
    snprintf(name, sizeof name, "attention.%lld", (long long)layer);
    const struct headwise_file_tensor *tensor = networks_find(run->file, run->batch.tag, name);
    int64_t heads = run->info->n_heads[layer], columns = run->batch.n_columns;
    if (tensor == NULL)
        return;
    const double *want = networks_doubles(run->file, tensor);
    for (int64_t s = 0; s < run->batch.n_sequences; s++) {
        int64_t first = sequence_rows(run, s), n = sequence_rows(run, s + 1) - first;
        const int64_t *places = run->batch.places + first;
        for (int64_t at = 0; at < heads * n * n; at++) {
            int64_t h = at / (n * n), q = at / n % n, k = at % n;
            int64_t row = places[q] - s * columns, column = places[k] - s * columns;
            double bound = 2 * run->relative * (fabs((double)scores[at]) + 1) + BOUND_U;
            expect(run, (double)weights[at],
                   want[((s * heads + h) * columns + row) * columns + column], bound, name, at);
        }
        weights += heads * n * n;
        scores += heads * n * n;
    }
    run->n_seen++;
}

static int64_t longest(const struct run *run) {
    int64_t most = 0;
    for (int64_t s = 0; s < run->batch.n_sequences; s++) {
        int64_t n = sequence_rows(run, s + 1) - sequence_rows(run, s);
        most = n > most ? n : most;
    }
    return most;
}

static void probe_maps(const struct run *run, struct headwise_probe *probes) {
    int64_t squares = 0;
    for (int64_t s = 0; s < run->batch.n_sequences; s++) {
        int64_t n = sequence_rows(run, s + 1) - sequence_rows(run, s);
        squares += n * n;
    }
    for (int64_t i = 0; i < run->info->n_layers; i++) {
        size_t n = (size_t)(run->info->n_heads[i] * squares);
        probes[i] = (struct headwise_probe){
            .size = sizeof *probes, .weights = guard_floats(n), .scores = guard_floats(n)};
    }
}

/* Everything of one tag at once. */
static void check_tag(struct run *run, const char *tag) {
    const struct headwise_transformer_info *info = run->info;
    run->batch = networks_read(run->file, tag, info);
    int64_t rows = run->batch.n_rows, d = info->d_model, n_hidden = info->n_layers + 1;
    size_t n_logits =
        (size_t)((info->logits_of_rows ? rows : run->batch.n_sequences) * info->n_labels);
    struct headwise_transformer_call call = networks_call(&run->batch);
    struct headwise_probe *probes = guard_plain((size_t)info->n_layers, sizeof *probes);
    int64_t *layers = guard_plain((size_t)n_hidden, sizeof *layers);
    for (int64_t i = 0; i < n_hidden; i++)
        layers[i] = i;
    probe_maps(run, probes);
    call.last_hidden = guard_floats((size_t)(rows * d));
    call.n_hidden = n_hidden;
    call.hidden_layers = layers;
    call.hidden = guard_floats((size_t)(n_hidden * rows * d));
    call.pooled =
        info->d_pooled > 0 ? guard_floats((size_t)(run->batch.n_sequences * info->d_pooled)) : NULL;
    call.logits = info->n_labels > 0 ? guard_floats(n_logits) : NULL;
    call.probes = probes;
    networks_forward(run->context, run->network, &call);
    run->relative = (double)(info->n_layers + 1) * (double)(8 * d + longest(run) + 64) * BOUND_U;
    for (int64_t i = 0; i < n_hidden; i++) {
        char name[32];
        snprintf(name, sizeof name, "hidden.%lld", (long long)i);
        expect_rows(run, name, call.hidden + i * rows * d, d);
    }
    for (int64_t i = 0; i < info->n_layers; i++)
        expect_maps(run, i, probes[i].weights, probes[i].scores);
    expect_rows(run, "last_hidden_state", call.last_hidden, d);
    expect_rows(run, "encoder_last_hidden_state", call.last_hidden, d);
    expect_sequences(run, "text_embeds", call.pooled, info->d_pooled);
    expect_sequences(run, "image_embeds", call.pooled, info->d_pooled);
    if (networks_find(run->file, tag, "decoder_input_ids") != NULL)
        return; /* logits are a decoder's */
    if (info->logits_of_rows)
        expect_rows(run, "logits", call.logits, info->n_labels);
    else
        expect_sequences(run, "logits", call.logits, info->n_labels);
    assert_true(networks_find(run->file, tag, "logits") == NULL || info->n_labels > 0);
}

/* The tags of the file: what comes before ".input_ids" and ".pixel_values". */
static int64_t check_tags(struct run *run) {
    int64_t n = 0;
    for (size_t i = 0; i < headwise_safetensors_count(run->file); i++) {
        char tag[64];
        const char *name = headwise_safetensors_at(run->file, i)->name, *dot = strchr(name, '.');
        if (dot == NULL || (strcmp(dot, ".input_ids") != 0 && strcmp(dot, ".pixel_values") != 0))
            continue;
        snprintf(tag, sizeof tag, "%.*s", (int)(dot - name), name);
        check_tag(run, tag);
        n++;
    }
    return n;
}

static const char *refusal(const char *folder) {
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        if (strcmp(refused[i].folder, folder) == 0)
            return refused[i].message;
    }
    return NULL;
}

/* Opens and compares everything. */
static void check_network(struct run *run, const char *path,
                          const struct headwise_transformer_options *options) {
    run->network = networks_open(run->context, path, options);
    run->info = headwise_transformer_describe(run->network);
    run->file = networks_file(networks_path(path, "expected.safetensors"));
    int64_t n = check_tags(run);
    assert_true(n > 0 && run->n_seen >= n);
    headwise_safetensors_close(run->file);
    headwise_transformer_destroy(run->network);
}

static void expect_refusal(headwise_context *context, const char *path, const char *message) {
    headwise_transformer *network = NULL;
    assert_int_not_equal(headwise_transformer_open(&network, context, path, NULL), HEADWISE_OK);
    assert_null(network);
    if (strstr(headwise_model_last_error(), message) == NULL)
        fail_msg("\"%s\", expected \"%s\"", headwise_model_last_error(), message);
}

static const char *models_or_skip(void) {
    const char *vectors = networks_folder("HEADWISE_VECTORS");
    if (vectors == NULL)
        test_skip("HEADWISE_VECTORS is not set");
    return networks_path(vectors, "models");
}

static void test_families(enum headwise_isa isa) {
    const char *models = models_or_skip();
    headwise_context *context = call_context(isa, 1);
    DIR *folder = opendir(models);
    int64_t n = 0;
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        struct run run = {.context = context, .folder = entry->d_name};
        if (entry->d_name[0] == '.')
            continue;
        const char *path = networks_path(models, entry->d_name), *message = refusal(entry->d_name);
        if (message != NULL)
            expect_refusal(context, path, message);
        else
            check_network(&run, path, NULL);
        n++;
    }
    closedir(folder);
    headwise_context_destroy(context);
    assert_true(n >= 39);
}

/* Small mistakes, made on purpose. */
static const struct {
    const char *folder, *overrides;
} mistakes[] = {
    {"bert", "{\"hidden_act\": \"gelu_new\"}"},
    {"clip_text", "{\"hidden_act\": \"gelu\"}"},
    {"gemma2", "{\"attn_logit_softcapping\": 25.0}"},
    {"gemma2", "{\"final_logit_softcapping\": 15.1}"},
    {"gemma3", "{\"sliding_window\": 9}"},
    {"granite", "{\"residual_multiplier\": 0.23}"},
    {"granite", "{\"logits_scaling\": 8.01}"},
    {"llama", "{\"rms_norm_eps\": 0.001}"},
    {"mistral", "{\"sliding_window\": 6}"},
    {"modernbert", "{\"local_attention\": 10}"},
    {"mpnet", "{\"pad_token_id\": 0}"},
    {"roberta", "{\"pad_token_id\": 0}"},
    {"smollm3", "{\"no_rope_layers\": [1, 1, 1, 1, 1]}"},
};

static void test_bound_finds(enum headwise_isa isa) {
    const char *models = models_or_skip();
    headwise_context *context = call_context(isa, 1);
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        struct run run = {.context = context, .folder = mistakes[i].folder, .counts = true};
        const struct headwise_transformer_options options = {.size = sizeof options,
                                                             .overrides = mistakes[i].overrides};
        check_network(&run, networks_path(models, run.folder), &options);
        if (run.n_beyond == 0)
            fail_msg("%s with %s is within the bound", run.folder, mistakes[i].overrides);
    }
    headwise_context_destroy(context);
}

int main(void) {
    static const struct test_case cases[] = {TEST_CASE(test_families), TEST_CASE(test_bound_finds)};
    return test_run_tiers(cases, TEST_COUNT(cases));
}
