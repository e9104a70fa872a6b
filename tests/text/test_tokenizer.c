/* Small tokenizers: ids, spans, pieces, cuts, what is refused, streams. */
#include "small.h"

#include <stdio.h>

static headwise_encoding *encoding;

static int begin(void **state) {
    (void)state;
    return headwise_encoding_create(&encoding, NULL);
}

static int end(void **state) {
    (void)state;
    headwise_encoding_destroy(encoding);
    return 0;
}

static const struct headwise_encode_options special = {.size = sizeof special, .add_special = true};

static void wordpiece_takes_the_longest(void **state) {
    (void)state;
    headwise_tokenizer *t = small_open(small_wordpiece);
    assert_int_equal(headwise_tokenizer_n_ids(t), 10);
    EXPECT_IDS(encoding, t, "Playing played.", NULL, 3, 4, 3, 5, 7);
    EXPECT_IDS(encoding, t, "playxing play", NULL, 0, 3);
    EXPECT_IDS(encoding, t, "caf\xC3\xA9\xE4\xB8\xAD", NULL, 6, 8);
    EXPECT_IDS(encoding, t, "", &special, 1, 2);
    /* e and a combining acute: the accent lies outside of the span. */
    EXPECT_IDS(encoding, t, " cafe\xCC\x81.", NULL, 6, 7);
    const struct headwise_tokens *tokens = headwise_encoding_tokens(encoding);
    assert_int_equal(tokens->spans[0].begin, 1);
    assert_int_equal(tokens->spans[0].end, 5);
    assert_int_equal(tokens->spans[1].begin, 7);
    char word[101 * 4 + 1] = "";
    for (int i = 0; i < 101; i++)
        strcat(word, "play");
    word[100] = '\0';
    EXPECT_IDS(encoding, t, word, NULL, 0); /* "playplay...": ##play is no piece */
    headwise_tokenizer_destroy(t);
}

static void added_tokens_are_cut_out(void **state) {
    (void)state;
    headwise_tokenizer *t = small_open(small_wordpiece);
    EXPECT_IDS(encoding, t, "play  <NEW>  play", NULL, 3, 9, 3);
    struct headwise_text piece = headwise_encoding_piece(encoding, 1);
    assert_int_equal(piece.size_bytes, 9); /* with the spaces that it took */
    assert_int_equal(headwise_encoding_tokens(encoding)->spans[1].begin, 4);
    EXPECT_IDS(encoding, t, "play<new>", NULL, 3, 0, 0, 0); /* inside a word it is none */
    EXPECT_IDS(encoding, t, "[SEP]play", NULL, 2, 3);
    const struct headwise_encode_options as_text = {.size = sizeof as_text,
                                                    .special_is_text = true};
    EXPECT_IDS(encoding, t, "[SEP]play", &as_text, 0, 0, 0, 3);
    assert_true(headwise_tokenizer_is_special(t, 2));
    assert_false(headwise_tokenizer_is_special(t, 9));
    assert_int_equal(headwise_tokenizer_id(t, (struct headwise_text){"##ing", 5}), 4);
    assert_int_equal(headwise_tokenizer_id(t, (struct headwise_text){"<new>", 5}), 9);
    assert_int_equal(headwise_tokenizer_id(t, (struct headwise_text){"no", 2}), -1);
    assert_null(headwise_tokenizer_piece(t, 10).bytes);
    assert_null(headwise_tokenizer_piece(t, -1).bytes);
    headwise_tokenizer_destroy(t);
}

static void unigram_finds_the_best_sum(void **state) {
    (void)state;
    headwise_tokenizer *t = small_open(small_unigram);
    EXPECT_IDS(encoding, t, "abc", NULL, 1, 3, 5); /* -2 -3.5 -3 is more than the others */
    EXPECT_IDS(encoding, t, "a  xy\xEF\xBD\x81 ", NULL, 6, 1, 0, 2);
    struct headwise_text piece = headwise_encoding_piece(encoding, 2);
    assert_int_equal(piece.size_bytes, 2);
    assert_memory_equal(piece.bytes, "xy", 2);
    headwise_tokenizer_destroy(t);
}

static void steps_follow_one_another(void **state) {
    (void)state;
    headwise_tokenizer *t = small_open(small_wordlevel);
    EXPECT_IDS(encoding, t, "Caf\xC3\xA9", NULL, 1, 2);
    EXPECT_IDS(encoding, t, " 1 quaz", NULL, 0, 3, 5, 6);
    headwise_tokenizer_destroy(t);
}

