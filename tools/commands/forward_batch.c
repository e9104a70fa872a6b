/* Reads what headwise forward is given, and puts rows back to where they are in the file's arrays.
 */
#include <string.h>

#include "commands/forward.h"
#include "common/arrays.h"
#include "common/message.h"

/* The tensor TAG.NAME, or NAME without a tag; NULL: there is none. */
static const struct headwise_file_tensor *
find(const struct forward_batch *batch, struct arena *arena, const char *tag, const char *name) {
    const char *whole = arena_text(arena, "%s%s%s", tag ? tag : "", tag ? "." : "", name);
    return whole ? headwise_safetensors_find(batch->file, whole) : NULL;
}

/* Integers of the shape of ids, or of any matrix where ids is NULL. */
static int read_integers(int64_t **values, const struct forward_batch *batch, struct arena *arena,
                         const struct headwise_file_tensor *tensor,
                         const struct headwise_file_tensor *ids) {
    const char *path = headwise_safetensors_path(batch->file);
    if (tensor->rank != 2 ||
        (ids && (tensor->shape[0] != ids->shape[0] || tensor->shape[1] != ids->shape[1])))
        return fail("%s: tensor \"%s\": expected the shape [sequences,tokens] of input_ids", path,
                    tensor->name);
    *values = arena_take(arena, (int64_t)tensor->n_elements, sizeof **values);
    if (!*values)
        return EXIT_UNUSABLE;
    if (headwise_safetensors_read_i64(*values, batch->file, tensor) != HEADWISE_OK)
        return fail("%s", headwise_io_last_error());
    return EXIT_GOOD;
}

/* An integer of the file as the library takes it; what does not fit stays out of range. */
static int32_t narrow(int64_t value) {
    return value < 0 ? -1 : value > INT32_MAX ? INT32_MAX : (int32_t)value;
}

static void keep_visible(struct forward_batch *batch, const int64_t *ids, const int64_t *mask,
                         const int64_t *types) {
    for (int64_t i = 0; i < batch->n_sequences * batch->n_columns; i++) {
        if (!mask || mask[i] != 0) {
            batch->ids[batch->n_rows] = narrow(ids[i]);
            if (types)
                batch->types[batch->n_rows] = narrow(types[i]);
            batch->places[batch->n_rows++] = i;
        }
        batch->starts[i / batch->n_columns + 1] = (int32_t)batch->n_rows;
    }
}

static int read_texts(struct forward_batch *batch, struct arena *arena, const char *tag,
                      const struct headwise_file_tensor *tensor) {
    const struct headwise_file_tensor *mask_tensor = find(batch, arena, tag, "attention_mask");
    const struct headwise_file_tensor *type_tensor = find(batch, arena, tag, "token_type_ids");
    int64_t *ids, *mask = NULL, *types = NULL;
    int code = read_integers(&ids, batch, arena, tensor, NULL);
    if (!code && mask_tensor)
        code = read_integers(&mask, batch, arena, mask_tensor, tensor);
    if (!code && type_tensor)
        code = read_integers(&types, batch, arena, type_tensor, tensor);
    if (code)
        return code;
    int64_t n = (int64_t)tensor->n_elements;
    if (n > INT32_MAX)
        return fail("%s: tensor \"%s\": has %lld elements, expected at most %d",
                    headwise_safetensors_path(batch->file), tensor->name, (long long)n, INT32_MAX);
    batch->n_sequences = tensor->shape[0];
    batch->n_columns = tensor->shape[1];
    batch->starts = arena_take(arena, batch->n_sequences + 1, sizeof *batch->starts);
    batch->ids = arena_take(arena, n, sizeof *batch->ids);
    batch->places = arena_take(arena, n, sizeof *batch->places);
    batch->types = types ? arena_take(arena, n, sizeof *batch->types) : NULL;
    if (!batch->starts || !batch->ids || !batch->places || (types && !batch->types))
        return EXIT_UNUSABLE;
    keep_visible(batch, ids, mask, types);
    return EXIT_GOOD;
}

