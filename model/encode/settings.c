/* Opens JSON files of a folder and reads texts out of them. */
#include "encode/settings.h"

#include <string.h>

#include "base/error.h"
#include "headwise-io/safetensors.h"

enum headwise_status headwise_settings_join(const struct headwise_allocator *memory,
                                            struct headwise_bytes *path, const char *folder,
                                            const char *name) {
    const char *between = name[0] != '\0' ? "/" : "";
    if (!headwise_bytes_append(memory, path, folder, strlen(folder)) ||
        !headwise_bytes_append(memory, path, between, strlen(between)) ||
        !headwise_bytes_append(memory, path, name, strlen(name) + 1))
        return headwise_model_no_memory(folder);
    return HEADWISE_OK;
}

enum headwise_status headwise_settings_open(struct headwise_settings *settings,
                                            const struct headwise_allocator *memory,
                                            const char *folder, const char *name,
                                            const char *part) {
    struct headwise_json_reader reader;
    *settings = (struct headwise_settings){
        .object = {.file = &settings->config, .part = part, .slice = {"{}", 2}},
        .config = {memory, "", "{}"},
    };
    enum headwise_status status = headwise_settings_join(memory, &settings->path, folder, name);
    if (status)
        return status;
    settings->config.name = settings->path.at;
    status = headwise_io_map_if_there(&settings->file, settings->path.at, &settings->is_there);
    if (status)
        return headwise_model_fail(status, "%s", headwise_io_last_error());
    if (!settings->is_there)
        return HEADWISE_OK;
    settings->config.whole = (const char *)settings->file.bytes;
    headwise_json_begin(&reader, settings->file.bytes, settings->file.size_bytes);
    headwise_json_skip(&reader, &settings->object.slice);
    headwise_json_end(&reader);
    if (reader.error)
        return headwise_config_broken(&settings->object, &reader);
    if (headwise_config_kind(&settings->object.slice) == HEADWISE_JSON_OBJECT)
        headwise_config_list(&settings->members, &settings->object);
    return HEADWISE_OK;
}

void headwise_settings_close(struct headwise_settings *settings) {
    headwise_io_unmap(&settings->file);
    if (settings->config.memory)
        headwise_bytes_free(settings->config.memory, &settings->path);
    settings->is_there = false;
}

enum headwise_status headwise_settings_text(const struct headwise_config_object *object,
                                            const char *key, struct headwise_bytes *text,
                                            bool *found) {
    struct headwise_json_slice value;
    size_t before = text->size;
    *found = headwise_config_get(object, key, &value);
    if (!*found)
        return HEADWISE_OK;
    enum headwise_status status = headwise_config_bytes(object, key, true, text);
    if (status)
        return status;
    if (memchr(text->at + before, '\0', text->size - before))
        return headwise_config_fail(object, key, "has U+0000 in it");
    return headwise_bytes_append(object->file->memory, text, "", 1)
               ? HEADWISE_OK
               : headwise_model_no_memory(object->file->name);
}

const char *headwise_settings_class(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}
