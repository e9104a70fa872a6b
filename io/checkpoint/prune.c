/* A model's tensors without some heads of a layer. */
#include <stdlib.h>
#include <string.h>

#include "checkpoint/prune.h"
#include "files/error.h"

static enum headwise_status no_memory(const struct headwise_io_plan *plan) {
    return headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "%s: out of memory",
                            plan->checkpoint->files.name);
}

/* The place of the head with this number, -1 where the layer has none. */
static int64_t place_of(const struct headwise_io_plan *plan, int64_t number) {
    if (!plan->heads.numbers)
        return number >= 0 && number < plan->n_heads ? number : -1;
    for (int64_t h = 0; h < plan->n_heads; h++) {
        if (plan->heads.numbers[h] == number)
            return h;
    }
    return -1;
}

static int64_t number_of(const struct headwise_io_plan *plan, int64_t place) {
    return plan->heads.numbers ? plan->heads.numbers[place] : place;
}

static int64_t kv_place_of(const struct headwise_io_plan *plan, int64_t kv_number) {
    if (!plan->heads.kv_numbers)
        return kv_number;
    for (int64_t g = 0; g < plan->n_kv_heads; g++) {
        if (plan->heads.kv_numbers[g] == kv_number)
            return g;
    }
    return -1;
}

enum headwise_status headwise_io_plan_prune(struct headwise_io_plan *after,
                                            const struct headwise_io_plan *before,
                                            const struct headwise_prune_options *options) {
    const char *name = before->checkpoint->files.name;
    int64_t n_all = before->heads.n_all, n_left = before->n_heads;
    bool *flags = calloc((size_t)n_all, sizeof *flags);
    enum headwise_status status = flags ? HEADWISE_OK : no_memory(before);
    *after = *before;
    after->heads = (struct headwise_io_heads){0};
    for (int64_t h = 0; !status && h < n_all; h++)
        flags[h] = place_of(before, h) < 0;
    for (int64_t i = 0; !status && i < options->n_heads; i++) {
        int64_t head = options->heads[i];
        if (place_of(before, head) < 0)
            status = headwise_io_fail(HEADWISE_ERR_INVALID,
                                      "%s: heads[%lld] is %lld, which the layer does not have",
                                      name, (long long)i, (long long)head);
        else if (flags[head])
            status =
                headwise_io_fail(HEADWISE_ERR_INVALID, "%s: heads[%lld] is %lld, which comes twice",
                                 name, (long long)i, (long long)head);
        else if (--n_left == 0)
            status = headwise_io_fail(HEADWISE_ERR_INVALID,
                                      "%s: no head would be left, expected one or more", name);
        else
            flags[head] = true;
    }
    for (int64_t i = 0; !status && options->merge_into && i < options->n_heads; i++) {
        int64_t into = options->merge_into[i];
        if (into >= 0 && (into >= n_all || flags[into]))
            status = headwise_io_fail(HEADWISE_ERR_INVALID,
                                      "%s: head %lld cannot take over, expected one that stays",
                                      name, (long long)into);
    }
    if (!status)
        status = headwise_io_plan_keep(after, n_all, before->heads.n_all_kv, flags);
    free(flags);
    return status;
}

/* A block of n lines of a matrix [rows][columns]: lines are rows, or columns where across. */
struct block {
    unsigned char *to;
    const unsigned char *from;
    int64_t to_line, from_line, n, to_columns, from_columns, rows;
    bool across;
    size_t size; /* of an element */
};

static void copy_block(const struct block *b) {
    if (!b->across) {
        memcpy(b->to + (size_t)(b->to_line * b->to_columns) * b->size,
               b->from + (size_t)(b->from_line * b->from_columns) * b->size,
               (size_t)(b->n * b->from_columns) * b->size);
        return;
    }
    for (int64_t r = 0; r < b->rows; r++)
        memcpy(b->to + (size_t)(r * b->to_columns + b->to_line) * b->size,
               b->from + (size_t)(r * b->from_columns + b->from_line) * b->size,
               (size_t)b->n * b->size);
}

