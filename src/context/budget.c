/* How many threads a call may use where nobody says it: by affinity, quota and environment. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "context/budget.h"

#include <sched.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/error.h"
#include "context/quota.h"

static int affinity_processors(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set);
    /* More processors than cpu_set_t holds. */
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online < 1 ? 1 : (int)online;
}

static void lower(int *n, int limit) {
    if (limit > 0 && limit < *n)
        *n = limit;
}

/* Lowers *n to what the variable says; false where it says something else than a number. */
static bool lower_to_variable(int *n, const char *name, bool list) {
    const char *text = headwise_environment(name);
    int limit = 0;
    if (text && !headwise_read_count(&limit, text, HEADWISE_MOST_THREADS, list))
        return false;
    lower(n, limit);
    return true;
}

/* OMP_NUM_THREADS may be a list, of which the first number counts; it is OpenMP's own, which
 * ignores what it does not understand, as is done here. */
static bool count_threads(int *n) {
    *n = affinity_processors();
    lower(n, headwise_quota_processors("/proc/self/cgroup", "/sys/fs/cgroup"));
    lower(n, HEADWISE_MOST_THREADS);
    (void)lower_to_variable(n, "OMP_NUM_THREADS", true);
    bool understood = lower_to_variable(n, "HEADWISE_NUM_THREADS", false);
    if (*n < 1)
        *n = 1;
    return understood;
}

int headwise_default_threads(void) {
    int n;
    (void)count_threads(&n);
    return n;
}

enum headwise_status headwise_thread_budget(int *n, const char *name) {
    if (count_threads(n))
        return HEADWISE_OK;
    return headwise_fail(HEADWISE_ERR_INVALID,
                         "%s: HEADWISE_NUM_THREADS is \"%.40s\", expected a number from 1 to %d",
                         name, headwise_environment("HEADWISE_NUM_THREADS"), HEADWISE_MOST_THREADS);
}