static void bytes_are_joined_by_rank(void **state) {
    (void)state;
    char *json = small_bpe();
    headwise_tokenizer *t = small_open(json);
    EXPECT_IDS(encoding, t, "aaaaaaa", NULL, 257, 256, 'a');
    EXPECT_IDS(encoding, t, "b a", NULL, 'b', 260);
    EXPECT_IDS(encoding, t, "\xC3\xA9<end>", NULL, 0xc3, 0xa9, 261);
    const struct headwise_tokens *tokens = headwise_encoding_tokens(encoding);
    assert_int_equal(tokens->spans[1].begin, 0); /* both bytes are of one character */
    assert_int_equal(tokens->spans[0].end, 2);
    char many[100], expected = 'a';
    memset(many, expected, sizeof many);
    many[99] = '\0'; /* by the heap: 6 times 16, then 2 and 1 */
    EXPECT_IDS(encoding, t, many, NULL, 259, 259, 259, 259, 259, 259, 256, 'a');
    headwise_tokenizer_destroy(t);
    free(json);
}

/* Without a pre-tokenizer a text is one word. Behind "b", which no merge joins to a mark, it may be
 * cut; behind "a", which one does, and inside a run of marks, it may not. */
static void merges_reach_over_marks(void **state) {
    (void)state;
    static const char json[] =
        "{\"normalizer\": {\"type\": \"Replace\", \"pattern\": {\"String\": \" \"},"
        " \"content\": \"\xE2\x96\x81\"}, \"model\": {\"type\": \"BPE\", \"vocab\": {"
        "\"\xE2\x96\x81\": 0, \"a\": 1, \"b\": 2, \"\xE2\x96\x81\xE2\x96\x81\": 3,"
        " \"\xE2\x96\x81\x62\": 4, \"a\xE2\x96\x81\x62\": 5, \"ba\": 6},"
        " \"merges\": [[\"\xE2\x96\x81\", \"\xE2\x96\x81\"], [\"\xE2\x96\x81\", \"b\"],"
        " [\"a\", \"\xE2\x96\x81\x62\"], [\"b\", \"a\"]]}}";
    headwise_tokenizer *t = small_open(json);
    EXPECT_IDS(encoding, t, "b b", NULL, 2, 4);
    EXPECT_IDS(encoding, t, "a b", NULL, 5);
    EXPECT_IDS(encoding, t, "ba b", NULL, 2, 5);
    EXPECT_IDS(encoding, t, "b  b", NULL, 2, 3, 2);
    EXPECT_IDS(encoding, t, "b   b b", NULL, 2, 3, 4, 4);
    EXPECT_IDS(encoding, t, " a ba b  ", NULL, 0, 5, 5, 3);
    const struct headwise_tokens *tokens = headwise_encoding_tokens(encoding);
    assert_int_equal(tokens->spans[2].begin, 4);
    assert_int_equal(tokens->spans[2].end, 7);
    headwise_tokenizer_destroy(t);
}

static void texts_are_cut_to_a_limit(void **state) {
    (void)state;
    headwise_tokenizer *t = small_open(small_wordpiece);
    struct headwise_text one = {"play play play", 14}, two = {". . . . . .", 11};
    struct headwise_encode_options o = {.size = sizeof o, .add_special = true, .max_tokens = 9};
    assert_int_equal(headwise_encode(encoding, t, &one, &two, &o), HEADWISE_OK);
    const struct headwise_tokens *tokens = headwise_encoding_tokens(encoding);
    assert_int_equal(tokens->n, 9);
    assert_int_equal(tokens->n_cut[0], 0);
    assert_int_equal(tokens->n_cut[1], 3);
    assert_int_equal(tokens->types[8], 1);
    assert_int_equal(tokens->sources[8], -1);
    assert_int_equal(tokens->sources[7], 1);
    o.truncation = HEADWISE_TRUNCATION_ONLY_FIRST;
    assert_int_equal(headwise_encode(encoding, t, &one, &two, &o), HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_encoding_tokens(encoding)->n, 0);
    o.max_tokens = 10;
    o.cut_left = true;
    assert_int_equal(headwise_encode(encoding, t, &one, &two, &o), HEADWISE_OK);
    assert_int_equal(headwise_encoding_tokens(encoding)->n_cut[0], 2);
    assert_int_equal(headwise_encoding_tokens(encoding)->spans[1].begin, 10);
    o.max_tokens = 2;
    assert_int_equal(headwise_encode(encoding, t, &one, &two, &o), HEADWISE_ERR_INVALID);
    o.max_tokens = 3;
    o.truncation = HEADWISE_TRUNCATION_ONLY_SECOND;
    assert_int_equal(headwise_encode(encoding, t, &one, NULL, &o), HEADWISE_ERR_INVALID);
    headwise_tokenizer_destroy(t);
}

static void bytes_that_are_no_text(void **state) {
    (void)state;
    headwise_tokenizer *t = small_open(small_wordpiece);
    const struct headwise_text text = {"play \xE4\xB8 play \xC0\xAF\xED\xA0\x80", 17};
    struct headwise_encode_options o = {.size = sizeof o};
    assert_int_equal(headwise_encode(encoding, t, &text, NULL, &o), HEADWISE_ERR_INVALID);
    assert_non_null(strstr(headwise_model_last_error(), "at byte 5 (0xe4)"));
    o.replace_invalid = true;
    assert_int_equal(headwise_encode(encoding, t, &text, NULL, &o), HEADWISE_OK);
    const struct headwise_tokens *tokens = headwise_encoding_tokens(encoding);
    assert_int_equal(tokens->n, 2); /* BERT's step drops U+FFFD */
    assert_int_equal(tokens->spans[1].begin, 8);
    assert_int_equal(tokens->spans[1].end, 12);
    headwise_tokenizer_destroy(t);
}

