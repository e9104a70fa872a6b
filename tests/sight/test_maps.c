/* Maps, means, tokens and twins against the network's own probes and plain sums; of a real model
 * against maps in float64 (HEADWISE_MODELS and HEADWISE_VECTORS). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "cmocka_headers.h"
#include "compare.h"
#include "headwise-io/safetensors.h"
#include "runner.h"
#include "sight_support.h"

enum { MOST = 40 };

/* Every layer's whole maps. */
static void keep_maps(void *user, int64_t layer, const float *weights) {
    float(*maps)[SIGHT_HEADS * MOST * MOST] = user;
    memcpy(maps[layer], weights, sizeof maps[layer]);
}

/* Ids of MOST tokens, so that a layer's maps fill what keep_maps() copies. */
static void fill_ids(int32_t ids[MOST]) {
    for (int i = 0; i < MOST; i++)
        ids[i] = 5 + (i * 7) % 16;
    ids[0] = 2;
    ids[20] = ids[MOST - 1] = 3;
}

/* A head's numbers against sums over its map. */
static void expect_head(const struct headwise_sight_info *info, int64_t h, const float *map,
                        const float *entropy, const float *distance) {
    const struct headwise_sight_head *head = &info->heads[h];
    double want = 0, far = 0, separator = 0, previous = 0;
    for (int64_t i = 0; i < MOST; i++) {
        want += (double)entropy[i] / MOST;
        far += (double)distance[i] / MOST;
        separator += ((double)map[i * MOST + 20] + (double)map[i * MOST + MOST - 1]) / MOST;
        /* Rows of text alone: 0, 20 and the last one are special. */
        if (i > 0 && i != 20 && i < MOST - 1)
            previous += (double)map[i * MOST + i - 1] / (MOST - 3);
    }
    /* Sums of 40 doubles: 40 * 2^-53 of values below 40. */
    compare_expect(head->entropy, want, 1e-12, "entropy of head %lld", (long long)h);
    compare_expect(head->distance, far, 1e-12, "distance of head %lld", (long long)h);
    compare_expect(head->separator, separator, 1e-12, "separators of head %lld", (long long)h);
    compare_expect(head->kinds[HEADWISE_KIND_PREVIOUS], previous, 1e-12, "head %lld", (long long)h);
    double cell = 0;
    for (int64_t i = 8; i < 12; i++)
        for (int64_t j = 4; j < 8; j++)
            cell += (double)map[i * MOST + j] / 4;
    compare_expect((double)info->maps[h * 100 + 2 * 10 + 1], cell, 1e-7 * (1 + cell),
                   "cell of head %lld", (long long)h);
}

static void maps_and_means_are_those_of_probes(enum headwise_isa isa) {
    static float maps[SIGHT_LAYERS][SIGHT_HEADS * MOST * MOST],
        seen[SIGHT_LAYERS][SIGHT_HEADS * MOST * MOST];
    static float entropy[SIGHT_LAYERS][SIGHT_HEADS * MOST],
        distance[SIGHT_LAYERS][SIGHT_HEADS * MOST];
    struct headwise_statistics statistics[SIGHT_LAYERS];
    struct headwise_probe probes[SIGHT_LAYERS];
    int32_t ids[MOST], starts[] = {0, MOST};
    struct sight_run run = sight_open(isa, "embedder", 2);
    fill_ids(ids);
    for (int i = 0; i < SIGHT_LAYERS; i++) {
        statistics[i] = (struct headwise_statistics){
            .size = sizeof *statistics, .entropy = entropy[i], .mean_distance = distance[i]};
        probes[i] = (struct headwise_probe){
            .size = sizeof *probes, .weights = maps[i], .statistics = &statistics[i]};
    }
    const struct headwise_transformer_call forward = {
        .size = sizeof forward, .n_sequences = 1, .starts = starts, .ids = ids, .probes = probes};
    assert_int_equal(
        headwise_transformer_forward(run.context,
                                     headwise_encoder_describe(run.encoder)->transformer, &forward),
        HEADWISE_OK);
    sight_look(&run, &(struct headwise_sight_call){.size = sizeof(struct headwise_sight_call),
                                                   .ids = ids,
                                                   .n_tokens = MOST,
                                                   .most_cells = 13,
                                                   .maps = keep_maps,
                                                   .user = seen});
    assert_int_equal(run.info->n_heads, SIGHT_ALL);
    assert_int_equal(run.info->cell_tokens, 4);
    assert_int_equal(run.info->n_cells, 10);
    for (int64_t h = 0; h < SIGHT_ALL; h++) {
        int64_t layer = h / SIGHT_HEADS, at = h % SIGHT_HEADS * MOST;
        const float *map = maps[layer] + at * MOST;
        compare_same_bits(seen[layer] + at * MOST, map, MOST * MOST, "map %d", (int)h);
        expect_head(run.info, h, map, entropy[layer] + at, distance[layer] + at);
    }
    sight_close(&run);
}

