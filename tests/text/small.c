/* Small tokenizers of the tests' own. */
#include "small.h"

#include <stdio.h>

const char small_wordpiece[] =
    "{\"added_tokens\":[{\"id\":0,\"content\":\"[UNK]\",\"special\":true},"
    "{\"id\":1,\"content\":\"[CLS]\",\"special\":true},{\"id\":2,\"content\":\"[SEP]\","
    "\"special\":true},{\"id\":9,\"content\":\"<new>\",\"special\":false,\"lstrip\":true,"
    "\"rstrip\":true,\"single_word\":true,\"normalized\":true}],"
    "\"normalizer\":{\"type\":\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":true,"
    "\"strip_accents\":null,\"lowercase\":true},"
    "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},"
    "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":"
    "\"[CLS]\",\"type_id\":0}},{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},{\"SpecialToken\":{"
    "\"id\":\"[SEP]\",\"type_id\":0}}],\"pair\":[{\"SpecialToken\":{\"id\":\"[CLS]\",\"type_id\":0}"
    "},{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},{\"SpecialToken\":{\"id\":\"[SEP]\",\"type_id\":"
    "0}},{\"Sequence\":{\"id\":\"B\",\"type_id\":1}},{\"SpecialToken\":{\"id\":\"[SEP]\","
    "\"type_id\":1}}],\"special_tokens\":{\"[CLS]\":{\"id\":\"[CLS]\",\"ids\":[1],\"tokens\":["
    "\"[CLS]\"]},\"[SEP]\":{\"id\":\"[SEP]\",\"ids\":[2],\"tokens\":[\"[SEP]\"]}}},"
    "\"decoder\":{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":true},"
    "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":\"##\""
    ",\"max_input_chars_per_word\":100,\"vocab\":{\"[UNK]\":0,\"[CLS]\":1,\"[SEP]\":2,\"play\":3,"
    "\"##ing\":4,\"##ed\":5,\"cafe\":6,\".\":7,\"\xE4\xB8\xAD\":8}}}";

const char small_unigram[] =
    "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFKC\"},{\"type\":"
    "\"Replace\",\"pattern\":{\"Regex\":\" {2,}\"},\"content\":\" \"},{\"type\":\"Strip\","
    "\"strip_left\":false,\"strip_right\":true}]},"
    "\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"\xE2\x96\x81\",\"prepend_scheme\":"
    "\"always\",\"split\":false},"
    "\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"ByteFallback\"},{\"type\":"
    "\"Metaspace\",\"replacement\":\"\xE2\x96\x81\",\"prepend_scheme\":\"always\"}]},"
    "\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"byte_fallback\":false,\"vocab\":[[\"<unk>\",0],"
    "[\"\xE2\x96\x81\",-2],[\"a\",-3],[\"ab\",-3.5],[\"abc\",-9],[\"c\",-3],[\"\xE2\x96\x81"
    "a\",-4]]}}";

const char small_wordlevel[] =
    "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFD\"},{\"type\":"
    "\"StripAccents\"},{\"type\":\"Lowercase\"},{\"type\":\"Nmt\"},{\"type\":\"Prepend\","
    "\"prepend\":\"x\"}]},"
    "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Whitespace\"},"
    "{\"type\":\"Digits\",\"individual_digits\":true},{\"type\":\"Split\",\"pattern\":{\"Regex\":"
    "\"(?<=q)u|z+\"},\"behavior\":\"MergedWithPrevious\",\"invert\":false},{\"type\":"
    "\"FixedLength\",\"length\":4}]},"
    "\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"?\",\"vocab\":{\"?\":0,\"xcaf\":1,\"e\":2,"
    "\"1\":3,\"q\":4,\"qu\":5,\"az\":6}}}";

/* A byte as its character in the byte-level alphabet. */
static int write_byte(char *at, int byte) {
    int itself = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    int c = itself ? byte : byte <= 32 ? 256 + byte : byte == 173 ? 323 : 256 + 33 + byte - 127;
    if (c == '"' || c == '\\')
        return sprintf(at, "\\%c", c);
    if (c < 128)
        return sprintf(at, "%c", c);
    return sprintf(at, "%c%c", 0xc0 | c >> 6, 0x80 | (c & 63));
}

char *small_bpe(void) {
    char *json = malloc(16384), *at = json;
    assert_non_null(json);
    at += sprintf(at, "{\"added_tokens\":[{\"id\":261,\"content\":\"<end>\",\"special\":true}],"
                      "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,"
                      "\"trim_offsets\":true,\"use_regex\":true},\"decoder\":{\"type\":"
                      "\"ByteLevel\"},\"model\":{\"type\":\"BPE\",\"vocab\":{");
    for (int byte = 0; byte < 256; byte++) {
        *at++ = '"';
        at += write_byte(at, byte);
        at += sprintf(at, "\":%d,", byte);
    }
    at += sprintf(at, "\"aa\":256,\"aaaa\":257,\"aaaaaaaa\":258,\"aaaaaaaaaaaaaaaa\":259,\"\xC4\xA0"
                      "a\":260},\"merges\":[\"a a\",\"aa aa\",[\"aaaa\",\"aaaa\"],\"aaaaaaaa "
                      "aaaaaaaa\",\"\xC4\xA0 a\"]}}");
    return json;
}

headwise_tokenizer *small_open(const char *json) {
    headwise_tokenizer *tokenizer = NULL;
    if (headwise_tokenizer_parse(&tokenizer, json, strlen(json), NULL, NULL))
        fail_msg("%s", headwise_model_last_error());
    return tokenizer;
}

void small_expect(headwise_encoding *encoding, const headwise_tokenizer *tokenizer,
                  const char *text, const struct headwise_encode_options *options,
                  const int32_t *expected) {
    const struct headwise_text input = {text, strlen(text)};
    const struct headwise_encode_options plain = {.size = sizeof plain};
    if (headwise_encode(encoding, tokenizer, &input, NULL, options ? options : &plain))
        fail_msg("%s", headwise_model_last_error());
    const struct headwise_tokens *tokens = headwise_encoding_tokens(encoding);
    for (size_t i = 0; i < tokens->n; i++) {
        if (tokens->ids[i] != expected[i])
            fail_msg("'%s': id %zu is %d, expected %d", text, i, tokens->ids[i], expected[i]);
    }
    assert_int_equal(expected[tokens->n], -1);
}
