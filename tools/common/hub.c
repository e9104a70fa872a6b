/* Finds snapshots in the local cache of the Hugging Face hub. */
#define _POSIX_C_SOURCE 200809L
#include "common/hub.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/message.h"

static bool is_there(const char *path) {
    struct stat info;
    return stat(path, &info) == 0;
}

static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static const char *cache_folder(struct arena *arena) {
    if (variable("HF_HUB_CACHE"))
        return variable("HF_HUB_CACHE");
    if (variable("HF_HOME"))
        return arena_text(arena, "%s/hub", variable("HF_HOME"));
    if (variable("HOME"))
        return arena_text(arena, "%s/.cache/huggingface/hub", variable("HOME"));
    return NULL;
}

/* The hexadecimal name of the snapshot that refs/main holds. */
static bool read_reference(char revision[80], const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    size_t n = fread(revision, 1, 79, file);
    fclose(file);
    while (n > 0 && (revision[n - 1] == '\n' || revision[n - 1] == ' '))
        n--;
    revision[n] = '\0';
    return n > 0 && strspn(revision, "0123456789abcdef") == n;
}

/* owner may be NULL. */
static const char *find_snapshot(struct arena *arena, const char *cache, const char *owner,
                                 const char *name) {
    char revision[80];
    const char *between = owner ? "--" : "";
    const char *folder =
        arena_text(arena, "%s/models--%s%s%s", cache, owner ? owner : "", between, name);
    const char *reference = folder ? arena_text(arena, "%s/refs/main", folder) : NULL;
    if (!reference || !read_reference(revision, reference))
        return NULL;
    const char *snapshot = arena_text(arena, "%s/snapshots/%s", folder, revision);
    return snapshot && is_there(snapshot) ? snapshot : NULL;
}

/* A name of the hub: letters, digits and "-_.", with at most one slash inside. */
static bool is_name(const char *text) {
    const char *slash = strchr(text, '/');
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./");
    return text[n] == '\0' && n > 0 && text[0] != '.' && text[0] != '/' &&
           (!slash || (slash[1] != '\0' && !strchr(slash + 1, '/')));
}

const char *hub_find(struct arena *arena, const char *name) {
    const char *cache = is_there(name) || !is_name(name) ? NULL : cache_folder(arena);
    const char *snapshot = NULL;
    if (is_there(name))
        return name;
    if (cache) {
        const char *slash = strchr(name, '/');
        const char *owner = slash ? arena_text(arena, "%.*s", (int)(slash - name), name) : NULL;
        const char *last = slash ? slash + 1 : name;
        snapshot = find_snapshot(arena, cache, owner, last);
        if (!snapshot && !slash)
            snapshot = find_snapshot(arena, cache, "sentence-transformers", last);
    }
    if (!snapshot)
        fail("%s: is no file or folder here%s%s", name,
             cache ? ", and no snapshot of that name lies in " : "", cache ? cache : "");
    return snapshot;
}
