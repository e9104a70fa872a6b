/* A layer's matrices out of the tensors they lie in. */
#include <stdlib.h>
#include <string.h>

#include "checkpoint/internal.h"
#include "files/error.h"

/* Where the heads of kv head g end. */
static int64_t group_end(const struct headwise_io_plan *plan, int64_t g) {
    return plan->heads.ends ? plan->heads.ends[g] : (g + 1) * (plan->n_heads / plan->n_kv_heads);
}

int64_t headwise_io_first_row(const struct headwise_io_plan *plan, int m, int64_t h) {
    int64_t d = plan->head_dim, g = h;
    switch (plan->part->fusion) {
    case HEADWISE_IO_PLAIN:
        return (m == 0 ? h : plan->n_heads + (m == 2 ? plan->n_kv_heads : 0) + h) * d;
    case HEADWISE_IO_GROUPED:
        /* Before a row of q lie two rows of each kv head that came before. */
        for (g = m == 0 ? 0 : h; m == 0 && group_end(plan, g) <= h;)
            g++;
        return ((m == 0 ? h : group_end(plan, g) + (m == 2)) + 2 * g) * d;
    case HEADWISE_IO_PAIR:
        return (m == 2 ? plan->n_kv_heads + h : h) * d;
    case HEADWISE_IO_SEPARATE:
        break;
    }
    return h * d;
}

/* The type that all four matrices can keep; F32 where they differ or have another one. */
static enum headwise_dtype common_dtype(const struct headwise_io_plan *plan) {
    enum headwise_file_dtype first = plan->w[0].tensor->dtype;
    for (int m = 1; m < 4; m++) {
        if (plan->w[m].tensor->dtype != first)
            return HEADWISE_F32;
    }
    return first == HEADWISE_FILE_F16    ? HEADWISE_F16
           : first == HEADWISE_FILE_BF16 ? HEADWISE_BF16
                                         : HEADWISE_F32;
}

static bool same_type(enum headwise_file_dtype file, enum headwise_dtype dtype) {
    return (file == HEADWISE_FILE_F32 && dtype == HEADWISE_F32) ||
           (file == HEADWISE_FILE_F16 && dtype == HEADWISE_F16) ||
           (file == HEADWISE_FILE_BF16 && dtype == HEADWISE_BF16);
}

static enum headwise_status no_memory(const struct headwise_io_tensor *tensor) {
    return headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "%s: tensor \"%s\": out of memory",
                            headwise_safetensors_path(tensor->file), tensor->tensor->name);
}

/* Sets *data to the tensor's elements in the type: those of the file, or a converted copy that
 * *copy then holds. */
static enum headwise_status elements(const struct headwise_io_tensor *tensor,
                                     enum headwise_dtype dtype, const void **data, float **copy) {
    enum headwise_file_dtype file = tensor->tensor->dtype;
    *copy = NULL;
    *data = tensor->tensor->data;
    if (same_type(file, dtype))
        return HEADWISE_OK;
    if (file != HEADWISE_FILE_F64 && file != HEADWISE_FILE_F32 && file != HEADWISE_FILE_F16 &&
        file != HEADWISE_FILE_BF16)
        return headwise_io_fail(HEADWISE_ERR_FORMAT,
                                "%s: tensor \"%s\": is %s, expected F32, F16, BF16 or F64",
                                headwise_safetensors_path(tensor->file), tensor->tensor->name,
                                headwise_file_dtype_name(file));
    *data = *copy = calloc(tensor->tensor->n_elements, sizeof **copy);
    return *copy ? headwise_safetensors_read_f32(*copy, tensor->file, tensor->tensor)
                 : no_memory(tensor);
}

/* n rows of n_in elements from row `from` of src to row `to` of dst, which is [out][in]; src is
 * [in][out] with n_out columns where transposed. */
static void copy_rows(unsigned char *dst, int64_t to, const unsigned char *src, int64_t from,
                      int64_t n, int64_t n_in, int64_t n_out, bool transposed, size_t size) {
    if (!transposed) {
        memcpy(dst + (size_t)(to * n_in) * size, src + (size_t)(from * n_in) * size,
               (size_t)(n * n_in) * size);
        return;
    }
    for (int64_t r = 0; r < n; r++)
        for (int64_t i = 0; i < n_in; i++)
            memcpy(dst + (size_t)((to + r) * n_in + i) * size,
                   src + (size_t)(i * n_out + from + r) * size, size);
}

