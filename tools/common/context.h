/* The library's context from the options --isa and --threads. */
#ifndef HEADWISE_TOOLS_CONTEXT_H
#define HEADWISE_TOOLS_CONTEXT_H

#include "common/options.h"
#include "headwise/context.h"

#define CONTEXT_OPTIONS(settings)                                                                  \
    {"isa",       0,                                                                               \
     OPTION_TEXT, offsetof(settings, isa),                                                         \
     "TIER",      "scalar, avx2, avx512 or neon; refused where not usable"},                       \
    {                                                                                              \
        "threads", 0, OPTION_INTEGER, offsetof(settings, threads), "N",                            \
            "threads, 1 to 1024; all that this process may use"                                    \
    }

/* isa NULL: the environment's choice, else the best. Returns an exit code. */
int context_open(headwise_context **context, const char *isa, struct option_integer threads);

/* Opens one for this tier. */
int context_open_tier(headwise_context **context, enum headwise_isa isa,
                      struct option_integer threads);

#endif
