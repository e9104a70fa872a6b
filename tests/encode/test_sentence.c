/* Folders as sentence-transformers writes them: vectors and scores against its own in float64,
 * alone and in batches. Needs HEADWISE_VECTORS. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "cmocka_headers.h"
#include "compare.h"
#include "runner.h"

static const char *const folders[] = {
    "sentence/classifier_pair",
    "sentence/cls_dense",
    "sentence/last_token",
    "sentence/max",
    "sentence/mean_normalize",
    "sentence/mean_sqrt",
    "sentence/prompt_left_out",
    "sentence/prompts",
    "sentence/reranker",
    "sentence/reranker_raw",
    "sentence/several",
    "sentence/weightedmean",
    "sentence_old/mean_normalize",
    "sentence_old/several",
    "sentence_old/prompts",
    "sentence_old/prompt_left_out",
    "sentence_old/cls_dense",
};

enum { MOST_NUMBERS = 4096 };

/* Two layers of width 48 and one of 96 hidden: a number passes at most 12 norms, sums of up to 96
 * terms and 4 rows' softmaxes, each of which rounds to 2^-24 of what it sums, which norms keep near
 * 1, times some 4 for the sizes of weights: 12 * 96 * 4 * 2^-24 = 2.7e-4 is never passed; what was
 * seen is 4e-6, and 3e-5 is held. */
static const double bound = 3e-5;

struct run {
    headwise_context *context;
    headwise_encoder *encoder;
    headwise_safetensors *expected;
    struct encode_cases *cases;
    const char *folder;
};

static const char *vectors_folder(void) {
    const char *folder = getenv("HEADWISE_VECTORS");
    if (folder == NULL || folder[0] == '\0')
        test_skip("HEADWISE_VECTORS is not set");
    return folder;
}

static struct run begin(enum headwise_isa isa, const char *folder) {
    static struct encode_cases cases;
    char path[1000];
    struct run run = {.cases = &cases, .folder = folder};
    const struct headwise_context_options options = {
        .size = sizeof options, .isa = isa, .n_threads = 2};
    assert_int_equal(headwise_context_create(&run.context, &options), HEADWISE_OK);
    snprintf(path, sizeof path, "%s/%s", vectors_folder(), folder);
    if (headwise_encoder_open(&run.encoder, run.context, path, NULL))
        fail_msg("%s", headwise_model_last_error());
    snprintf(path, sizeof path, "%s/%s/expected.safetensors", vectors_folder(), folder);
    assert_int_equal(headwise_safetensors_open(&run.expected, path), HEADWISE_OK);
    snprintf(path, sizeof path, "%s/%s/expected.json", vectors_folder(), folder);
    encode_cases_read(run.cases, path);
    return run;
}

static void end(struct run *run) {
    headwise_safetensors_close(run->expected);
    headwise_encoder_destroy(run->encoder);
    headwise_context_destroy(run->context);
}

static int64_t columns_of(const struct run *run, const struct encode_case *at) {
    const struct headwise_encoder_info *info = headwise_encoder_describe(run->encoder);
    if (info->n_labels > 0)
        return info->n_labels;
    return at->truncate_dim > 0 ? at->truncate_dim : info->d_vector;
}

static void compute(const struct run *run, const struct encode_case *at, int64_t first, int64_t n,
                    int64_t budget, float *out) {
    enum headwise_status status;
    if (headwise_encoder_describe(run->encoder)->n_labels > 0) {
        const struct headwise_classify_call call = {.size = sizeof call,
                                                    .n_texts = n,
                                                    .texts = at->texts + first,
                                                    .pairs =
                                                        at->has_pairs ? at->pairs + first : NULL,
                                                    .scores = out,
                                                    .max_pass_tokens = budget};
        status = headwise_classify(run->context, run->encoder, &call);
    } else {
        const struct headwise_embed_call call = {.size = sizeof call,
                                                 .n_texts = n,
                                                 .texts = at->texts + first,
                                                 .prompt = at->prompt.bytes ? &at->prompt : NULL,
                                                 .prompt_name = at->prompt_name.bytes,
                                                 .truncate_dim = at->truncate_dim,
                                                 .normalize = at->normalize,
                                                 .vectors = out,
                                                 .max_pass_tokens = budget};
        status = headwise_embed(run->context, run->encoder, &call);
    }
    if (status)
        fail_msg("%s: %s", run->folder, headwise_model_last_error());
}

static double largest_of(const double *x, size_t n) {
    double largest = 1;
    for (size_t i = 0; i < n; i++)
        largest = fabs(x[i]) > largest ? fabs(x[i]) : largest;
    return largest;
}