static enum headwise_status take_matrix(const struct headwise_io_plan *plan, int m,
                                        enum headwise_dtype dtype, void **matrix) {
    const struct headwise_io_tensor *tensor = &plan->w[m];
    bool transposed = plan->family->conv1d;
    size_t size = headwise_dtype_size(dtype);
    int64_t n_out = tensor->tensor->shape[transposed ? 1 : 0];
    int64_t n_in = tensor->tensor->shape[transposed ? 0 : 1];
    int64_t n_heads = m == 0 ? plan->n_heads : plan->n_kv_heads;
    int64_t rows = m == 3 ? n_out : n_heads * plan->head_dim;
    const void *data;
    float *copy;
    enum headwise_status status = elements(tensor, dtype, &data, &copy);
    *matrix = status ? NULL : calloc((size_t)(rows * n_in), size);
    if (!status && !*matrix)
        status = no_memory(tensor);
    if (!status && m == 3)
        copy_rows(*matrix, 0, data, 0, rows, n_in, n_out, transposed, size);
    for (int64_t h = 0; !status && m < 3 && h < n_heads; h++)
        copy_rows(*matrix, h * plan->head_dim, data, headwise_io_first_row(plan, m, h),
                  plan->head_dim, n_in, n_out, transposed, size);
    free(copy);
    return status;
}

static enum headwise_status take_vector(const struct headwise_io_tensor *tensor, float **vector) {
    if (!tensor->tensor)
        return HEADWISE_OK;
    const void *data;
    float *copy;
    enum headwise_status status = elements(tensor, HEADWISE_F32, &data, &copy);
    if (!status && !copy) {
        copy = malloc(tensor->tensor->size_bytes + 1);
        if (!copy)
            return no_memory(tensor);
        memcpy(copy, data, tensor->tensor->size_bytes);
    }
    if (status)
        free(copy);
    else
        *vector = copy;
    return status;
}

static enum headwise_status take_bias(const struct headwise_io_plan *plan, int m, float **bias) {
    float *whole = NULL;
    enum headwise_status status = take_vector(&plan->b[m], &whole);
    if (status || !whole || m == 3) {
        *bias = whole;
        return status;
    }
    int64_t n_heads = m == 0 ? plan->n_heads : plan->n_kv_heads;
    *bias = calloc((size_t)(n_heads * plan->head_dim), sizeof **bias);
    if (!*bias)
        status = no_memory(&plan->b[m]);
    for (int64_t h = 0; !status && h < n_heads; h++)
        memcpy(*bias + h * plan->head_dim, whole + headwise_io_first_row(plan, m, h),
               (size_t)plan->head_dim * sizeof **bias);
    free(whole);
    return status;
}

enum headwise_status headwise_io_plan_weights(const struct headwise_io_plan *plan,
                                              struct headwise_io_weights *weights) {
    enum headwise_status status = HEADWISE_OK;
    weights->dtype = common_dtype(plan);
    for (int m = 0; m < 4 && !status; m++) {
        status = take_matrix(plan, m, weights->dtype, &weights->w[m]);
        if (!status)
            status = take_bias(plan, m, &weights->b[m]);
    }
    if (!status)
        status = take_vector(&plan->q_norm, &weights->q_norm);
    if (!status)
        status = take_vector(&plan->k_norm, &weights->k_norm);
    if (!status)
        status = take_vector(&plan->q_norm_bias, &weights->q_norm_bias);
    if (!status)
        status = take_vector(&plan->k_norm_bias, &weights->k_norm_bias);
    return status;
}

void headwise_io_weights_free(struct headwise_io_weights *weights) {
    for (int m = 0; m < 4; m++) {
        free(weights->w[m]);
        free(weights->b[m]);
    }
    free(weights->q_norm);
    free(weights->k_norm);
    free(weights->q_norm_bias);
    free(weights->k_norm_bias);
    *weights = (struct headwise_io_weights){0};
}