static int read_images(struct forward_batch *batch, struct arena *arena,
                       const struct headwise_file_tensor *tensor,
                       const struct headwise_transformer_info *info) {
    const int64_t sizes[4] = {-1, info->n_channels, info->image_height, info->image_width};
    struct array array;
    int code = array_load(&array, arena, batch->file, tensor->name, ARRAY_F32, true);
    if (!code)
        code = array_expect(&array, batch->file, 4, sizes, "(images, channels, height, width)");
    if (code)
        return code;
    batch->pixels = array.data;
    batch->n_sequences = array.shape[0];
    batch->n_columns = info->n_patches;
    batch->n_rows = batch->n_sequences * batch->n_columns;
    batch->places = arena_take(arena, batch->n_rows, sizeof *batch->places);
    for (int64_t r = 0; batch->places && r < batch->n_rows; r++)
        batch->places[r] = r;
    return batch->places ? EXIT_GOOD : EXIT_UNUSABLE;
}

int forward_read(struct forward_batch *batch, struct arena *arena, const char *path,
                 const char *tag, const struct headwise_transformer_info *info) {
    if (headwise_safetensors_open(&batch->file, path) != HEADWISE_OK)
        return fail("%s", headwise_io_last_error());
    const char *name = info->n_patches > 0 ? "pixel_values" : "input_ids";
    const struct headwise_file_tensor *tensor = find(batch, arena, tag, name);
    if (!tensor)
        return fail("%s: has no tensor \"%s%s%s\", which a %s model reads", path, tag ? tag : "",
                    tag ? "." : "", name, info->family);
    return info->n_patches > 0 ? read_images(batch, arena, tensor, info)
                               : read_texts(batch, arena, tag, tensor);
}

int forward_read_gates(struct forward_batch *batch, struct arena *arena, const char *path,
                       const struct headwise_transformer_info *info) {
    headwise_safetensors *file = NULL;
    struct array array = {.name = "gates"};
    const int64_t sizes[3] = {batch->n_sequences, info->n_layers, info->most_heads};
    if (headwise_safetensors_open(&file, path) != HEADWISE_OK)
        return fail("%s", headwise_io_last_error());
    int code = array_load(&array, arena, file, "gates", ARRAY_F32, true);
    bool is_of_each = array.rank == 3;
    if (!code)
        code = array_expect(&array, file, is_of_each ? 3 : 2, is_of_each ? sizes : sizes + 1,
                            is_of_each ? "(sequences, layers, heads)" : "(layers, heads)");
    if (!code) {
        batch->gates = arena_take(arena, (int64_t)array.n_elements, sizeof *batch->gates);
        batch->gate_stride = is_of_each ? info->n_layers * info->most_heads : 0;
        code = batch->gates ? EXIT_GOOD : EXIT_UNUSABLE;
    }
    if (!code)
        memcpy(batch->gates, array.data, array.n_elements * sizeof *batch->gates);
    headwise_safetensors_close(file);
    return code;
}

int64_t forward_start(const struct forward_batch *batch, int64_t s) {
    return batch->starts ? batch->starts[s] : s * batch->n_columns;
}

int forward_add_rows(const struct forward_batch *batch, struct outputs *outputs, const char *name,
                     const float *rows, int64_t width) {
    const int64_t sizes[3] = {batch->n_sequences, batch->n_columns, width};
    float *data = outputs_add(outputs, name, HEADWISE_FILE_F32, 3, sizes);
    for (int64_t r = 0; data && r < batch->n_rows; r++)
        memcpy(data + batch->places[r] * width, rows + r * width, (size_t)width * sizeof *data);
    return data ? EXIT_GOOD : EXIT_UNUSABLE;
}

int forward_add_maps(const struct forward_batch *batch, struct outputs *outputs, const char *name,
                     const float *maps, int64_t n_heads) {
    int64_t columns = batch->n_columns;
    const int64_t sizes[4] = {batch->n_sequences, n_heads, columns, columns};
    float *data = outputs_add(outputs, name, HEADWISE_FILE_F32, 4, sizes);
    for (int64_t s = 0; data && s < batch->n_sequences; s++) {
        int64_t first = forward_start(batch, s), n = forward_start(batch, s + 1) - first;
        const int64_t *places = batch->places + first;
        for (int64_t h = 0; h < n_heads; h++) {
            float *map = data + (s * n_heads + h) * columns * columns;
            for (int64_t at = 0; at < n * n; at++)
                map[(places[at / n] - s * columns) * columns + places[at % n] - s * columns] =
                    *maps++;
        }
    }
    return data ? EXIT_GOOD : EXIT_UNUSABLE;
}
