/* Reads how many processors a control group's quotas allow. Paths and lines are kept on the heap:
 * a caller may have no more than 16 KB of stack. */
#define _POSIX_C_SOURCE 200809L /* getline */
#include "context/quota.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two numbers of a quota file, or of two files: microseconds allowed per period. */
static int whole_processors(long long quota, long long period) {
    if (quota <= 0 || period <= 0)
        return 0;
    long long n = quota / period;
    return n < 1 ? 1 : n > INT_MAX ? INT_MAX : (int)n;
}

/* A group's folder, with room for the name of a file behind it. */
struct folder {
    char *path;
    size_t length;
};

enum { NAME_ROOM = 32 };

static FILE *open_file(const struct folder *folder, const char *name) {
    snprintf(folder->path + folder->length, NAME_ROOM, "/%s", name);
    FILE *file = fopen(folder->path, "re");
    folder->path[folder->length] = '\0';
    return file;
}

static bool read_number(long long *number, const struct folder *folder, const char *name) {
    FILE *file = open_file(folder, name);
    if (!file)
        return false;
    bool read = fscanf(file, "%lld", number) == 1;
    fclose(file);
    return read;
}

/* cpu.max holds "max 100000" or "quota period". */
static int limit_v2(const struct folder *folder) {
    FILE *file = open_file(folder, "cpu.max");
    if (!file)
        return 0;
    long long quota = 0, period = 0;
    int n = fscanf(file, "%lld %lld", &quota, &period);
    fclose(file);
    return n == 2 ? whole_processors(quota, period) : 0;
}

static int limit_v1(const struct folder *folder) {
    long long quota, period;
    if (!read_number(&quota, folder, "cpu.cfs_quota_us") ||
        !read_number(&period, folder, "cpu.cfs_period_us"))
        return 0;
    return whole_processors(quota, period);
}

/* The smallest limit from the group up to the mount point, which is root/mount. */
static int smallest_limit(const char *root, const char *mount, const char *group,
                          int (*limit)(const struct folder *folder)) {
    size_t room = strlen(root) + strlen(mount) + strlen(group) + NAME_ROOM + 2;
    struct folder folder = {.path = malloc(room)};
    int smallest = 0;
    if (!folder.path)
        return 0;
    size_t mount_length =
        (size_t)snprintf(folder.path, room, "%s%s%s", root, *mount ? "/" : "", mount);
    snprintf(folder.path + mount_length, room - mount_length, "%s", group);
    for (;;) {
        folder.length = strlen(folder.path);
        int n = limit(&folder);
        if (n > 0 && (smallest == 0 || n < smallest))
            smallest = n;
        char *slash = strrchr(folder.path + mount_length, '/');
        if (!slash)
            break;
        *slash = '\0';
    }
    free(folder.path);
    return smallest;
}

/* Whether the comma-separated list of controllers holds "cpu". */
static bool names_cpu(const char *controllers) {
    for (const char *word = controllers; word; word = strchr(word, ',')) {
        word += *word == ',';
        if (strncmp(word, "cpu", 3) == 0 && (word[3] == ',' || word[3] == '\0'))
            return true;
    }
    return false;
}

/* One line "id:controllers:group" of the membership file. */
static int line_limit(char *line, const char *root) {
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return 0;
    *controllers++ = '\0';
    *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    if (strcmp(group, "/") == 0)
        *group = '\0';
    if (*controllers == '\0')
        return smallest_limit(root, "", group, limit_v2);
    if (!names_cpu(controllers))
        return 0;
    int n = smallest_limit(root, controllers, group, limit_v1);
    return n > 0 ? n : smallest_limit(root, "cpu", group, limit_v1);
}

int headwise_quota_processors(const char *membership, const char *root) {
    FILE *file = fopen(membership, "re");
    if (!file)
        return 0;
    char *line = NULL;
    size_t room = 0;
    int smallest = 0;
    while (getline(&line, &room, file) >= 0) {
        int n = line_limit(line, root);
        if (n > 0 && (smallest == 0 || n < smallest))
            smallest = n;
    }
    free(line);
    fclose(file);
    return smallest;
}