/* Words, sources, punctuation and special tokens of a pair. */
static void tokens_are_named(enum headwise_isa isa) {
    static const char *const pieces[] = {"[CLS]", "a", "man", "is", "eating", "food", "##s", "."};
    static const int64_t words[] = {0, 1, 2, 3, 4, 5, 5, 6};
    struct sight_run run = sight_open(isa, "reranker", 1);
    sight_look(&run, &(struct headwise_sight_call){.size = sizeof(struct headwise_sight_call),
                                                   .text = &sight_sentence,
                                                   .pair = &sight_second});
    for (size_t i = 0; i < TEST_COUNT(words); i++) {
        const struct headwise_sight_token *token = &run.info->tokens[i];
        assert_int_equal(token->piece.size_bytes, strlen(pieces[i]));
        assert_memory_equal(token->piece.bytes, pieces[i], strlen(pieces[i]));
        assert_int_equal(token->word, words[i]);
        assert_int_equal(token->source, i == 0 ? -1 : 0);
        assert_int_equal(token->is_special, i == 0);
        assert_int_equal(token->is_punctuation, i == 7);
    }
    const struct headwise_sight_token *last = &run.info->tokens[run.info->n_tokens - 1];
    assert_true(last->is_special && last[-1].source == 1 && last[-1].is_punctuation);
    assert_memory_equal(run.info->texts[1].bytes, sight_second.bytes, sight_second.size_bytes);
    sight_close(&run);
}

/* Correlations by their definition, and each head's best. */
static void twins_are_the_most_alike(enum headwise_isa isa) {
    struct sight_run run = sight_open(isa, "embedder", 1);
    sight_look(&run, &(struct headwise_sight_call){.size = sizeof(struct headwise_sight_call),
                                                   .text = &sight_sentence,
                                                   .without_change = true});
    int64_t n = run.info->n_tokens;
    assert_true(isnan(run.info->heads[0].change));
    for (int64_t g = 0; g < SIGHT_ALL; g++) {
        double best = 0;
        for (int64_t h = 0; h < SIGHT_ALL; h++) {
            double mean[2] = {0}, sums[3] = {0};
            const float *a = run.info->maps + g * n * n, *b = run.info->maps + h * n * n;
            for (int64_t i = 0; i < n * n; i++) {
                mean[0] += i % (n + 1) ? (double)a[i] / (double)(n * (n - 1)) : 0;
                mean[1] += i % (n + 1) ? (double)b[i] / (double)(n * (n - 1)) : 0;
            }
            for (int64_t i = 0; i < n * n; i++) {
                double x = (double)a[i] - mean[0], y = (double)b[i] - mean[1];
                sums[0] += i % (n + 1) ? x * x : 0;
                sums[1] += i % (n + 1) ? y * y : 0;
                sums[2] += i % (n + 1) ? x * y : 0;
            }
            double want = sums[2] / sqrt(sums[0] * sums[1]);
            /* Kept in f32: 2^-24 of at most 1; variances are above 1e-3 of the mean square, so that
             * the difference of sums loses at most 1e3 * 400 * 2^-53. */
            compare_expect((double)run.info->correlations[g * SIGHT_ALL + h], want, 1.2e-7,
                           "heads %lld and %lld", (long long)g, (long long)h);
            best = h != g && want > best ? want : best;
        }
        assert_true(run.info->heads[g].twin != g);
        compare_expect(run.info->heads[g].correlation, best, 1.2e-7, "head %lld", (long long)g);
    }
    sight_close(&run);
}

/* Of all-MiniLM-L6-v2 and its first text in float64. A state is off by at most (layers + 1) * (8 *
 * width + tokens + 64) roundings of its size, as tests/networks/test_minilm.c derives; scores there
 * are below 30, and a weight, e^score over a sum, moves by twice a score's error, times itself. */
static void real_maps(enum headwise_isa isa) {
    const char *models = getenv("HEADWISE_MODELS"), *vectors = getenv("HEADWISE_VECTORS");
    const struct headwise_text text = {
        "A flock of starlings forgot to lock the door as the snow began to melt.", 71};
    enum { N = 19, REAL_HEADS = 12 };
    static double want[REAL_HEADS * N * N];
    char path[1000], name[32];
    if (!models || !vectors || !*models || !*vectors)
        test_skip("HEADWISE_MODELS or HEADWISE_VECTORS is not set");
    struct sight_run run = sight_open_in(isa, models, "minilm", 2);
    headwise_safetensors *file;
    const struct headwise_file_tensor *tensor;
    snprintf(path, sizeof path, "%s/minilm/expected.safetensors", vectors);
    assert_int_equal(headwise_safetensors_open(&file, path), HEADWISE_OK);
    sight_look(&run, &(struct headwise_sight_call){.size = sizeof(struct headwise_sight_call),
                                                   .text = &text,
                                                   .without_change = true});
    assert_int_equal(run.info->n_tokens, N);
    for (int layer = 0; layer < 6; layer++) {
        snprintf(name, sizeof name, "0.attention.%d", layer);
        assert_int_equal(headwise_safetensors_require(&tensor, file, name), HEADWISE_OK);
        assert_int_equal(tensor->n_elements, REAL_HEADS * N * N);
        assert_int_equal(headwise_safetensors_read_f64(want, file, tensor), HEADWISE_OK);
        for (int64_t i = 0; i < REAL_HEADS * N * N; i++)
            compare_expect((double)run.info->maps[layer * REAL_HEADS * N * N + i], want[i],
                           7.0 * (8 * 384 + N + 64) * BOUND_U * (2 * 30 * want[i] + 2e-3),
                           "layer %d, element %lld", layer, (long long)i);
    }
    headwise_safetensors_close(file);
    sight_close(&run);
}

int main(int argc, char **argv) {
    const struct test_case cases[] = {
        TEST_CASE(maps_and_means_are_those_of_probes),
        TEST_CASE(tokens_are_named),
        TEST_CASE(twins_are_the_most_alike),
        TEST_CASE(real_maps),
    };
    if (argc != 2)
        return fprintf(stderr, "usage: test_maps FOLDER\n"), 2;
    sight_folders = argv[1];
    return test_run_tiers(cases, TEST_COUNT(cases));
}
