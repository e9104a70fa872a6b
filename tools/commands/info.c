/* headwise info: what this build has and this machine uses. */
#include <sleef.h>
#include <stdio.h>
#include <stdlib.h>

#include "commands/commands.h"
#include "common/context.h"
#include "common/json.h"
#include "headwise/isa.h"

struct settings {
    bool json;
    const char *isa;
    struct option_integer threads;
};

static const struct option options[] = {
    {"json", 0, OPTION_FLAG, offsetof(struct settings, json), NULL, "print JSON"},
    CONTEXT_OPTIONS(struct settings),
};

#define WORD(number) #number
#define VERSION(major, minor, patch) WORD(major) "." WORD(minor) "." WORD(patch)
#define SLEEF VERSION(SLEEF_VERSION_MAJOR, SLEEF_VERSION_MINOR, SLEEF_VERSION_PATCHLEVEL)

static const enum headwise_isa tiers[] = {HEADWISE_ISA_SCALAR, HEADWISE_ISA_AVX2,
                                          HEADWISE_ISA_AVX512, HEADWISE_ISA_NEON};

static void add_tiers(struct json *json, const char *key, bool (*has)(enum headwise_isa isa)) {
    json_begin_array(json, key);
    for (size_t i = 0; i < sizeof tiers / sizeof *tiers; i++) {
        if (has(tiers[i]))
            json_text(json, NULL, headwise_isa_name(tiers[i]));
    }
    json_end_array(json);
}

static int print_json(const headwise_context *context) {
    struct json json = {.indent = 2};
    json_begin_object(&json, NULL);
    json_text(&json, "version", headwise_version());
    json_begin_object(&json, "tiers");
    add_tiers(&json, "built", headwise_isa_built);
    add_tiers(&json, "usable", headwise_isa_usable);
    json_text(&json, "best", headwise_isa_name(headwise_isa_best()));
    json_text(&json, "chosen", headwise_isa_name(headwise_context_describe(context)->isa));
    json_end_object(&json);
    json_integer(&json, "threads", headwise_context_describe(context)->n_threads);
    json_text(&json, "sleef", SLEEF);
    json_bool(&json, "openmp", HEADWISE_OPENMP);
    json_integer(&json, "key_block", HEADWISE_KEY_BLOCK);
    json_end_object(&json);
    int code = json_end(&json, "info");
    if (!code)
        printf("%.*s\n", (int)json.writer.size, json.writer.text);
    free(json.writer.text);
    return code;
}

static void print_tiers(const char *label, bool (*has)(enum headwise_isa isa)) {
    const char *blank = "";
    printf("%-10s", label);
    for (size_t i = 0; i < sizeof tiers / sizeof *tiers; i++) {
        if (!has(tiers[i]))
            continue;
        printf("%s%s", blank, headwise_isa_name(tiers[i]));
        blank = " ";
    }
    printf("\n");
}

static void print_text(const headwise_context *context) {
    printf("headwise  %s\n", headwise_version());
    print_tiers("built", headwise_isa_built);
    print_tiers("usable", headwise_isa_usable);
    printf("chosen    %s\n", headwise_isa_name(headwise_context_describe(context)->isa));
    printf("threads   %d\n", headwise_context_describe(context)->n_threads);
    printf("OpenMP    %s\n", HEADWISE_OPENMP ? "yes" : "no");
    printf("SLEEF     %s\n", SLEEF);
    printf("key block %d\n", HEADWISE_KEY_BLOCK);
}

static int run(const void *arguments) {
    const struct settings *settings = arguments;
    headwise_context *context = NULL;
    int code = context_open(&context, settings->isa, settings->threads);
    if (!code && settings->json)
        code = print_json(context);
    else if (!code)
        print_text(context);
    headwise_context_destroy(context);
    return code;
}

const struct command command_info = {
    .name = "info",
    .summary = "tiers built, usable and chosen, threads, SLEEF's version",
    .usage = "[--json]",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .run = run,
};
