/* headwise tokens: the ids, pieces and spans of texts. */
#include "commands/tokens.h"
#include "commands/commands.h"
#include "common/message.h"

struct settings {
    const char *folder, *input;
    struct option_texts texts;
    bool jsonl, no_special, special_as_text, replace_invalid, cased;
};

#define OPTION(name, letter, kind, argument, help)                                                 \
    { #name, letter, kind, offsetof(struct settings, name), argument, help }

static const struct option options[] = {
    OPTION(input, 'i', OPTION_TEXT, "FILE", "a text in each line; -: standard input"),
    OPTION(jsonl, 0, OPTION_FLAG, NULL, "objects, in (with --input) and out"),
    OPTION(no_special, 0, OPTION_FLAG, NULL, "add no special tokens"),
    OPTION(special_as_text, 0, OPTION_FLAG, NULL, "\"[SEP]\" in a text is text"),
    OPTION(replace_invalid, 0, OPTION_FLAG, NULL, "read what is no UTF-8 as U+FFFD"),
    OPTION(cased, 0, OPTION_FLAG, NULL, "keep case and accents (vocab.txt does not say)"),
};

static const char details[] =
    "DIR is a folder with tokenizer.json, vocab.json and merges.txt, or vocab.txt; or one such "
    "file.\n"
    "What it says of truncation and padding is left aside.\n"
    "\n"
    "With --jsonl a line of input is {\"text\": \"...\", \"pair\": \"...\", \"special\": true, "
    "\"id\": ...},\n"
    "of which only text is needed, and a line of output {\"id\": ..., \"ids\": [...], \"types\": "
    "[...],\n"
    "\"pieces\": [...], \"offsets\": [[begin, end], ...]}, offsets in bytes of the text.\n";

static int encode_all(const struct settings *s, const headwise_tokenizer *tokenizer,
                      headwise_encoding *encoding, struct text_input *input) {
    struct text_request request;
    for (;;) {
        bool done = false;
        int code = text_input_next(input, &request, &done);
        if (code || done)
            return code;
        const struct headwise_encode_options encode = {
            .size = sizeof encode,
            .add_special = request.has_special ? request.special : !s->no_special,
            .special_is_text = s->special_as_text,
            .replace_invalid = s->replace_invalid};
        if (headwise_encode(encoding, tokenizer, &request.text,
                            request.has_pair ? &request.pair : NULL, &encode)) {
            if (input->stream)
                return fail("%s: line %lld: %s", input->name, input->line,
                            headwise_model_last_error());
            return fail("%s", headwise_model_last_error());
        }
        if (s->jsonl)
            tokens_print_json(encoding, &request);
        else
            tokens_print_table(encoding, &request);
    }
}

static int run_tokens(const void *arguments) {
    const struct settings *s = arguments;
    const struct headwise_tokenizer_options opening = {.size = sizeof opening, .cased = s->cased};
    headwise_tokenizer *tokenizer = NULL;
    headwise_encoding *encoding = NULL;
    struct text_input input = {0};
    if (!s->folder)
        return fail("tokens: a folder is missing; see headwise help tokens");
    int code = text_input_open(&input, &s->texts, s->input, s->jsonl, "tokens");
    if (!code && (headwise_tokenizer_open(&tokenizer, s->folder, &opening) ||
                  headwise_encoding_create(&encoding, NULL)))
        code = fail("%s", headwise_model_last_error());
    if (!code)
        code = encode_all(s, tokenizer, encoding, &input);
    headwise_encoding_destroy(encoding);
    headwise_tokenizer_destroy(tokenizer);
    text_input_close(&input);
    return code;
}

const struct command command_tokens = {
    .name = "tokens",
    .summary = "token ids, pieces and spans of texts",
    .usage = "DIR [TEXT...] [OPTIONS]\n       headwise tokens DIR --input FILE|- [--jsonl]",
    .details = details,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .operand = "folder",
    .operand_offset = offsetof(struct settings, folder),
    .more = "text",
    .more_offset = offsetof(struct settings, texts),
    .run = run_tokens,
};
