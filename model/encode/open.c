/* Opens an encoder: the folder's parts, one after the other. */
#include <string.h>

#include "base/error.h"
#include "encode/encoder.h"

enum headwise_status headwise_encoder_open_network(headwise_encoder *encoder,
                                                   headwise_context *context, const char *folder,
                                                   const struct headwise_encoder_options *options) {
    const struct headwise_tokenizer_options tokenizer = {.size = sizeof tokenizer,
                                                         .allocator = &encoder->memory};
    enum headwise_status status = headwise_tokenizer_open(&encoder->tokenizer, folder, &tokenizer);
    return status ? status
                  : headwise_transformer_open(&encoder->transformer, context, folder,
                                              options->transformer);
}

/* Ids that the network has no row for would be refused text by text. */
static enum headwise_status check_together(const headwise_encoder *encoder, const char *path) {
    const struct headwise_transformer_info *info =
        headwise_transformer_describe(encoder->transformer);
    int32_t n_ids = headwise_tokenizer_n_ids(encoder->tokenizer);
    if (info->n_ids == 0)
        return headwise_model_fail(HEADWISE_ERR_UNSUPPORTED,
                                   "%s: a network of images takes no text", path);
    if (n_ids > info->n_ids)
        return headwise_model_fail(HEADWISE_ERR_FORMAT,
                                   "%s: the tokenizer has %ld ids, the network rows for %lld", path,
                                   (long)n_ids, (long long)info->n_ids);
    return HEADWISE_OK;
}

static void describe(headwise_encoder *encoder) {
    struct headwise_encoder_info *info = &encoder->info;
    info->size = sizeof *info;
    info->transformer = encoder->transformer;
    info->tokenizer = encoder->tokenizer;
    encoder->width =
        encoder->n_poolings * headwise_transformer_describe(encoder->transformer)->d_model;
    for (int i = 0; i < encoder->n_steps; i++) {
        if (encoder->steps[i].n_outputs > encoder->width)
            encoder->width = encoder->steps[i].n_outputs;
        info->is_normalized = !encoder->steps[i].linear;
    }
}

static enum headwise_status open_parts(headwise_encoder *encoder, headwise_context *context,
                                       const char *path,
                                       const struct headwise_encoder_options *options) {
    enum headwise_status status = headwise_encoder_read_modules(encoder, context, path, options);
    if (!status)
        status = check_together(encoder, path);
    if (!status)
        status = headwise_encoder_read_prompts(encoder, path);
    if (!status)
        status = headwise_encoder_read_labels(encoder, path);
    if (!status)
        status = headwise_encoder_read_limit(encoder, path, options->max_tokens);
    if (!status)
        describe(encoder);
    return status;
}

enum headwise_status headwise_encoder_open(headwise_encoder **encoder, headwise_context *context,
                                           const char *path,
                                           const struct headwise_encoder_options *options) {
    struct headwise_encoder_options given = {.size = sizeof given};
    struct headwise_allocator memory;
    if (!encoder || !context || !path)
        return headwise_model_fail(HEADWISE_ERR_INVALID, "encoder_open: %s is NULL",
                                   !encoder   ? "encoder"
                                   : !context ? "context"
                                              : "path");
    if (options && options->size != sizeof given)
        return headwise_model_fail(HEADWISE_ERR_INVALID,
                                   "encoder_open: options.size is %zu, expected %zu", options->size,
                                   sizeof given);
    if (options)
        given = *options;
    enum headwise_status status = headwise_memory_set(
        &memory, "encoder_open", given.transformer ? &given.transformer->allocator : NULL);
    if (status)
        return status;
    headwise_encoder *made = headwise_memory_take(&memory, 1, sizeof *made);
    if (!made)
        return headwise_model_no_memory("encoder_open");
    memset(made, 0, sizeof *made);
    made->memory = memory;
    status = open_parts(made, context, path, &given);
    if (status)
        headwise_encoder_destroy(made);
    else
        *encoder = made;
    return status;
}

void headwise_encoder_destroy(headwise_encoder *encoder) {
    if (!encoder)
        return;
    for (int i = 0; i < encoder->n_steps; i++)
        headwise_linear_destroy(encoder->steps[i].linear);
    struct headwise_allocator memory = encoder->memory;
    headwise_tokenizer_destroy(encoder->tokenizer);
    headwise_transformer_destroy(encoder->transformer);
    headwise_bytes_free(&memory, &encoder->texts);
    headwise_memory_give(&memory, encoder->prompts, encoder->prompts_capacity,
                         sizeof *encoder->prompts);
    headwise_memory_give(&memory, encoder->labels, (size_t)encoder->info.n_labels,
                         sizeof *encoder->labels);
    headwise_memory_give(&memory, encoder, 1, sizeof *encoder);
}

const struct headwise_encoder_info *headwise_encoder_describe(const headwise_encoder *encoder) {
    return &encoder->info;
}
