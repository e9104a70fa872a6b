/* headwise inspect for whole models: its options, and what runs. */
#ifndef HEADWISE_TOOLS_INSPECT_MODEL_H
#define HEADWISE_TOOLS_INSPECT_MODEL_H

#include "calls/encoder_options.h"

struct inspect_model {
    const char *folder;
    struct option_texts texts;
    const char *pair, *ids, *output, *maps, *head;
    bool no_change;
    /* Set by the command from options that layers have too. */
    struct encoder_settings encoder;
    const char *html, *json;
    struct option_integer cells;
    bool quiet;
};

#define INSPECT_MODEL_OPTION(settings, member, name, kind, argument, help)                         \
    { #name, 0, kind, offsetof(settings, member.name), argument, help }

/* For a table of settings that have a member of that type. */
enum { INSPECT_MODEL_COUNT = 6 };
#define INSPECT_MODEL_OPTIONS(settings, member)                                                    \
    {"output",    'o',                                                                             \
     OPTION_TEXT, offsetof(settings, member.output),                                               \
     "PAGE.html", "of a model: write a page of all heads"},                                        \
        INSPECT_MODEL_OPTION(settings, member, pair, OPTION_TEXT, "TEXT",                          \
                             "of a model: the second text"),                                       \
        INSPECT_MODEL_OPTION(settings, member, ids, OPTION_TEXT, "101,7592,102",                   \
                             "of a model: token ids in place of a text"),                          \
        INSPECT_MODEL_OPTION(settings, member, maps, OPTION_TEXT, "OUT.safetensors",               \
                             "of a model: write whole maps"),                                      \
        INSPECT_MODEL_OPTION(settings, member, head, OPTION_TEXT, "L.H",                           \
                             "of a model: show this head first, its map whole"),                   \
        INSPECT_MODEL_OPTION(settings, member, no_change, OPTION_FLAG, NULL,                       \
                             "of a model: skip what the result loses")

#define INSPECT_MODEL_DETAILS                                                                      \
    "Of a whole model: DIR is an encoder's folder, as for headwise embed. The first text is "      \
    "looked\n"                                                                                     \
    "at; with several, or the lines of --input, heads are scored for known kinds over all of\n"    \
    "them. The table has a row for each head: entropy, mean distance, weight on itself, the\n"     \
    "previous, next and first token and on separators, the norm of what it writes beside that\n"   \
    "of the states, the relative change of the vector or logits without it, and its twin.\n"       \
    "\n"                                                                                           \
    "Of a layer:\n"

/* Returns an exit code. */
int inspect_model_run(const struct inspect_model *model);

#endif
