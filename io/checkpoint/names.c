/* From the tables' patterns to the tensors of a layer. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checkpoint/internal.h"
#include "files/error.h"

/* Writes text with the layer's number for {i}. */
static size_t expand(char *out, size_t size, const char *text, int64_t index) {
    const char *mark = strstr(text, "{i}");
    if (!mark)
        return (size_t)snprintf(out, size, "%s", text);
    return (size_t)snprintf(out, size, "%.*s%" PRId64 "%s", (int)(mark - text), text, index,
                            mark + 3);
}

void headwise_io_stem(char stem[HEADWISE_IO_NAME], const char *prefix, int prefix_length,
                      const struct headwise_io_part *part, int64_t index) {
    int n = snprintf(stem, HEADWISE_IO_NAME, "%.*s", prefix_length, prefix);
    expand(stem + n, HEADWISE_IO_NAME - (size_t)n, part->stem, index);
}

bool headwise_io_has_stem(const headwise_checkpoint *checkpoint, const char *stem) {
    size_t length = strlen(stem), n = headwise_io_files_count(&checkpoint->files);
    for (size_t i = 0; i < n; i++) {
        const char *name = headwise_io_files_at(&checkpoint->files, i);
        if (name && strncmp(name, stem, length) == 0)
            return true;
    }
    return false;
}

/* Whether a tensor of the layer, or with any_layer of any layer, is there under the prefix. */
static bool has_prefix(const struct headwise_io_plan *plan, const char *prefix, int length,
                       bool any_layer) {
    char stem[HEADWISE_IO_NAME];
    headwise_io_stem(stem, prefix, length, plan->part, plan->index);
    if (any_layer) /* what comes before the number */
        stem[length + (strstr(plan->part->stem, "{i}") - plan->part->stem)] = '\0';
    return headwise_io_has_stem(plan->checkpoint, stem);
}

/* Sets prefix and stem: the first prefix that tensors of this layer, or else of any, have. */
static void choose_prefix(struct headwise_io_plan *plan) {
    const char *chosen = plan->family->prefixes, *at, *next;
    int chosen_length = (int)strcspn(chosen, "|"), found = 0;
    for (int any_layer = 0; any_layer < 2 && !found; any_layer++) {
        next = plan->family->prefixes;
        for (int length; !found && (length = headwise_io_list_next(&at, &next)) >= 0;) {
            if (has_prefix(plan, at, length, any_layer)) {
                chosen = at;
                chosen_length = length;
                found = 1;
            }
        }
    }
    snprintf(plan->prefix, sizeof plan->prefix, "%.*s", chosen_length, chosen);
    headwise_io_stem(plan->stem, chosen, chosen_length, plan->part, plan->index);
}

/* Finds stem + name + suffix. Missing is an error where it is required. */
static enum headwise_status find(const struct headwise_io_plan *plan,
                                 struct headwise_io_tensor *tensor, const char *name,
                                 const char *suffix, bool required) {
    char full[2 * HEADWISE_IO_NAME];
    snprintf(full, sizeof full, "%s%s%s", plan->stem, name, suffix);
    *tensor = headwise_io_files_find(&plan->checkpoint->files, full);
    if (tensor->tensor || (!required && !tensor->is_there))
        return HEADWISE_OK;
    if (tensor->is_there)
        return headwise_io_files_fail(&plan->checkpoint->files, full);
    return headwise_io_fail(HEADWISE_ERR_FORMAT,
                            "%s: tensor \"%s\": is missing, expected in layer %" PRId64
                            " of a %s model",
                            headwise_io_files_path(&plan->checkpoint->files, NULL), full,
                            plan->index, plan->family->name);
}

/* The name that matrix m (0 q, 1 k, 2 v, 3 o) is in. */
static const char *matrix_name(const struct headwise_io_part *part, int m) {
    bool one = part->fusion == HEADWISE_IO_PLAIN || part->fusion == HEADWISE_IO_GROUPED;
    if (m == 3)
        return part->o;
    if (m == 0 || one)
        return part->q;
    return m == 1 || part->fusion == HEADWISE_IO_PAIR ? part->k : part->v;
}

/* Which matrices must have a bias, and which may. */
static enum headwise_status bias_sets(const struct headwise_io_plan *plan, unsigned *must,
                                      unsigned *may) {
    const struct headwise_io_family *family = plan->family;
    bool by_key = family->key_default;
    enum headwise_status status = HEADWISE_OK;
    *must = family->biases;
    *may = family->maybe_biases;
    if (!family->bias_key)
        return HEADWISE_OK;
    if (!plan->checkpoint->has_config) /* nobody says: the file does */
        *may |= family->key_biases;
    else
        status = headwise_io_config_bool(&plan->settings, family->bias_key, &by_key);
    if (plan->checkpoint->has_config && by_key)
        *must |= family->key_biases;
    return status;
}

