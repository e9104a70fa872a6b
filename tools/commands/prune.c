/* headwise prune: a model or a layer without some of its heads. */
#include <stdio.h>
#include <string.h>

#include "calls/prune_layer.h"
#include "commands/commands.h"
#include "common/files.h"
#include "common/message.h"
#include "common/numbers.h"
#include "headwise/heads.h"
#include "inspect/collect.h"

struct settings {
    struct layer_settings layer; /* first: LAYER_OPTIONS */
    const char *drop, *merge, *output;
    struct option_integer keep;
    struct option_real most_change;
};

#define OPTION(name, letter, kind, argument, help)                                                 \
    { #name, letter, kind, offsetof(struct settings, name), argument, help }

static const struct option options[] = {
    OPTION(drop, 0, OPTION_TEXT, "1,3,...", "drop these heads"),
    OPTION(keep, 0, OPTION_INTEGER, "N", "drop heads in the proposed order until N are left"),
    OPTION(most_change, 0, OPTION_REAL, "X",
           "... as long as y changes by at most X of its norm: 0.1"),
    OPTION(merge, 0, OPTION_TEXT, "3:0,...", "with --drop: head 0 takes over the output of head 3"),
    OPTION(output, 'o', OPTION_TEXT, "OUT", "a new folder (--model) or a file (--weights)"),
    LAYER_OPTIONS,
};

static const char details[] =
    "With --model the whole model is copied to a new folder OUT: model.safetensors, with the "
    "layer's\n"
    "q, k, v and o without the heads, and config.json, both with pruned_heads: {\"2\": [1, 3]}, as "
    "BERT\n"
    "models of the transformers library have it. headwise reads that for every family. With "
    "--weights\n"
    "OUT is a file of W_Q W_K W_V W_O. A kv head goes when its last head goes. What stays keeps "
    "its\n"
    "bits, and the pruned layer's y has those of the layer with gates of 0.\n"
    "\n"
    "--input tells what the heads are worth on it: it is needed by --keep and --most-change, "
    "which\n"
    "take the heads whose loss changes y least (see headwise inspect), and by --weights; the "
    "change\n"
    "of y is printed.\n";

/* The command while it runs. */
struct run {
    const struct settings *settings;
    struct arena arena;
    struct layer_opened opened;
    struct findings findings; /* where there is an input */
    int64_t *heads, *merge_into;
    int64_t n;
};

static int check_files(const struct settings *s) {
    const struct file_option written = {"--output", s->output};
    struct file_option read[LAYER_FILES];
    layer_files(read, &s->layer);
    return s->layer.model ? files_check_folder(&written)
                          : files_check(&written, 1, read, LAYER_FILES);
}

static int check_settings(const struct settings *s) {
    int n_ways = (s->drop != NULL) + s->keep.is_set + s->most_change.is_set;
    if (!s->output)
        return fail("prune: option --output is missing; see headwise help prune");
    if (n_ways != 1)
        return fail("prune: %s, expected one of --drop, --keep and --most-change",
                    n_ways ? "more than one choice of heads is given" : "no heads are named");
    if (s->merge && !s->drop)
        return fail("prune: option --merge is given without --drop");
    if (s->most_change.is_set && s->most_change.value < 0)
        return fail("option --most-change is %g, expected 0 or more", s->most_change.value);
    if (s->layer.model && !s->layer.input && !s->drop)
        return fail("prune: option --input is missing: it tells which heads may go");
    int code = option_check_range("keep", s->keep, 1, INT32_MAX);
    return code ? code : check_files(s);
}

static int read_drop(struct run *run) {
    const char *text = run->settings->drop;
    int64_t n = 1;
    for (const char *c = text; *c; c++)
        n += *c == ',';
    run->heads = arena_take(&run->arena, n, sizeof *run->heads);
    if (!run->heads)
        return EXIT_UNUSABLE;
    for (int64_t i = 0; i < n; i++) {
        const char *end;
        if (!integer_read(&run->heads[i], text, &end) || *end != (i + 1 < n ? ',' : '\0') ||
            run->heads[i] < 0)
            return fail(
                "option --drop is \"%s\", expected numbers of heads with commas between them",
                run->settings->drop);
        text = end + 1;
    }
    run->n = n;
    return EXIT_GOOD;
}

/* "3:0,5:1": each dropped head at most once. */
static int read_merge(struct run *run) {
    const char *text = run->settings->merge;
    if (!text)
        return EXIT_GOOD;
    run->merge_into = arena_take(&run->arena, run->n, sizeof *run->merge_into);
    if (!run->merge_into)
        return EXIT_UNUSABLE;
    for (int64_t i = 0; i < run->n; i++)
        run->merge_into[i] = -1;
    for (bool is_last = false; !is_last;) {
        const char *end;
        int64_t from, into = -1;
        bool good = integer_read(&from, text, &end) && *end == ':' &&
                    integer_read(&into, end + 1, &end) && (*end == ',' || !*end) && into >= 0;
        int64_t i = 0;
        while (good && i < run->n && run->heads[i] != from)
            i++;
        if (!good || i == run->n || run->merge_into[i] >= 0)
            return fail("option --merge is \"%s\", expected pairs of a dropped head and one that "
                        "stays: \"3:0,5:1\"",
                        run->settings->merge);
        run->merge_into[i] = into;
        is_last = !*end;
        text = end + 1;
    }
    return EXIT_GOOD;
}

/* The beginning of the proposed order. */
static int choose_heads(struct run *run) {
    const struct settings *s = run->settings;
    const struct findings *f = &run->findings;
    if (!f->has_order)
        return fail("%s: the output is not finite: no head can be weighed", s->layer.input);
    if (s->keep.is_set && s->keep.value > f->n_heads)
        return fail("option --keep is %lld, expected 1 to %lld", (long long)s->keep.value,
                    (long long)f->n_heads);
    run->n = s->keep.is_set ? f->n_heads - s->keep.value : 0;
    while (s->most_change.is_set && run->n < f->n_heads - 1 &&
           f->order_change[run->n] <= s->most_change.value)
        run->n++;
    run->heads = arena_take(&run->arena, run->n, sizeof *run->heads);
    for (int64_t i = 0; run->heads && i < run->n; i++)
        run->heads[i] = f->heads[f->order[i]].number;
    return run->heads ? EXIT_GOOD : EXIT_UNUSABLE;
}

/* How much y changes, which is exact without merges. */
static int print_change(struct run *run) {
    const struct findings *f = &run->findings;
    int64_t *places = arena_take(&run->arena, run->n, sizeof *places), n = 0;
    if (!places)
        return EXIT_UNUSABLE;
    for (int64_t i = 0; i < run->n; i++) {
        for (int64_t h = 0; h < f->n_heads; h++) {
            if (f->heads[h].number == run->heads[i])
                places[n++] = h;
        }
    }
    printf("dropped");
    for (int64_t i = 0; i < run->n; i++)
        printf("%s %lld", i ? "," : "", (long long)run->heads[i]);
    printf("%s of %lld heads", run->n ? "" : " none", (long long)f->n_heads);
    if (!run->merge_into && f->output_norm > 0)
        printf("; y changes by %.1f%%",
               100 * headwise_gram_change(f->gram, f->n_heads, places, n) / f->output_norm);
    printf("\n");
    return EXIT_GOOD;
}

static int write_checkpoint(const struct run *run, const struct headwise_prune_options *prune) {
    const struct layer_settings *s = &run->settings->layer;
    const struct checkpoint_request request = layer_checkpoint_request(s);
    headwise_checkpoint *checkpoint = NULL;
    int code = layer_checkpoint_open(&checkpoint, &request);
    if (!code && headwise_checkpoint_write_pruned(checkpoint, run->settings->output, s->part,
                                                  s->layer.value, prune) != HEADWISE_OK)
        code = fail("%s", headwise_io_last_error());
    headwise_checkpoint_close(checkpoint);
    return code;
}

static int prepare(struct run *run) {
    const struct settings *s = run->settings;
    const char *path = s->layer.model ? s->layer.model : s->layer.weights;
    int code = check_settings(s);
    if (!code && (s->layer.input || !s->layer.model))
        code = layer_open(&run->opened, &run->arena, &s->layer, "prune");
    if (!code && s->layer.input)
        code = findings_weigh(&run->findings, &run->arena, &run->opened, path);
    if (!code)
        code = s->drop ? read_drop(run) : choose_heads(run);
    return code ? code : read_merge(run);
}

static int run_prune(const void *arguments) {
    const struct settings *s = arguments;
    struct run run = {.settings = s};
    int code = prepare(&run);
    const struct headwise_prune_options prune = {
        .size = sizeof prune, .heads = run.heads, .n_heads = run.n, .merge_into = run.merge_into};
    if (!code && s->layer.model)
        code = write_checkpoint(&run, &prune);
    else if (!code)
        code = prune_layer_write(s->output, &run.arena, &run.opened, s->layer.weights, &prune);
    if (!code && s->layer.input)
        code = print_change(&run);
    layer_close(&run.opened);
    arena_free(&run.arena);
    return code;
}

const struct command command_prune = {
    .name = "prune",
    .summary = "write a model or a layer without some of its heads",
    .usage =
        "--model DIR --layer N --drop 1,3 -o FOLDER [OPTIONS]\n"
        "       headwise prune --model DIR --layer N --input X.safetensors --keep 4 -o FOLDER\n"
        "       headwise prune --weights W.safetensors --input X.safetensors --drop 1 -o OUT",
    .details = details,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .run = run_prune,
};
