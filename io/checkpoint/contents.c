/* What is in a model: names of its tensors, values of its settings as they stand. */
#include <string.h>

#include "checkpoint/layer.h"

const char *headwise_checkpoint_path(const headwise_checkpoint *checkpoint) {
    return headwise_io_files_path(&checkpoint->files, NULL);
}

void headwise_checkpoint_release(headwise_checkpoint *checkpoint) {
    for (size_t i = 0; checkpoint && i < checkpoint->files.n_files; i++) {
        const struct headwise_io_map *map = &checkpoint->files.files[i]->map;
        headwise_io_map_release(map, map->bytes, map->bytes + map->size_bytes);
    }
}

const char *headwise_checkpoint_tensor_name(const headwise_checkpoint *checkpoint, size_t index) {
    size_t n = headwise_io_files_count(&checkpoint->files);
    for (size_t i = 0; i < n; i++) {
        const char *name = headwise_io_files_at(&checkpoint->files, i);
        if (name && index-- == 0)
            return name;
    }
    return NULL;
}

const char *headwise_checkpoint_value(const headwise_checkpoint *checkpoint, const char *part,
                                      const char *key, size_t *size) {
    const struct headwise_io_part *found = headwise_io_part_called(checkpoint, part);
    struct headwise_io_config settings =
        found ? headwise_io_part_settings(checkpoint, found) : checkpoint->settings;
    headwise_io_value value = headwise_io_config_find(&settings, key);
    *size = value.size;
    return value.size > 0 ? value.at : NULL;
}

void headwise_io_layer_uses(struct headwise_checkpoint_layer *layer,
                            const struct headwise_io_plan *plan,
                            const struct headwise_io_tensor *tensor) {
    if (!tensor->tensor)
        return;
    const char *name = tensor->tensor->name + strlen(plan->checkpoint->files.prefix);
    for (size_t i = 0; i < layer->n_names; i++) {
        if (strcmp(layer->names[i], name) == 0)
            return;
    }
    layer->names[layer->n_names++] = name;
}

const char *headwise_checkpoint_layer_tensor_name(const headwise_checkpoint_layer *layer,
                                                  size_t index) {
    return index < layer->n_names ? layer->names[index] : NULL;
}
