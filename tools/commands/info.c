/* headwise info: what this build has and this machine uses. */
#include <jansson.h>
#include <sleef.h>
#include <stdio.h>
#include <stdlib.h>

#include "commands/commands.h"
#include "common/context.h"
#include "common/message.h"
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

static const enum headwise_isa tiers[] = {HEADWISE_ISA_SCALAR, HEADWISE_ISA_AVX2,
                                          HEADWISE_ISA_AVX512, HEADWISE_ISA_NEON};

static json_t *list_tiers(bool (*has)(enum headwise_isa isa)) {
    json_t *list = json_array();
    for (size_t i = 0; i < sizeof tiers / sizeof *tiers; i++) {
        if (has(tiers[i]))
            json_array_append_new(list, json_string(headwise_isa_name(tiers[i])));
    }
    return list;
}

static json_t *collect(const headwise_context *context) {
    char sleef[32];
    snprintf(sleef, sizeof sleef, "%d.%d.%d", SLEEF_VERSION_MAJOR, SLEEF_VERSION_MINOR,
             SLEEF_VERSION_PATCHLEVEL);
    return json_pack("{s:s, s:{s:o, s:o, s:s, s:s}, s:i, s:s, s:b, s:i}", "version",
                     headwise_version(), "tiers", "built", list_tiers(headwise_isa_built), "usable",
                     list_tiers(headwise_isa_usable), "best",
                     headwise_isa_name(headwise_isa_best()), "chosen",
                     headwise_isa_name(headwise_context_describe(context)->isa), "threads",
                     headwise_context_describe(context)->n_threads, "sleef", sleef, "openmp",
                     HEADWISE_OPENMP, "key_block", HEADWISE_KEY_BLOCK);
}

static void print_list(const char *label, const json_t *list) {
    size_t i;
    json_t *name;
    printf("%-10s", label);
    json_array_foreach(list, i, name) printf("%s%s", i ? " " : "", json_string_value(name));
    printf("\n");
}

static void print_text(const json_t *info) {
    const json_t *about_tiers = json_object_get(info, "tiers");
    printf("headwise  %s\n", json_string_value(json_object_get(info, "version")));
    print_list("built", json_object_get(about_tiers, "built"));
    print_list("usable", json_object_get(about_tiers, "usable"));
    printf("chosen    %s\n", json_string_value(json_object_get(about_tiers, "chosen")));
    printf("threads   %d\n", (int)json_integer_value(json_object_get(info, "threads")));
    printf("OpenMP    %s\n", json_is_true(json_object_get(info, "openmp")) ? "yes" : "no");
    printf("SLEEF     %s\n", json_string_value(json_object_get(info, "sleef")));
    printf("key block %d\n", (int)json_integer_value(json_object_get(info, "key_block")));
}

static int run(const void *arguments) {
    const struct settings *settings = arguments;
    headwise_context *context = NULL;
    int code = context_open(&context, settings->isa, settings->threads);
    if (code)
        return code;
    json_t *info = collect(context);
    char *text = info ? json_dumps(info, JSON_INDENT(2)) : NULL;
    if (!text)
        code = fail("out of memory");
    else if (settings->json)
        printf("%s\n", text);
    else
        print_text(info);
    free(text);
    json_decref(info);
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
