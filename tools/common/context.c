/* Opens a context on a tier that is given by its name. */
#include "common/context.h"

#include "common/message.h"

int context_open_tier(headwise_context **context, enum headwise_isa isa,
                      struct option_integer threads) {
    if (threads.is_set && (threads.value < 1 || threads.value > 1024))
        return fail("option --threads is %lld, expected 1 to 1024", (long long)threads.value);
    struct headwise_context_options options = {
        .size = sizeof options, .isa = isa, .n_threads = (int)threads.value};
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