static void expect_case(const struct run *run, const struct encode_case *at) {
    static float all[MOST_NUMBERS], again[MOST_NUMBERS];
    static double want[MOST_NUMBERS];
    char name[32];
    const struct headwise_file_tensor *tensor;
    int64_t columns = columns_of(run, at);
    size_t n = (size_t)(at->n_texts * columns);
    snprintf(name, sizeof name, "%lld.%s", (long long)at->number,
             headwise_encoder_describe(run->encoder)->n_labels > 0 ? "scores" : "vectors");
    assert_int_equal(headwise_safetensors_require(&tensor, run->expected, name), HEADWISE_OK);
    assert_true(tensor->n_elements == n && n <= MOST_NUMBERS);
    assert_int_equal(headwise_safetensors_read_f64(want, run->expected, tensor), HEADWISE_OK);
    compute(run, at, 0, at->n_texts, 0, all);
    double scale = largest_of(want, n);
    for (size_t i = 0; i < n; i++) {
        if (!(fabs((double)all[i] - want[i]) <= bound * scale))
            fail_msg("%s, call %lld, text %zu, column %zu: %.9g, expected %.9g", run->folder,
                     (long long)at->number, i / (size_t)columns, i % (size_t)columns,
                     (double)all[i], want[i]);
    }
    for (int64_t budget = 1; budget < 100; budget += 37) {
        compute(run, at, 0, at->n_texts, budget, again);
        compare_same_bits(again, all, n, "%s, budget %lld", run->folder, (long long)budget);
    }
    for (int64_t i = 0; i < at->n_texts; i++) {
        compute(run, at, i, 1, 0, again);
        compare_same_bits(again, all + i * columns, (size_t)columns, "%s, text %lld alone",
                          run->folder, (long long)i);
    }
}

static void folders_give_their_vectors(enum headwise_isa isa) {
    vectors_folder();
    for (size_t f = 0; f < TEST_COUNT(folders); f++) {
        struct run run = begin(isa, folders[f]);
        assert_true(run.cases->n > 0);
        for (size_t i = 0; i < run.cases->n; i++)
            expect_case(&run, &run.cases->at[i]);
        end(&run);
    }
}

/* A text that is cut is counted, or refused on request; others are untouched then. */
static void long_texts_are_counted_or_refused(enum headwise_isa isa) {
    struct run run = begin(isa, "sentence/cls_dense");
    char words[400] = "";
    for (int i = 0; i < 60; i++)
        strcat(words, "word ");
    const struct headwise_text texts[] = {{"word", 4}, {words, strlen(words)}};
    int64_t n_tokens[2], n_cut[2];
    float vectors[2 * 24];
    struct headwise_embed_call call = {.size = sizeof call,
                                       .n_texts = 2,
                                       .texts = texts,
                                       .vectors = vectors,
                                       .n_tokens = n_tokens,
                                       .n_cut = n_cut};
    assert_int_equal(headwise_encoder_describe(run.encoder)->max_tokens, 32);
    assert_int_equal(headwise_embed(run.context, run.encoder, &call), HEADWISE_OK);
    assert_int_equal(n_tokens[1], 32);
    assert_true(n_cut[0] == 0 && n_cut[1] > 0);
    call.refuse_long = true;
    assert_int_equal(headwise_embed(run.context, run.encoder, &call), HEADWISE_ERR_INVALID);
    assert_non_null(strstr(headwise_model_last_error(), "embed: text 1 has "));
    end(&run);
}

static void wrong_arguments_are_refused(enum headwise_isa isa) {
    struct run run = begin(isa, "sentence/prompts");
    const struct headwise_text texts[] = {{"word", 4}, {"\xff", 1}};
    float vectors[2 * 48], scores[2];
    struct headwise_embed_call call = {
        .size = sizeof call, .n_texts = 2, .texts = texts, .vectors = vectors};
    const struct headwise_classify_call classify = {
        .size = sizeof classify, .n_texts = 1, .texts = texts, .scores = scores};
    assert_int_equal(headwise_embed(run.context, run.encoder, &call), HEADWISE_ERR_INVALID);
    assert_non_null(strstr(headwise_model_last_error(), "embed: text 1: "));
    call.replace_invalid = true;
    assert_int_equal(headwise_embed(run.context, run.encoder, &call), HEADWISE_OK);
    call.prompt_name = "nobody";
    assert_int_equal(headwise_embed(run.context, run.encoder, &call), HEADWISE_ERR_INVALID);
    assert_non_null(strstr(headwise_model_last_error(), "no prompt 'nobody'"));
    call.prompt_name = NULL;
    call.truncate_dim = 49;
    assert_int_equal(headwise_embed(run.context, run.encoder, &call), HEADWISE_ERR_INVALID);
    call.truncate_dim = 0;
    call.n_texts = 0;
    call.vectors = NULL;
    assert_int_equal(headwise_embed(run.context, run.encoder, &call), HEADWISE_OK);
    assert_int_equal(headwise_classify(run.context, run.encoder, &classify), HEADWISE_ERR_INVALID);
    end(&run);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(folders_give_their_vectors),
        TEST_CASE(long_texts_are_counted_or_refused),
        TEST_CASE(wrong_arguments_are_refused),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
