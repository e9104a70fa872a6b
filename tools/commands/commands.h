/* The subcommands, a file each. */
#ifndef HEADWISE_TOOLS_COMMANDS_H
#define HEADWISE_TOOLS_COMMANDS_H

#include "common/options.h"

extern const struct command command_info;
extern const struct command command_attention;
extern const struct command command_layer;
extern const struct command command_inspect;
extern const struct command command_prune;
extern const struct command command_sweep;
extern const struct command command_tokens;
extern const struct command command_embed;
extern const struct command command_rerank;
extern const struct command command_classify;
extern const struct command command_forward;

#endif
