/* Collects arrays and writes them with their metadata. */
#include "common/outputs.h"

#include <string.h>

#include "common/message.h"
#include "headwise/common.h"

void *outputs_add(struct outputs *outputs, const char *name, enum headwise_file_dtype dtype,
                  int rank, const int64_t *sizes) {
    struct headwise_file_tensor tensor = {.name = name, .dtype = dtype, .rank = rank};
    int64_t n = 1;
    for (int i = 0; i < rank; i++) {
        tensor.shape[i] = sizes[i];
        if (__builtin_mul_overflow(n, sizes[i], &n))
            n = -1; /* refused by arena_take */
    }
    if (outputs->n_tensors == MAX_OUTPUTS) {
        fail("more than %d outputs", MAX_OUTPUTS);
        return NULL;
    }
    void *data = arena_take(outputs->arena, n, headwise_file_dtype_size(dtype));
    if (!data)
        return NULL;
    tensor.data = data;
    tensor.n_elements = (size_t)n;
    outputs->tensors[outputs->n_tensors++] = tensor;
    return data;
}

const struct headwise_file_tensor *outputs_find(const struct outputs *outputs, const char *name) {
    for (size_t i = 0; i < outputs->n_tensors; i++) {
        if (strcmp(outputs->tensors[i].name, name) == 0)
            return &outputs->tensors[i];
    }
    return NULL;
}

int outputs_write(const struct outputs *outputs, const char *path, const char *op,
                  const headwise_context *context) {
    char *names = arena_text(outputs->arena, "%s", "");
    for (size_t i = 0; names && i < outputs->n_tensors; i++)
        names = arena_text(outputs->arena, "%s%s%s", names, i ? "," : "", outputs->tensors[i].name);
    const char *threads =
        arena_text(outputs->arena, "%d", headwise_context_describe(context)->n_threads);
    if (!names || !threads)
        return EXIT_UNUSABLE;
    const struct headwise_file_metadata metadata[] = {
        {"op", op},
        {"isa", headwise_isa_name(headwise_context_describe(context)->isa)},
        {"threads", threads},
        {"outputs", names},
        {"headwise", headwise_version()},
    };
    if (headwise_safetensors_write(path, outputs->tensors, outputs->n_tensors, metadata,
                                   sizeof metadata / sizeof *metadata) != HEADWISE_OK)
        return fail("%s", headwise_io_last_error());
    return EXIT_GOOD;
}