static void streams_hold_back_open_characters(void **state) {
    (void)state;
    char *json = small_bpe();
    headwise_tokenizer *t = small_open(json);
    headwise_decoding *decoding;
    struct headwise_text text;
    assert_int_equal(headwise_decoding_create(&decoding, t, true, NULL), HEADWISE_OK);
    static const struct {
        int32_t id;
        size_t size;
    } steps[] = {{'x', 1}, {0xe4, 0}, {0xb8, 0}, {0xad, 3},
                 {261, 0}, {0xff, 0}, {'y', 4},  {0xc3, 0}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        assert_int_equal(headwise_decode_next(decoding, steps[i].id, &text), HEADWISE_OK);
        assert_int_equal(text.size_bytes, steps[i].size);
    }
    assert_memory_equal(text.bytes, "", text.size_bytes);
    assert_int_equal(headwise_decode_end(decoding, &text), HEADWISE_OK);
    assert_int_equal(text.size_bytes, 3);
    assert_memory_equal(text.bytes, "\xEF\xBF\xBD", 3);
    headwise_decoding_destroy(decoding);
    headwise_tokenizer_destroy(t);
    free(json);
}

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
}

static void older_files_are_read(void **state) {
    (void)state;
    headwise_tokenizer *t = NULL;
    write_file("small-vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\nplay\n##ing\r\n");
    assert_int_equal(headwise_tokenizer_open(&t, "small-vocab.txt", NULL), HEADWISE_OK);
    EXPECT_IDS(encoding, t, "PLAYING", &special, 2, 4, 5, 3);
    headwise_tokenizer_destroy(t);
    const struct headwise_tokenizer_options cased = {.size = sizeof cased, .cased = true};
    assert_int_equal(headwise_tokenizer_open(&t, "small-vocab.txt", &cased), HEADWISE_OK);
    EXPECT_IDS(encoding, t, "PLAYING", &special, 2, 1, 3);
    headwise_tokenizer_destroy(t);
    t = NULL;
    write_file("small-vocab.txt", "[UNK]\nplay\n");
    assert_int_equal(headwise_tokenizer_open(&t, "small-vocab.txt", NULL), HEADWISE_ERR_FORMAT);
    assert_int_equal(headwise_tokenizer_open(&t, "small-none.json", NULL), HEADWISE_ERR_IO);
    assert_int_equal(headwise_tokenizer_open(&t, "/proc", NULL), HEADWISE_ERR_IO);
    assert_non_null(strstr(headwise_model_last_error(), "tokenizer.json"));
    assert_null(t);
    remove("small-vocab.txt");
}

static void arguments_are_checked(void **state) {
    (void)state;
    headwise_tokenizer *t = small_open(small_wordpiece);
    struct headwise_text text = {"a", 1}, null = {NULL, 1};
    struct headwise_encode_options o = {.size = 1};
    assert_int_equal(headwise_encode(NULL, t, &text, NULL, NULL), HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_encode(encoding, NULL, &text, NULL, NULL), HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_encode(encoding, t, NULL, NULL, NULL), HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_encode(encoding, t, &null, NULL, NULL), HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_encode(encoding, t, &text, &null, NULL), HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_encode(encoding, t, &text, NULL, &o), HEADWISE_ERR_INVALID);
    o = (struct headwise_encode_options){.size = sizeof o, .truncation = 3};
    assert_int_equal(headwise_encode(encoding, t, &text, NULL, &o), HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_tokenizer_open(NULL, "x", NULL), HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_tokenizer_parse(&t, NULL, 1, NULL, NULL), HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_encoding_create(NULL, NULL), HEADWISE_ERR_INVALID);
    headwise_tokenizer_destroy(t);
    headwise_tokenizer_destroy(NULL);
    headwise_encoding_destroy(NULL);
    headwise_decoding_destroy(NULL);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(wordpiece_takes_the_longest),
        TEST(added_tokens_are_cut_out),
        TEST(unigram_finds_the_best_sum),
        TEST(steps_follow_one_another),
        TEST(bytes_are_joined_by_rank),
        TEST(merges_reach_over_marks),
        TEST(texts_are_cut_to_a_limit),
        TEST(bytes_that_are_no_text),
        TEST(streams_hold_back_open_characters),
        TEST(older_files_are_read),
        TEST(arguments_are_checked),
    };
    return cmocka_run_group_tests_name("text/tokenizer", tests, NULL, NULL);
}
