/* libFuzzer target: any bytes as a safetensors file. Whatever opens lies inside it and can be read.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "headwise-io/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void read_tensor(const headwise_safetensors *file, const struct headwise_file_tensor *tensor,
                        const uint8_t *bytes, size_t size) {
    const uint8_t *data = tensor->data;
    const struct headwise_file_tensor *found;
    if (data < bytes || tensor->size_bytes > (size_t)(bytes + size - data))
        abort();
    if (headwise_safetensors_require(&found, file, tensor->name) || found != tensor)
        abort();
    double *values = malloc(tensor->n_elements * sizeof *values + 1);
    if (values && headwise_safetensors_read_f64(values, file, tensor))
        abort();
    free(values);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    headwise_safetensors *file = NULL;
    if (headwise_safetensors_open_memory(&file, bytes, size, "fuzz")) {
        if (headwise_io_last_error()[0] == '\0')
            abort();
        return 0;
    }
    for (size_t i = 0; i < headwise_safetensors_count(file); i++)
        read_tensor(file, headwise_safetensors_at(file, i), bytes, size);
    for (size_t i = 0; i < headwise_safetensors_metadata_count(file); i++) {
        const char *key = headwise_safetensors_metadata_at(file, i)->key;
        if (!headwise_safetensors_metadata(file, key))
            abort();
    }
    headwise_safetensors_close(file);
    return 0;
}