static enum headwise_status find_matrices(struct headwise_io_plan *plan) {
    unsigned must = 0, may = 0;
    enum headwise_status status = bias_sets(plan, &must, &may);
    for (int m = 0; m < 4 && !status; m++) {
        const char *name = matrix_name(plan->part, m);
        status = find(plan, &plan->w[m], name, ".weight", true);
        if (!status && ((must | may) >> m & 1))
            status = find(plan, &plan->b[m], name, ".bias", must >> m & 1);
    }
    return status;
}

static enum headwise_status find_norms(struct headwise_io_plan *plan) {
    const struct headwise_io_family *family = plan->family;
    bool there = family->norm_key == NULL;
    enum headwise_status status = HEADWISE_OK;
    if (!family->q_norm)
        return HEADWISE_OK;
    if (family->norm_key)
        status = headwise_io_config_bool(&plan->settings, family->norm_key, &there);
    if (status || !there)
        return status;
    status = find(plan, &plan->q_norm, family->q_norm, ".weight", true);
    if (!status)
        status = find(plan, &plan->k_norm, family->k_norm, ".weight", true);
    if (!status && family->norm_is_layer)
        status = find(plan, &plan->q_norm_bias, family->q_norm, ".bias", true);
    if (!status && family->norm_is_layer)
        status = find(plan, &plan->k_norm_bias, family->k_norm, ".bias", true);
    return status;
}

static bool is_buffer(const struct headwise_io_family *family, const char *name) {
    const char *at, *next = family->buffers;
    for (int length; (length = headwise_io_list_next(&at, &next)) >= 0;) {
        if (strlen(name) == (size_t)length && strncmp(name, at, (size_t)length) == 0)
            return true;
    }
    return false;
}

static bool is_used(const struct headwise_io_plan *plan,
                    const struct headwise_file_tensor *tensor) {
    const struct headwise_io_tensor *more[] = {&plan->q_norm, &plan->k_norm, &plan->q_norm_bias,
                                               &plan->k_norm_bias, &plan->sinks};
    for (int m = 0; m < 4; m++) {
        if (plan->w[m].tensor == tensor || plan->b[m].tensor == tensor)
            return true;
    }
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        if (more[i]->tensor == tensor)
            return true;
    }
    return false;
}

/* A tensor of the layer that nothing above asked for would silently change what the layer means. */
static enum headwise_status refuse_unknown(const struct headwise_io_plan *plan) {
    const struct headwise_io_files *files = &plan->checkpoint->files;
    size_t length = strlen(plan->stem), n = headwise_io_files_count(files);
    for (size_t i = 0; i < n; i++) {
        const char *name = headwise_io_files_at(files, i);
        if (!name || strncmp(name, plan->stem, length) != 0 ||
            is_buffer(plan->family, name + length))
            continue;
        struct headwise_io_tensor tensor = headwise_io_files_find(files, name);
        if (!tensor.tensor)
            return headwise_io_files_fail(files, name);
        if (!is_used(plan, tensor.tensor))
            return headwise_io_expect_shape(plan->checkpoint, &tensor, -1, NULL,
                                            "no such tensor in this layer");
    }
    return HEADWISE_OK;
}

enum headwise_status headwise_io_plan_names(struct headwise_io_plan *plan) {
    choose_prefix(plan);
    enum headwise_status status = find_matrices(plan);
    if (!status)
        status = find_norms(plan);
    if (!status && plan->family->sinks)
        status = find(plan, &plan->sinks, plan->family->sinks, "", true);
    return status ? status : refuse_unknown(plan);
}

static bool has_tensor(const headwise_checkpoint *checkpoint, const char *prefix, int prefix_length,
                       const char *name, int name_length) {
    char full[2 * HEADWISE_IO_NAME];
    snprintf(full, sizeof full, "%.*s%.*s", prefix_length, prefix, name_length, name);
    return headwise_io_files_find(&checkpoint->files, full).is_there;
}

/* Whether layer 0 of the part, and the family's marks, are there under this prefix. */
static bool fits(const headwise_checkpoint *checkpoint, const struct headwise_io_family *family,
                 const struct headwise_io_part *part, const char *prefix, int length) {
    char name[2 * HEADWISE_IO_NAME];
    size_t n = expand(name, sizeof name, part->stem, 0);
    snprintf(name + n, sizeof name - n, "%s.weight", part->q);
    if (!has_tensor(checkpoint, prefix, length, name, (int)strlen(name)))
        return false;
    const char *at, *next = family->marks;
    for (int mark; (mark = headwise_io_list_next(&at, &next)) >= 0;) {
        if (!has_tensor(checkpoint, prefix, length, at, mark))
            return false;
    }
    return true;
}

const struct headwise_io_family *
headwise_io_family_by_names(const headwise_checkpoint *checkpoint) {
    for (size_t f = 0; f < headwise_io_n_families; f++) {
        const struct headwise_io_family *family = &headwise_io_families[f];
        for (size_t p = 0; p < family->n_parts; p++) {
            const char *at, *next = family->prefixes;
            for (int length; (length = headwise_io_list_next(&at, &next)) >= 0;) {
                if (fits(checkpoint, family, &family->parts[p], at, length))
                    return family;
            }
        }
    }
    return NULL;
}
