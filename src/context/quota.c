#include "context/quota.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Two numbers of a quota file, or of two files: microseconds allowed per period. */
static int whole_processors(long long quota, long long period) {
    if (quota <= 0 || period <= 0)
        return 0;
    long long n = quota / period;
    return n < 1 ? 1 : n > INT_MAX ? INT_MAX : (int)n;
}

static bool read_number(long long *number, const char *folder, const char *name) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return false;
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool read = fscanf(file, "%lld", number) == 1;
    fclose(file);
    return read;
}

/* cpu.max holds "max 100000" or "quota period". */
static int limit_v2(const char *folder) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/cpu.max", folder) >= (int)sizeof path)
        return 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    long long quota = 0, period = 0;
    int n = fscanf(file, "%lld %lld", &quota, &period);
    fclose(file);
    return n == 2 ? whole_processors(quota, period) : 0;
}

static int limit_v1(const char *folder) {
    long long quota, period;
    if (!read_number(&quota, folder, "cpu.cfs_quota_us") ||
        !read_number(&period, folder, "cpu.cfs_period_us"))
        return 0;
    return whole_processors(quota, period);
}

/* The smallest limit from the group up to the mount point. */
static int smallest_limit(const char *mount, const char *group, int (*limit)(const char *folder)) {
    char folder[PATH_MAX];
    if (snprintf(folder, sizeof folder, "%s%s", mount, group) >= (int)sizeof folder)
        return 0;
    size_t mount_length = strlen(mount);
    int smallest = 0;
    for (;;) {
        int n = limit(folder);
        if (n > 0 && (smallest == 0 || n < smallest))
            smallest = n;
        char *slash = strrchr(folder + mount_length, '/');
        if (!slash)
            return smallest;
        *slash = '\0';
    }
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
        return smallest_limit(root, group, limit_v2);
    if (!names_cpu(controllers))
        return 0;
    char mount[PATH_MAX];
    if (snprintf(mount, sizeof mount, "%s/%s", root, controllers) >= (int)sizeof mount)
        return 0;
    int n = smallest_limit(mount, group, limit_v1);
    if (n > 0 || snprintf(mount, sizeof mount, "%s/cpu", root) >= (int)sizeof mount)
        return n;
    return smallest_limit(mount, group, limit_v1);
}

int headwise_quota_processors(const char *membership, const char *root) {
    FILE *file = fopen(membership, "re");
    if (!file)
        return 0;
    char line[PATH_MAX];
    int smallest = 0;
    while (fgets(line, sizeof line, file)) {
        int n = line_limit(line, root);
        if (n > 0 && (smallest == 0 || n < smallest))
            smallest = n;
    }
    fclose(file);
    return smallest;
}
