/* Commands that need headwise-model, where it was not built: say so. */
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

const struct command command_tokens = {
    .name = "tokens",
    .summary = "token ids of texts (not in this build)",
    .usage = "DIR [TEXT...]",
    .operand = "folder",
    .operand_offset = offsetof(struct settings, folder),
    .more = "text",
    .more_offset = offsetof(struct settings, texts),
    .settings_size = sizeof(struct settings),
    .run = run_missing,
};

const struct command command_forward = {
    .name = "forward",
    .summary = "run a whole network (not in this build)",
    .usage = "DIR",
    .operand = "folder",
    .operand_offset = offsetof(struct settings, folder),
    .settings_size = sizeof(struct settings),
    .run = run_missing,
};
