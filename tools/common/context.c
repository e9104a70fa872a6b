/* Opens a context on a tier that is given by its name. */
#include "common/context.h"

#include <stdlib.h>
#include <string.h>

#include "common/message.h"
#include "headwise/pool.h"

/* The pools of all contexts, until the program ends. */
static headwise_pool **pools;
static size_t n_pools;

static void destroy_pools(void) {
    for (size_t i = 0; i < n_pools; i++)
        headwise_pool_destroy(pools[i]);
    free(pools);
}

/* HEADWISE_POOL=1 in the environment: a pool of n_threads, else NULL. */
static int choose_pool(headwise_pool **pool, int n_threads) {
    const char *wanted = getenv("HEADWISE_POOL");
    const struct headwise_pool_options options = {.size = sizeof options, .n_threads = n_threads};
    *pool = NULL;
    if (!wanted || !*wanted || strcmp(wanted, "0") == 0)
        return EXIT_GOOD;
    if (strcmp(wanted, "1") != 0)
        return fail("HEADWISE_POOL is \"%.40s\", expected 0 or 1", wanted);
    headwise_pool **more = realloc(pools, (n_pools + 1) * sizeof(*pools));
    if (!more)
        return fail("out of memory");
    pools = more;
    if (headwise_pool_create(pool, &options) != HEADWISE_OK)
        return fail("%s", headwise_last_error());
    if (n_pools == 0)
        atexit(destroy_pools);
    pools[n_pools++] = *pool;
    return EXIT_GOOD;
}

int context_open_tier(headwise_context **context, enum headwise_isa isa,
                      struct option_integer threads) {
    if (threads.is_set && (threads.value < 1 || threads.value > 1024))
        return fail("option --threads is %lld, expected 1 to 1024", (long long)threads.value);
    struct headwise_context_options options = {
        .size = sizeof options, .isa = isa, .n_threads = (int)threads.value};
    int code = choose_pool(&options.pool, options.n_threads);
    if (code != EXIT_GOOD)
        return code;
    if (headwise_context_create(context, &options) != HEADWISE_OK)
        return fail("%s", headwise_last_error());
    return EXIT_GOOD;
}

int context_open(headwise_context **context, const char *isa, struct option_integer threads) {
    enum headwise_isa tier = HEADWISE_ISA_AUTO;
    if (isa && headwise_isa_from_name(&tier, isa) != HEADWISE_OK)
        return fail("option --isa is \"%s\", expected scalar, avx2, avx512, neon or auto", isa);
    return context_open_tier(context, tier, threads);
}
