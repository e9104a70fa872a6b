/* Texts without an end: time is n log n and memory proportional, whatever the text. */
#include <stdio.h>
#include <time.h>

#include "runner.h"
#include "small.h"

/* 8 times the text: 8 x 23 / 20 = 9 times the time by n log n, 64 times by n squared. Other work on
 * the machine may slow the longer one by three more. */
enum { SHORT = 1250000, FACTOR = 8, MOST = 28 };

/* Bytes of the short texts: a share of them where a processor is emulated or watched. */
static size_t short_size(void) {
    return (size_t)(SHORT / test_share());
}

struct pattern {
    const char *name, *repeated;
};

static const struct pattern patterns[] = {
    {"one letter", "a"},
    {"spaces", " "},
    {"one word", "abcdefghij"},
    {"marks", "\xCC\x81\xCC\xA3"},
    {"spaces and letters", "    a"},
    {"line ends", "\n"},
    {"special tokens", "[SEP]<end>"},
};

static double encode_time(headwise_encoding *encoding, const headwise_tokenizer *tokenizer,
                          const char *bytes, size_t size) {
    const struct headwise_text text = {bytes, size};
    const struct headwise_encode_options options = {.size = sizeof options};
    clock_t begin = clock();
    if (headwise_encode(encoding, tokenizer, &text, NULL, &options))
        fail_msg("%s", headwise_model_last_error());
    return (double)(clock() - begin) / CLOCKS_PER_SEC;
}

static void expect_linear(const char *name, const char *json) {
    char *bytes = malloc(short_size() * FACTOR);
    headwise_tokenizer *tokenizer = small_open(json);
    assert_non_null(bytes);
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
        size_t n = strlen(patterns[p].repeated), size = short_size() * FACTOR / n * n;
        for (size_t i = 0; i < size; i += n)
            memcpy(bytes + i, patterns[p].repeated, n);
        headwise_encoding *encoding;
        assert_int_equal(headwise_encoding_create(&encoding, NULL), HEADWISE_OK);
        encode_time(encoding, tokenizer, bytes, size); /* now its memory is there */
        double few = encode_time(encoding, tokenizer, bytes, short_size() / n * n);
        double many = encode_time(encoding, tokenizer, bytes, size);
        headwise_encoding_destroy(encoding);
        print_message("%s, %s: %.3f s, %.3f s\n", name, patterns[p].name, few, many);
        assert_true(many < MOST * (few + 0.01));
    }
    headwise_tokenizer_destroy(tokenizer);
    free(bytes);
}

static void wordpiece(void **state) {
    (void)state;
    expect_linear("WordPiece", small_wordpiece);
}

static void unigram(void **state) {
    (void)state;
    expect_linear("Unigram", small_unigram);
}

static void wordlevel(void **state) {
    (void)state;
    expect_linear("WordLevel", small_wordlevel);
}

static void bpe(void **state) {
    (void)state;
    char *json = small_bpe();
    expect_linear("BPE", json);
    free(json);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(wordpiece), cmocka_unit_test(unigram),
                                       cmocka_unit_test(wordlevel), cmocka_unit_test(bpe)};
    return cmocka_run_group_tests_name("text/long", tests, NULL, NULL);
}
