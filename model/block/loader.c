/* Tensors out of the files into memory that stays, or as they lie. */
#include "block/loader.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "headwise-io/safetensors.h"

enum headwise_status headwise_loader_io(enum headwise_status status) {
    return status ? headwise_model_fail(status, "%s", headwise_io_last_error()) : HEADWISE_OK;
}

enum headwise_status headwise_loader_core(const struct headwise_loader *loader,
                                          enum headwise_status status) {
    if (!status)
        return HEADWISE_OK;
    /* what is invalid came from the files */
    return headwise_model_fail(status == HEADWISE_ERR_INVALID ? HEADWISE_ERR_FORMAT : status,
                               "%s: %s", headwise_checkpoint_path(loader->checkpoint),
                               headwise_last_error());
}

static enum headwise_status no_memory(const struct headwise_loader *loader) {
    return headwise_model_no_memory(headwise_checkpoint_path(loader->checkpoint));
}

/* The tensor, with its shape as rows x columns, and checked against those asked for. */
static enum headwise_status find(struct headwise_loader *loader, const char *name, int64_t rows,
                                 int64_t columns, const struct headwise_file_tensor **tensor) {
    const char *path = headwise_checkpoint_path(loader->checkpoint);
    const struct headwise_file_tensor *found = headwise_checkpoint_tensor(loader->checkpoint, name);
    if (!found)
        return headwise_model_fail(HEADWISE_ERR_FORMAT,
                                   "%s: tensor \"%s\": is missing, expected in a %s model", path,
                                   name, loader->description->family->name);
    int64_t n_rows = found->rank > 0 ? found->shape[0] : 1;
    int64_t n_columns = n_rows > 0 ? (int64_t)found->n_elements / n_rows : 0;
    if (n_rows == 0 || n_columns == 0 || (rows > 0 && n_rows != rows) ||
        (columns > 0 && n_columns != columns))
        return headwise_model_fail(
            HEADWISE_ERR_FORMAT,
            "%s: tensor \"%s\": has %lld x %lld elements, expected %lld x %lld (0: any)", path,
            name, (long long)n_rows, (long long)n_columns, (long long)rows, (long long)columns);
    *tensor = found;
    return headwise_loader_note(loader, found->name + strlen(found->name) - strlen(name));
}

static enum headwise_status read_f32(struct headwise_loader *loader, const char *name,
                                     const struct headwise_file_tensor *tensor, float *values) {
    return headwise_loader_io(headwise_checkpoint_read_f32(values, loader->checkpoint, name,
                                                           tensor->rank, tensor->shape));
}

/* Files from before 2019's renaming call the weight and bias of a norm gamma and beta, and some
 * tools still write them so. Returns the name that the file has, written to old where that is such
 * a one. */
static const char *spelled(const struct headwise_loader *loader, const char *name, char old[256]) {
    static const char *const pairs[][2] = {{".weight", ".gamma"}, {".bias", ".beta"}};
    if (headwise_checkpoint_tensor(loader->checkpoint, name))
        return name;
    for (int i = 0; i < 2; i++) {
        size_t n = strlen(name), end = strlen(pairs[i][0]);
        if (n <= end || n > 240 || strcmp(name + n - end, pairs[i][0]) != 0)
            continue;
        snprintf(old, 256, "%.*s%s", (int)(n - end), name, pairs[i][1]);
        if (headwise_checkpoint_tensor(loader->checkpoint, old))
            return old;
    }
    return name;
}

enum headwise_status headwise_load_vector(struct headwise_loader *loader, const char *name,
                                          int64_t n, const float **vector) {
    char old[256];
    name = spelled(loader, name, old);
    const struct headwise_file_tensor *tensor;
    enum headwise_status status = find(loader, name, 0, 0, &tensor);
    if (status)
        return status;
    if ((int64_t)tensor->n_elements != n) /* whatever its axes are */
        return headwise_model_fail(
            HEADWISE_ERR_FORMAT, "%s: tensor \"%s\": has %zu elements, expected %lld",
            headwise_checkpoint_path(loader->checkpoint), name, tensor->n_elements, (long long)n);
    float *values = headwise_store_take(loader->store, tensor->n_elements, sizeof *values);
    if (!values)
        return no_memory(loader);
    *vector = values;
    return read_f32(loader, name, tensor, values);
}

static bool keeps(const struct headwise_file_tensor *tensor, enum headwise_dtype *dtype) {
    uintptr_t address = (uintptr_t)tensor->data;
    switch (tensor->dtype) {
    case HEADWISE_FILE_F32:
        *dtype = HEADWISE_F32;
        return address % 4 == 0;
    case HEADWISE_FILE_F16:
        *dtype = HEADWISE_F16;
        return address % 2 == 0;
    case HEADWISE_FILE_BF16:
        *dtype = HEADWISE_BF16;
        return address % 2 == 0;
    default:
        return false;
    }
}