static void add_element(unsigned char *to, const unsigned char *from,
                        enum headwise_file_dtype dtype) {
    if (dtype == HEADWISE_FILE_F64) {
        double a, b;
        memcpy(&a, to, sizeof a);
        memcpy(&b, from, sizeof b);
        a += b;
        memcpy(to, &a, sizeof a);
        return;
    }
    float a, b;
    uint16_t half[2];
    if (dtype == HEADWISE_FILE_F32) {
        memcpy(&a, to, sizeof a);
        memcpy(&b, from, sizeof b);
        a += b;
        memcpy(to, &a, sizeof a);
        return;
    }
    memcpy(&half[0], to, 2);
    memcpy(&half[1], from, 2);
    if (dtype == HEADWISE_FILE_F16) {
        headwise_f32_from_f16(&a, &half[0], 1);
        headwise_f32_from_f16(&b, &half[1], 1);
        a += b;
        headwise_f16_from_f32(&half[0], &a, 1);
    } else {
        headwise_f32_from_bf16(&a, &half[0], 1);
        headwise_f32_from_bf16(&b, &half[1], 1);
        a += b;
        headwise_bf16_from_f32(&half[0], &a, 1);
    }
    memcpy(to, &half[0], 2);
}

static void add_block(const struct block *b, enum headwise_file_dtype dtype) {
    int64_t rows = b->across ? b->rows : b->n, columns = b->across ? b->n : b->from_columns;
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < columns; c++) {
            int64_t to = b->across ? r * b->to_columns + b->to_line + c
                                   : (b->to_line + r) * b->to_columns + c;
            int64_t from = b->across ? r * b->from_columns + b->from_line + c
                                     : (b->from_line + r) * b->from_columns + c;
            add_element(b->to + (size_t)to * b->size, b->from + (size_t)from * b->size, dtype);
        }
    }
}

/* The tensor that stands for old in the new file: the one made before, where matrices share it, or
 * a new one with lines of them along the axis. */
static enum headwise_status replace(struct headwise_io_changes *changes,
                                    struct headwise_file_tensor **made,
                                    const struct headwise_io_plan *plan,
                                    const struct headwise_file_tensor *old, int axis,
                                    int64_t lines) {
    for (size_t i = 0; i < changes->n; i++) {
        if (changes->old[i] == old) {
            *made = &changes->made[i];
            return HEADWISE_OK;
        }
    }
    struct headwise_file_tensor *tensor = &changes->made[changes->n];
    *tensor = *old;
    tensor->shape[axis] = lines;
    tensor->n_elements = old->n_elements / (size_t)old->shape[axis] * (size_t)lines;
    tensor->size_bytes = tensor->n_elements * headwise_file_dtype_size(old->dtype);
    tensor->data = calloc(tensor->size_bytes + 1, 1);
    if (!tensor->data)
        return no_memory(plan);
    changes->old[changes->n++] = old;
    *made = tensor;
    return HEADWISE_OK;
}

static struct block make_block(struct headwise_file_tensor *to,
                               const struct headwise_file_tensor *from, int axis, int64_t to_line,
                               int64_t from_line, int64_t n) {
    bool flat = from->rank == 1;
    return (struct block){.to = (unsigned char *)to->data,
                          .from = from->data,
                          .to_line = to_line,
                          .from_line = from_line,
                          .n = n,
                          .to_columns = flat ? 1 : to->shape[1],
                          .from_columns = flat ? 1 : from->shape[1],
                          .rows = from->shape[0],
                          .across = axis == 1,
                          .size = headwise_file_dtype_size(from->dtype)};
}

