/* The stacks of layers of an open model. */
#include <stdio.h>
#include <string.h>

#include "checkpoint/internal.h"

/* Whether name is head, a number, rest. */
static bool is_layer_name(const char *name, const char *head, const char *rest) {
    size_t n_head = strlen(head);
    if (strncmp(name, head, n_head) != 0)
        return false;
    name += n_head;
    size_t n_digits = strspn(name, "0123456789");
    return n_digits > 0 && strncmp(name + n_digits, rest, strlen(rest)) == 0;
}

/* Whether the files have a tensor of any layer of the part. */
static bool has_part(const headwise_checkpoint *checkpoint, const struct headwise_io_part *part) {
    const char *mark = strstr(part->stem, "{i}");
    const char *at, *next = checkpoint->family->prefixes;
    for (int length; (length = headwise_io_list_next(&at, &next)) >= 0;) {
        char head[HEADWISE_IO_NAME];
        snprintf(head, sizeof head, "%.*s%.*s", length, at, (int)(mark - part->stem), part->stem);
        size_t n = headwise_io_files_count(&checkpoint->files);
        for (size_t i = 0; i < n; i++) {
            const char *name = headwise_io_files_at(&checkpoint->files, i);
            if (name && is_layer_name(name, head, mark + 3))
                return true;
        }
    }
    return false;
}

const struct headwise_io_part *headwise_io_part_at(const headwise_checkpoint *checkpoint,
                                                   size_t index) {
    for (size_t i = 0; i < checkpoint->family->n_parts; i++) {
        if (has_part(checkpoint, &checkpoint->family->parts[i]) && index-- == 0)
            return &checkpoint->family->parts[i];
    }
    return NULL;
}

const struct headwise_io_part *headwise_io_part_called(const headwise_checkpoint *checkpoint,
                                                       const char *name) {
    if (!name)
        return headwise_io_part_at(checkpoint, 0);
    for (size_t i = 0; i < checkpoint->family->n_parts; i++) {
        const struct headwise_io_part *part = &checkpoint->family->parts[i];
        if (strcmp(part->name, name) == 0 && has_part(checkpoint, part))
            return part;
    }
    return NULL;
}

/* Whether a fused tensor of q, k and v is [out][in]: its outputs are three times the inputs of o,
 * also where heads were pruned; else the longer side is the output. */
static bool is_out_in(const struct headwise_file_tensor *qkv,
                      const struct headwise_file_tensor *o) {
    bool has_o = o && o->rank == 2;
    if (has_o && qkv->shape[0] / 3 == o->shape[1] && qkv->shape[1] == o->shape[0])
        return true;
    if (has_o && qkv->shape[1] / 3 == o->shape[0] && qkv->shape[0] == o->shape[1])
        return false;
    return qkv->shape[0] > qkv->shape[1];
}

/* A family whose names another one shares has matrices the other way round. */
void headwise_io_settle_twin(headwise_checkpoint *checkpoint) {
    const struct headwise_io_part *part = headwise_io_part_at(checkpoint, 0);
    if (!checkpoint->family->twin || !part)
        return;
    char name[HEADWISE_IO_NAME + 32];
    const char *at, *next = checkpoint->family->prefixes;
    for (int length; (length = headwise_io_list_next(&at, &next)) >= 0;) {
        char stem[HEADWISE_IO_NAME];
        headwise_io_stem(stem, at, length, part, 0);
        snprintf(name, sizeof name, "%s%s.weight", stem, part->q);
        const struct headwise_file_tensor *tensor =
            headwise_io_files_find(&checkpoint->files, name).tensor;
        snprintf(name, sizeof name, "%s%s.weight", stem, part->o);
        if (tensor && tensor->rank == 2 &&
            is_out_in(tensor, headwise_io_files_find(&checkpoint->files, name).tensor))
            checkpoint->family = headwise_io_family_by_name(checkpoint->family->twin);
        if (tensor)
            return;
    }
}

const char *headwise_checkpoint_family(const headwise_checkpoint *checkpoint) {
    return checkpoint->family->name;
}

const char *headwise_checkpoint_family_name(size_t index) {
    return index < headwise_io_n_families ? headwise_io_families[index].name : NULL;
}

const char *headwise_checkpoint_part_name(const headwise_checkpoint *checkpoint, size_t index) {
    const struct headwise_io_part *part = headwise_io_part_at(checkpoint, index);
    return part ? part->name : NULL;
}

struct headwise_io_config headwise_io_part_settings(const headwise_checkpoint *checkpoint,
                                                    const struct headwise_io_part *part) {
    return part->section ? headwise_io_config_section(&checkpoint->settings, part->section)
                         : checkpoint->settings;
}

static bool has_layer(const headwise_checkpoint *checkpoint, const struct headwise_io_part *part,
                      int64_t index) {
    const char *at, *next = checkpoint->family->prefixes;
    for (int length; (length = headwise_io_list_next(&at, &next)) >= 0;) {
        char stem[HEADWISE_IO_NAME];
        headwise_io_stem(stem, at, length, part, index);
        if (headwise_io_has_stem(checkpoint, stem))
            return true;
    }
    return false;
}

int64_t headwise_checkpoint_n_layers(const headwise_checkpoint *checkpoint, const char *name) {
    const struct headwise_io_part *part = headwise_io_part_called(checkpoint, name);
    if (!part)
        return 0;
    struct headwise_io_config settings = headwise_io_part_settings(checkpoint, part);
    int64_t n = 0;
    const char *key = part->layers_key ? part->layers_key : HEADWISE_IO_LAYERS_KEY;
    if (headwise_io_config_integer(&settings, key, 1, &n) || n == 0) {
        while (has_layer(checkpoint, part, n))
            n++;
    }
    return n;
}
