/* Each allocation fails once: the call says so, nothing is lost, and the next one is as ever. */
#include "counting.h"
#include "small.h"

static const char text[] =
    "Playing  caf\xC3\xA9\xCC\xA3\xCC\x81 <new> 12 quaz [SEP] xaaaaaaaaaaaaaaa"
    "aaaaaaaaaaaaaaaaaaaaaaaaaa\xE4\xB8\xAD";

/* Opens, encodes and decodes; the status of what failed first. */
static enum headwise_status run(const char *json, const struct headwise_allocator *allocator) {
    const struct headwise_tokenizer_options options = {.size = sizeof options,
                                                       .allocator = allocator};
    headwise_tokenizer *tokenizer = NULL;
    headwise_encoding *encoding = NULL;
    headwise_decoding *decoding = NULL;
    struct headwise_text input = {text, sizeof text - 1}, output;
    enum headwise_status status =
        headwise_tokenizer_parse(&tokenizer, json, strlen(json), NULL, &options);
    if (!status)
        status = headwise_encoding_create(&encoding, allocator);
    if (!status)
        status = headwise_encode(encoding, tokenizer, &input, &input, NULL);
    if (!status)
        status = headwise_decoding_create(&decoding, tokenizer, true, allocator);
    if (!status) {
        const struct headwise_tokens *tokens = headwise_encoding_tokens(encoding);
        status = headwise_decode(decoding, tokens->ids, tokens->n, &output);
        for (size_t i = 0; !status && i < tokens->n; i++)
            status = headwise_decode_next(decoding, tokens->ids[i], &output);
        if (!status)
            status = headwise_decode_end(decoding, &output);
    }
    headwise_decoding_destroy(decoding);
    headwise_encoding_destroy(encoding);
    headwise_tokenizer_destroy(tokenizer);
    return status;
}

static void fail_each(const char *json) {
    struct counting counting = COUNTING_UNLIMITED;
    struct headwise_allocator allocator = counting_allocator(&counting);
    assert_int_equal(run(json, &allocator), HEADWISE_OK);
    counting_expect_balanced(&counting);
    int64_t n = counting.n_calls;
    assert_true(n > 20);
    for (int64_t i = 0; i < n; i++) {
        struct counting failing = {.fail_at = i};
        allocator = counting_allocator(&failing);
        enum headwise_status status = run(json, &allocator);
        if (status != HEADWISE_ERR_NO_MEMORY)
            fail_msg("allocation %lld of %lld fails: status %d (%s)", (long long)i, (long long)n,
                     status, headwise_model_last_error());
        counting_expect_balanced(&failing);
    }
}

static void wordpiece(void **state) {
    (void)state;
    fail_each(small_wordpiece);
}

static void unigram(void **state) {
    (void)state;
    fail_each(small_unigram);
}

static void wordlevel(void **state) {
    (void)state;
    fail_each(small_wordlevel);
}

static void bpe(void **state) {
    (void)state;
    char *json = small_bpe();
    fail_each(json);
    free(json);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(wordpiece), cmocka_unit_test(unigram),
                                       cmocka_unit_test(wordlevel), cmocka_unit_test(bpe)};
    return cmocka_run_group_tests_name("text/memory", tests, NULL, NULL);
}
