/* From the options about an encoder to the encoder, and texts in chunks. */
#ifndef HEADWISE_TOOLS_ENCODER_OPTIONS_H
#define HEADWISE_TOOLS_ENCODER_OPTIONS_H

#include "common/arena.h"
#include "common/context.h"
#include "headwise-model/encoder.h"

struct encoder_settings {
    const char *folder;
    struct option_texts texts;
    const char *input, *packed, *isa, *overrides;
    struct option_integer threads, max_seq_length;
    bool jsonl, refuse_long, special_as_text, replace_invalid;
};

#define ENCODER_OPTION(name, kind, argument, help)                                                 \
    { #name, 0, kind, offsetof(struct encoder_settings, name), argument, help }

#define ENCODER_OPTIONS                                                                            \
    {"input",     'i',                                                                             \
     OPTION_TEXT, offsetof(struct encoder_settings, input),                                        \
     "FILE",      "a text in each line; -: standard input"},                                       \
        ENCODER_OPTION(jsonl, OPTION_FLAG, NULL, "objects, in (with --input) and out"),            \
        ENCODER_OPTION(packed, OPTION_TEXT, "TYPE",                                                \
                       "stored (default), f32, f16, bf16, i8, dynamic, dynamic128"),               \
        ENCODER_OPTION(max_seq_length, OPTION_INTEGER, "N",                                        \
                       "most tokens of a text; the folder's limit"),                               \
        ENCODER_OPTION(refuse_long, OPTION_FLAG, NULL, "longer texts are refused, not cut"),       \
        ENCODER_OPTION(special_as_text, OPTION_FLAG, NULL, "\"[SEP]\" in a text is text"),         \
        ENCODER_OPTION(replace_invalid, OPTION_FLAG, NULL, "read what is no UTF-8 as U+FFFD"),     \
        ENCODER_OPTION(overrides, OPTION_TEXT, "JSON", "keys that come before config.json's"),     \
        CONTEXT_OPTIONS(struct encoder_settings)

#define ENCODER_DETAILS                                                                            \
    "DIR is a folder as the Hugging Face hub keeps them, or the name of one whose snapshot lies "  \
    "in\n"                                                                                         \
    "the local cache; nothing is fetched. Texts are operands, or the lines of --input. With "      \
    "--jsonl\n"                                                                                    \
    "a line of input is {\"text\": \"...\", \"id\": ...}, of which only text is needed.\n"

struct encoder_opened {
    headwise_context *context;
    headwise_encoder *encoder;
};

/* Opens what the settings name; command begins the line of a failure. Returns an exit code;
 * encoder_close() is needed whatever it is. */
int encoder_open(struct encoder_opened *opened, struct arena *arena,
                 const struct encoder_settings *settings, const char *command);
void encoder_close(struct encoder_opened *opened);

#endif
