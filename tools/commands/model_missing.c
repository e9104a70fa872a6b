/* The commands of whole models where headwise-model was not built: they say so. */
#include "commands/commands.h"
#include "common/message.h"

struct settings {
    const char *folder;
    struct option_texts texts;
};

static int run_missing(const void *settings) {
    (void)settings;
    return fail("this headwise was built without headwise-model, which needs libutf8proc and "
                "libpcre2");
}

#define MISSING(which)                                                                             \
    const struct command command_##which = {                                                       \
        .name = #which,                                                                            \
        .summary = "not in this build",                                                            \
        .usage = "DIR [TEXT...]",                                                                  \
        .operand = "folder",                                                                       \
        .operand_offset = offsetof(struct settings, folder),                                       \
        .more = "text",                                                                            \
        .more_offset = offsetof(struct settings, texts),                                           \
        .settings_size = sizeof(struct settings),                                                  \
        .run = run_missing,                                                                        \
    }

MISSING(tokens);
MISSING(embed);
MISSING(rerank);
MISSING(classify);
MISSING(forward);