/* The lines of q, k or v (m 0, 1, 2) that stay, in a matrix or bias. */
static enum headwise_status cut_heads(struct headwise_io_changes *changes,
                                      const struct headwise_io_plan *before,
                                      const struct headwise_io_plan *after,
                                      const struct headwise_file_tensor *old, int m) {
    int axis = old->rank == 2 && before->family->conv1d ? 1 : 0;
    int64_t n = m == 0 ? after->n_heads : after->n_kv_heads;
    int64_t lost = before->n_heads - after->n_heads,
            kv_lost = before->n_kv_heads - after->n_kv_heads;
    enum headwise_io_fusion fusion = before->part->fusion;
    bool has_q = m == 0 || fusion == HEADWISE_IO_PLAIN || fusion == HEADWISE_IO_GROUPED;
    bool has_kv = m != 0 || fusion == HEADWISE_IO_PLAIN || fusion == HEADWISE_IO_GROUPED;
    int64_t gone =
        (has_q ? lost : 0) + (has_kv ? kv_lost * (fusion == HEADWISE_IO_SEPARATE ? 1 : 2) : 0);
    struct headwise_file_tensor *made;
    enum headwise_status status =
        replace(changes, &made, before, old, axis, old->shape[axis] - gone * before->head_dim);
    for (int64_t h = 0; !status && h < n; h++) {
        int64_t from = m == 0 ? place_of(before, number_of(after, h))
                              : kv_place_of(before, after->heads.kv_numbers[h]);
        struct block block = make_block(made, old, axis, headwise_io_first_row(after, m, h),
                                        headwise_io_first_row(before, m, from), before->head_dim);
        copy_block(&block);
    }
    return status;
}

/* Their inputs of o; merge_into adds those of heads that go. */
static enum headwise_status cut_output(struct headwise_io_changes *changes,
                                       const struct headwise_io_plan *before,
                                       const struct headwise_io_plan *after,
                                       const struct headwise_prune_options *options) {
    const struct headwise_file_tensor *old = before->w[3].tensor;
    int axis = before->family->conv1d ? 0 : 1;
    int64_t d = before->head_dim;
    struct headwise_file_tensor *made;
    enum headwise_status status = replace(changes, &made, before, old, axis, after->n_heads * d);
    for (int64_t h = 0; !status && h < after->n_heads; h++) {
        int64_t from = place_of(before, number_of(after, h));
        struct block block = make_block(made, old, axis, h * d, from * d, d);
        copy_block(&block);
    }
    for (int64_t i = 0; !status && options->merge_into && i < options->n_heads; i++) {
        if (options->merge_into[i] < 0)
            continue;
        struct block block =
            make_block(made, old, axis, place_of(after, options->merge_into[i]) * d,
                       place_of(before, options->heads[i]) * d, d);
        add_block(&block, old->dtype);
    }
    return status;
}

static enum headwise_status cut_sinks(struct headwise_io_changes *changes,
                                      const struct headwise_io_plan *before,
                                      const struct headwise_io_plan *after) {
    const struct headwise_file_tensor *old = before->sinks.tensor;
    struct headwise_file_tensor *made;
    enum headwise_status status = replace(changes, &made, before, old, 0, after->n_heads);
    for (int64_t h = 0; !status && h < after->n_heads; h++) {
        struct block block = make_block(made, old, 0, h, place_of(before, number_of(after, h)), 1);
        copy_block(&block);
    }
    return status;
}

enum headwise_status headwise_io_change_tensors(struct headwise_io_changes *changes,
                                                const struct headwise_io_plan *before,
                                                const struct headwise_io_plan *after,
                                                const struct headwise_prune_options *options) {
    enum headwise_status status = HEADWISE_OK;
    for (int m = 0; m < 3 && !status; m++) {
        status = cut_heads(changes, before, after, before->w[m].tensor, m);
        if (!status && before->b[m].tensor)
            status = cut_heads(changes, before, after, before->b[m].tensor, m);
    }
    if (!status)
        status = cut_output(changes, before, after, options);
    if (!status && before->sinks.tensor)
        status = cut_sinks(changes, before, after);
    return status;
}

void headwise_io_changes_free(struct headwise_io_changes *changes) {
    for (size_t i = 0; i < changes->n; i++)
        free((void *)changes->made[i].data);
    changes->n = 0;
}
