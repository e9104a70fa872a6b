/* Opens encoders as the options of a command say. */
#include "calls/encoder_options.h"

#include <string.h>

#include "common/hub.h"
#include "common/message.h"

static int read_packed(struct headwise_transformer_options *options, const char *text) {
    static const struct {
        const char *name;
        enum headwise_checkpoint_weights weights;
    } types[] = {{"stored", HEADWISE_CHECKPOINT_WEIGHTS_STORED},
                 {"f32", HEADWISE_CHECKPOINT_WEIGHTS_F32},
                 {"f16", HEADWISE_CHECKPOINT_WEIGHTS_F16},
                 {"bf16", HEADWISE_CHECKPOINT_WEIGHTS_BF16},
                 {"i8", HEADWISE_CHECKPOINT_WEIGHTS_I8},
                 {"dynamic", HEADWISE_CHECKPOINT_WEIGHTS_DYNAMIC},
                 {"dynamic128", HEADWISE_CHECKPOINT_WEIGHTS_DYNAMIC_128}};
    for (size_t i = 0; text && i < sizeof types / sizeof *types; i++) {
        if (strcmp(text, types[i].name) == 0) {
            options->weights_is_set = true;
            options->weights = types[i].weights;
            return EXIT_GOOD;
        }
    }
    return text ? fail("option --packed is \"%s\", expected stored, f32, f16, bf16, i8, dynamic or "
                       "dynamic128",
                       text)
                : EXIT_GOOD;
}

int encoder_open(struct encoder_opened *opened, struct arena *arena,
                 const struct encoder_settings *settings, const char *command) {
    struct headwise_transformer_options transformer = {.size = sizeof transformer,
                                                       .overrides = settings->overrides};
    struct headwise_encoder_options options = {
        .size = sizeof options,
        .transformer = &transformer,
        .max_tokens = settings->max_seq_length.is_set ? settings->max_seq_length.value : 0};
    if (!settings->folder)
        return fail("%s: a folder is missing; see headwise help %s", command, command);
    if (settings->max_seq_length.is_set && settings->max_seq_length.value < 1)
        return fail("option --max-seq-length is %lld, expected 1 or more",
                    (long long)settings->max_seq_length.value);
    int code = read_packed(&transformer, settings->packed);
    if (code)
        return code;
    const char *folder = hub_find(arena, settings->folder);
    code =
        folder ? context_open(&opened->context, settings->isa, settings->threads) : EXIT_UNUSABLE;
    if (!code && headwise_encoder_open(&opened->encoder, opened->context, folder, &options))
        code = fail("%s", headwise_model_last_error());
    return code;
}

void encoder_close(struct encoder_opened *opened) {
    headwise_encoder_destroy(opened->encoder);
    headwise_context_destroy(opened->context);
}
