/* Tensors of a file in a type that the library takes, their shapes checked. */
#include "common/arrays.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/message.h"

const char *shape_text(char text[SHAPE_TEXT], int rank, const int64_t *sizes) {
    int length = snprintf(text, SHAPE_TEXT, "[");
    for (int i = 0; i < rank; i++) {
        const char *comma = i ? "," : "";
        if (sizes[i] < 0)
            length += snprintf(text + length, (size_t)(SHAPE_TEXT - length), "%s*", comma);
        else
            length += snprintf(text + length, (size_t)(SHAPE_TEXT - length), "%s%lld", comma,
                               (long long)sizes[i]);
    }
    snprintf(text + length, (size_t)(SHAPE_TEXT - length), "]");
    return text;
}

enum headwise_file_dtype file_dtype(enum headwise_dtype dtype) {
    switch (dtype) {
    case HEADWISE_F16:
        return HEADWISE_FILE_F16;
    case HEADWISE_BF16:
        return HEADWISE_FILE_BF16;
    case HEADWISE_BOOL:
        return HEADWISE_FILE_BOOL;
    case HEADWISE_I8:
        return HEADWISE_FILE_I8;
    case HEADWISE_F32:
        break;
    }
    return HEADWISE_FILE_F32;
}

static int narrow_f64(float *data, const headwise_safetensors *file,
                      const struct headwise_file_tensor *tensor, enum array_kind kind) {
    for (size_t i = 0; i < tensor->n_elements; i++) {
        double value;
        memcpy(&value, (const char *)tensor->data + i * sizeof value, sizeof value);
        data[i] = (float)value;
        if (!isinf(data[i]) || isinf(value))
            continue;
        if (kind != ARRAY_MASK)
            return fail("%s: tensor \"%s\": element %zu is %g, beyond the range of f32",
                        headwise_safetensors_path(file), tensor->name, i, value);
        data[i] = value > 0 ? FLT_MAX : -FLT_MAX;
    }
    return EXIT_GOOD;
}

static int read_elements(struct array *array, struct arena *arena, const headwise_safetensors *file,
                         const struct headwise_file_tensor *tensor, enum array_kind kind) {
    size_t size = headwise_file_dtype_size(tensor->dtype);
    bool is_f32 = tensor->dtype == HEADWISE_FILE_F32;
    if (tensor->dtype == HEADWISE_FILE_F64 || (kind == ARRAY_F32 && !is_f32)) {
        array->dtype = HEADWISE_F32;
        array->narrowed = tensor->dtype == HEADWISE_FILE_F64;
        array->data = arena_take(arena, (int64_t)tensor->n_elements, sizeof(float));
        if (!array->data)
            return EXIT_UNUSABLE;
        if (array->narrowed)
            return narrow_f64(array->data, file, tensor, kind);
        headwise_safetensors_read_f32(array->data, file, tensor);
        return EXIT_GOOD;
    }
    if ((uintptr_t)tensor->data % size == 0) {
        array->data = (void *)tensor->data;
        return EXIT_GOOD;
    }
    array->data = arena_take(arena, (int64_t)tensor->n_elements, size);
    if (!array->data)
        return EXIT_UNUSABLE;
    memcpy(array->data, tensor->data, tensor->size_bytes);
    return EXIT_GOOD;
}

int array_load(struct array *array, struct arena *arena, const headwise_safetensors *file,
               const char *name, enum array_kind kind, bool is_required) {
    const struct headwise_file_tensor *tensor = headwise_safetensors_find(file, name);
    const char *path = headwise_safetensors_path(file);
    *array = (struct array){.name = name};
    if (!tensor)
        return is_required ? fail("%s: has no tensor \"%s\"", path, name) : EXIT_GOOD;
    switch (tensor->dtype) {
    case HEADWISE_FILE_F16:
        array->dtype = HEADWISE_F16;
        break;
    case HEADWISE_FILE_BF16:
        array->dtype = HEADWISE_BF16;
        break;
    case HEADWISE_FILE_F32:
    case HEADWISE_FILE_F64:
        array->dtype = HEADWISE_F32;
        break;
    case HEADWISE_FILE_BOOL:
        if (kind == ARRAY_MASK) {
            array->dtype = HEADWISE_BOOL;
            break;
        } /* fall through */
    default:
        return fail("%s: tensor \"%s\": is %s, expected %sF32, F16, BF16 or F64%s", path, name,
                    headwise_file_dtype_name(tensor->dtype),
                    kind == ARRAY_MASK ? "BOOL (true: may attend) or " : "",
                    kind == ARRAY_MASK ? " (added to the scores)" : "");
    }
    array->rank = tensor->rank;
    memcpy(array->shape, tensor->shape, sizeof array->shape);
    array->n_elements = tensor->n_elements;
    return read_elements(array, arena, file, tensor, kind);
}

int array_expect(const struct array *array, const headwise_safetensors *file, int rank,
                 const int64_t *sizes, const char *meaning) {
    char found[SHAPE_TEXT], expected[SHAPE_TEXT];
    bool same = array->rank == rank;
    for (int i = 0; same && i < rank; i++)
        same = sizes[i] < 0 || sizes[i] == array->shape[i];
    if (same)
        return EXIT_GOOD;
    return fail("%s: tensor \"%s\": shape %s, expected %s %s", headwise_safetensors_path(file),
                array->name, shape_text(found, array->rank, array->shape),
                shape_text(expected, rank, sizes), meaning);
}