static enum headwise_status copy_as_f32(struct headwise_loader *loader, const char *name,
                                        const struct headwise_file_tensor *tensor,
                                        struct headwise_matrix *matrix) {
    float *copy = headwise_memory_take(&loader->store->allocator, tensor->n_elements, sizeof *copy);
    if (!copy)
        return no_memory(loader);
    matrix->data = matrix->copy = copy;
    matrix->n_copied = tensor->n_elements;
    matrix->dtype = HEADWISE_F32;
    return read_f32(loader, name, tensor, copy);
}

enum headwise_status headwise_load_matrix(struct headwise_loader *loader, const char *name,
                                          int64_t rows, int64_t columns,
                                          struct headwise_matrix *matrix) {
    const struct headwise_file_tensor *tensor;
    *matrix = (struct headwise_matrix){0};
    enum headwise_status status = find(loader, name, rows, columns, &tensor);
    if (status)
        return status;
    matrix->rows = tensor->shape[0];
    matrix->columns = (int64_t)tensor->n_elements / matrix->rows;
    matrix->data = tensor->data;
    return keeps(tensor, &matrix->dtype) ? HEADWISE_OK : copy_as_f32(loader, name, tensor, matrix);
}

void headwise_matrix_drop(struct headwise_loader *loader, struct headwise_matrix *matrix) {
    headwise_memory_give(&loader->store->allocator, matrix->copy, matrix->n_copied,
                         sizeof *matrix->copy);
    *matrix = (struct headwise_matrix){0};
}

enum headwise_status headwise_matrices_join(struct headwise_loader *loader,
                                            struct headwise_matrix *matrices, int n) {
    bool differ = false;
    for (int i = 1; i < n; i++)
        differ = differ || matrices[i].dtype != matrices[0].dtype;
    for (int i = 0; differ && i < n; i++) {
        struct headwise_matrix *m = &matrices[i];
        if (m->dtype == HEADWISE_F32)
            continue;
        size_t count = (size_t)(m->rows * m->columns);
        float *copy = headwise_memory_take(&loader->store->allocator, count, sizeof *copy);
        if (!copy)
            return no_memory(loader);
        if (m->dtype == HEADWISE_F16)
            headwise_f32_from_f16(copy, m->data, count);
        else
            headwise_f32_from_bf16(copy, m->data, count);
        m->data = m->copy = copy;
        m->n_copied = count;
        m->dtype = HEADWISE_F32;
    }
    return HEADWISE_OK;
}

enum headwise_dtype headwise_loader_packed(const struct headwise_loader *loader,
                                           enum headwise_dtype dtype) {
    switch (loader->weights) {
    case HEADWISE_CHECKPOINT_WEIGHTS_STORED:
        return dtype;
    case HEADWISE_CHECKPOINT_WEIGHTS_F16:
        return HEADWISE_F16;
    case HEADWISE_CHECKPOINT_WEIGHTS_BF16:
        return HEADWISE_BF16;
    case HEADWISE_CHECKPOINT_WEIGHTS_I8:
    case HEADWISE_CHECKPOINT_WEIGHTS_DYNAMIC:
    case HEADWISE_CHECKPOINT_WEIGHTS_DYNAMIC_128:
        return HEADWISE_I8;
    default:
        return HEADWISE_F32;
    }
}

bool headwise_loader_rounds_rows(const struct headwise_loader *loader, int64_t *group) {
    *group = loader->weights == HEADWISE_CHECKPOINT_WEIGHTS_DYNAMIC_128 ? 128 : 0;
    return *group > 0 || loader->weights == HEADWISE_CHECKPOINT_WEIGHTS_DYNAMIC;
}

enum headwise_status headwise_load_norm(struct headwise_loader *loader, const char *name, int64_t n,
                                        bool is_scaled, struct headwise_row_norm *norm) {
    const struct headwise_norm_form *form = &loader->description->norm;
    double residual = loader->description->residual_scale;
    double divisor = is_scaled && residual > 0 ? residual : 1;
    char text[HEADWISE_NAME_SIZE + 8];
    *norm = (struct headwise_row_norm){.size = sizeof *norm,
                                       .norm = form->norm,
                                       .eps = (float)(form->eps / (divisor * divisor)),
                                       .adds_one = form->adds_one};
    snprintf(text, sizeof text, "%s.weight", name);
    enum headwise_status status = headwise_load_vector(loader, text, n, &norm->weights);
    snprintf(text, sizeof text, "%s.bias", name);
    return status || !form->has_bias ? status : headwise_load_vector(loader, text, n, &norm->bias);
}
