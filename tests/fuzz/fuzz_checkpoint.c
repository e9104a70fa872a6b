/* libFuzzer target: any bytes as config.json, and behind a NUL as model.safetensors beside it. */
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "headwise-io/checkpoint.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static char folder[] = "/tmp/headwise-fuzz-XXXXXX";

static void put(const char *name, const uint8_t *bytes, size_t size) {
    char path[64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *stream = fopen(path, "wb");
    if (!stream || fwrite(bytes, 1, size, stream) != size || fclose(stream) != 0)
        abort();
}

static void remove_folder(void) {
    char path[64];
    snprintf(path, sizeof path, "%s/config.json", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    unlink(path);
    rmdir(folder);
}

static void read_layers(headwise_checkpoint *model, headwise_context *context) {
    headwise_checkpoint_layer *layer = NULL;
    const char *part = headwise_checkpoint_part_name(model, 0);
    int64_t n = part ? headwise_checkpoint_n_layers(model, part) : 0;
    if (!part || n < 0)
        abort();
    for (int64_t i = 0; i < n && i < 2; i++) {
        layer = NULL;
        if (!headwise_checkpoint_layer_create(&layer, model, context, part, i) !=
            (layer != NULL && headwise_checkpoint_layer_mha(layer) != NULL))
            abort();
        headwise_checkpoint_layer_destroy(layer);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static bool has_folder;
    const uint8_t *nul = size > 0 ? memchr(bytes, 0, size) : NULL;
    size_t config = nul ? (size_t)(nul - bytes) : size;
    headwise_checkpoint *model = NULL;
    headwise_context *context = NULL;
    /* n_positions: tables of a few rows, whatever max_position_embeddings says. */
    struct headwise_checkpoint_options options = {.size = sizeof options, .n_positions = 8};
    struct headwise_context_options plain = {.size = sizeof plain, .n_threads = 1};
    if (!has_folder && (!mkdtemp(folder) || atexit(remove_folder) != 0))
        abort();
    has_folder = true;
    put("config.json", bytes, config);
    put("model.safetensors", nul ? nul + 1 : bytes, nul ? size - config - 1 : 0);
    if (headwise_context_create(&context, &plain))
        abort();
    if (headwise_checkpoint_open(&model, folder, &options)) {
        if (model || headwise_io_last_error()[0] == '\0')
            abort();
    } else {
        read_layers(model, context);
    }
    headwise_checkpoint_close(model);
    headwise_context_destroy(context);
    return 0;
}
