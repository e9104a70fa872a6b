/* The public calls of networks: what callers give, checked. */
#include <string.h>

#include "api/check.h"
#include "base/error.h"
#include "base/memory.h"
#include "stack/transformer.h"

/* A struct of this version, or a longer one whose further fields are zero. */
static enum headwise_status check_size(const char *where, const char *name, const void *given,
                                       size_t size, size_t known) {
    const unsigned char *bytes = given;
    enum { MOST = 4096 }; /* no struct is longer */
    if (size < known || size > MOST)
        return headwise_model_fail(HEADWISE_ERR_INVALID, "%s: %s->size is %zu, expected %zu", where,
                                   name, size, known);
    for (size_t i = known; i < size; i++) {
        if (bytes[i] != 0)
            return headwise_model_fail(HEADWISE_ERR_INVALID,
                                       "%s: %s has fields set beyond byte %zu, which this version "
                                       "does not know",
                                       where, name, known);
    }
    return HEADWISE_OK;
}

static enum headwise_status open_loader(struct headwise_loader *loader, const char *path,
                                        const struct headwise_transformer_options *options) {
    loader->weights =
        options->weights_is_set ? options->weights : HEADWISE_CHECKPOINT_WEIGHTS_STORED;
    const struct headwise_checkpoint_options opening = {
        .size = sizeof opening,
        .overrides = options->overrides,
        .n_positions = options->n_positions,
        .weights = loader->weights,
        .read_files = options->read_files,
    };
    return headwise_loader_io(headwise_checkpoint_open(&loader->checkpoint, path, &opening));
}

static enum headwise_status open_network(headwise_transformer *network, headwise_context *context,
                                         const char *path,
                                         const struct headwise_transformer_options *options) {
    struct headwise_loader loader = {
        .context = context, .description = &network->description, .store = &network->store};
    network->isa = headwise_context_describe(context)->isa;
    enum headwise_status status = open_loader(&loader, path, options);
    if (!status)
        status = headwise_describe(&network->description, loader.checkpoint, options->part,
                                   options->without_head);
    if (!status && network->description.is_rotary && options->n_positions > 0)
        network->description.max_tokens = options->n_positions;
    if (!status)
        status = headwise_stack_load(network, &loader);
    headwise_loader_close(&loader);
    return status;
}

enum headwise_status headwise_transformer_open(headwise_transformer **network,
                                               headwise_context *context, const char *path,
                                               const struct headwise_transformer_options *options) {
    static const char where[] = "transformer_open";
    struct headwise_transformer_options given = {.size = sizeof given};
    struct headwise_allocator allocator;
    if (!network || !context || !path)
        return headwise_model_fail(HEADWISE_ERR_INVALID, "%s: %s is NULL", where,
                                   !network   ? "network"
                                   : !context ? "context"
                                              : "path");
    enum headwise_status status =
        options ? check_size(where, "options", options, options->size, sizeof given) : HEADWISE_OK;
    if (status)
        return status;
    if (options)
        given = *options;
    status = headwise_memory_set(&allocator, where, &given.allocator);
    if (status)
        return status;
    headwise_transformer *made = headwise_memory_take(&allocator, 1, sizeof *made);
    if (!made)
        return headwise_model_no_memory(where);
    *made = (headwise_transformer){.store = {.allocator = allocator}};
    status = open_network(made, context, path, &given);
    if (status)
        headwise_transformer_destroy(made);
    else
        *network = made;
    return status;
}

void headwise_transformer_destroy(headwise_transformer *network) {
    if (!network)
        return;
    for (int64_t i = 0; network->blocks && i < network->info.n_layers; i++)
        headwise_block_destroy(&network->blocks[i]);
    for (int i = 0; i < network->n_steps; i++)
        headwise_linear_destroy(network->steps[i].linear);
    headwise_linear_destroy(network->project);
    headwise_linear_destroy(network->patch);
    struct headwise_allocator allocator = network->store.allocator;
    headwise_store_free(&network->store);
    headwise_memory_give(&allocator, network, 1, sizeof *network);
}

const struct headwise_transformer_info *
headwise_transformer_describe(const headwise_transformer *network) {
    return &network->info;
}

enum headwise_status headwise_transformer_forward(headwise_context *context,
                                                  const headwise_transformer *network,
                                                  const struct headwise_transformer_call *call) {
    static const char where[] = "transformer_forward";
    struct headwise_transformer_call given = {.size = sizeof given};
    if (!context || !network || !call)
        return headwise_model_fail(HEADWISE_ERR_INVALID, "%s: %s is NULL", where,
                                   !context   ? "context"
                                   : !network ? "network"
                                              : "call");
    enum headwise_status status = check_size(where, "call", call, call->size, sizeof given);
    if (status)
        return status;
    given = *call;
    status = headwise_check_forward(context, network, &given);
    return status ? status : headwise_stack_forward(context, network, &given);
}
