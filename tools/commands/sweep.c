/* headwise sweep: throughput as the number of heads changes, on this machine. */
#include <stdio.h>
#include <string.h>

#include "calls/layer_options.h"
#include "calls/rank.h"
#include "commands/commands.h"
#include "common/files.h"
#include "common/lists.h"
#include "common/message.h"
#include "sweep/sweep.h"

struct settings {
    struct option_integer d_model, repeat;
    const char *heads, *seq, *threads, *weights, *layout, *prefix, *csv, *svg, *isa;
    bool causal;
};

#define OPTION(name, kind, argument, help)                                                         \
    { #name, 0, kind, offsetof(struct settings, name), argument, help }

static const struct option options[] = {
    OPTION(d_model, OPTION_INTEGER, "N", "width of the layer; 512"),
    OPTION(heads, OPTION_TEXT, "1,2,...", "head counts, increasing; 1,2,4,8,16,32"),
    OPTION(seq, OPTION_TEXT, "128,...", "lengths in tokens; 128,512, or the rows of the file's X"),
    OPTION(threads, OPTION_TEXT, "1,2,...", "numbers of threads; all that this process may use"),
    OPTION(causal, OPTION_FLAG, NULL, "each token sees those before it and itself"),
    OPTION(weights, OPTION_TEXT, "W.safetensors",
           "W_Q W_K W_V W_O [b_Q b_K b_V b_O] [X] in the place of random ones"),
    OPTION(layout, OPTION_TEXT, "in_out|out_in", "of the weights: y = x W (default) or W x"),
    OPTION(prefix, OPTION_TEXT, "TEXT", "in front of the weights' names (\"h2.\": h2.W_Q)"),
    OPTION(repeat, OPTION_INTEGER, "N", "timed runs of each row; as many as 0.15 s allow"),
    OPTION(svg, OPTION_TEXT, "OUT.svg", "write a plot"),
    OPTION(csv, OPTION_TEXT, "OUT.csv", "write all numbers"),
    OPTION(isa, OPTION_TEXT, "TIER", "scalar, avx2, avx512 or neon; refused where not usable"),
};

static const char details[] =
    "The same four matrices are read as 1, 2, 4 ... heads: parameters and multiplications stay,\n"
    "exponentials grow with the heads. Every row is the median of many forward runs; the head "
    "counts\n"
    "of a length take turns, so that a drift of the machine meets all of them. Shares of the time "
    "come\n"
    "from a second series of runs with timed kernels, exponentials are counted there, one for "
    "each\n"
    "score.\n"
    "\n"
    "With --weights the outputs are compared too: how far y moves from that of the first head "
    "count,\n"
    "and the numerical rank of a head's output (LAPACK; singular values above max(m, n) * 2^-23 "
    "of\n"
    "the greatest). W_K is then as wide as W_Q.\n";

/* Increasing integers low ... high; text NULL: the list stays. */
static int read_list(struct sweep_list *list, const char *text, const char *name, int64_t high) {
    char source[32];
    snprintf(source, sizeof source, "option --%s", name);
    return text ? list_read_integers(list->values, &list->n, SWEEP_MOST, text, source, high)
                : EXIT_GOOD;
}

static int check_heads(const struct sweep *sweep) {
    for (int i = 0; i < sweep->heads.n; i++) {
        int64_t h = sweep->heads.values[i];
        if (sweep->inner_width % h != 0)
            return fail("option --heads: width %lld is not divisible by %lld heads",
                        (long long)sweep->inner_width, (long long)h);
        if (sweep->value_width % h != 0)
            return fail("option --heads: the width %lld of W_V is not divisible by %lld heads",
                        (long long)sweep->value_width, (long long)h);
    }
    return EXIT_GOOD;
}

/* 1, 2, 4 ... 32, as far as they divide the widths. */
static void choose_heads(struct sweep *sweep) {
    for (int64_t h = 1; h <= 32; h *= 2)
        if (sweep->inner_width % h == 0 && sweep->value_width % h == 0)
            sweep->heads.values[sweep->heads.n++] = h;
}

static int check_files(const struct settings *s) {
    const struct file_option written[] = {{"--csv", s->csv}, {"--svg", s->svg}};
    const struct file_option read[] = {{"--weights", s->weights}};
    return files_check(written, 2, read, 1);
}

static int read_settings(struct sweep *sweep, struct arena *arena, const struct settings *s) {
    const struct sweep_source source = {s->weights, s->layout, s->prefix, s->d_model.value};
    int code = option_check_range("d-model", s->d_model, 1, 65536);
    if (!code)
        code = option_check_range("repeat", s->repeat, 1, 100000);
    if (!code)
        code = check_files(s);
    if (!code && !s->weights && (s->layout || s->prefix))
        code = fail("option --%s is given without --weights", s->layout ? "layout" : "prefix");
    if (!code && s->weights && !rank_is_available())
        code = fail("option --weights: %s", rank_failure_text(RANK_NO_LAPACK));
    if (!code)
        code = read_list(&sweep->heads, s->heads, "heads", 65536);
    if (!code)
        code = read_list(&sweep->lengths, s->seq, "seq", 1 << 20);
    if (!code)
        code = read_list(&sweep->threads, s->threads, "threads", 1024);
    if (!code)
        code = sweep_read(sweep, arena, &source);
    if (code)
        return code;
    if (!s->heads)
        choose_heads(sweep);
    if (!s->threads)
        sweep->threads = (struct sweep_list){1, {headwise_default_threads()}};
    return check_heads(sweep);
}

static int run(const void *arguments) {
    const struct settings *s = arguments;
    struct arena arena = {NULL};
    struct sweep sweep = {.causal = s->causal,
                          .n_repeats = s->repeat.value,
                          .compares = s->weights != NULL,
                          .isa = s->isa};
    int code = read_settings(&sweep, &arena, s);
    if (!code)
        code = sweep_measure(&sweep, &arena);
    if (!code)
        sweep_print(&sweep);
    if (!code && s->csv)
        code = sweep_write_csv(s->csv, &sweep);
    if (!code && s->svg)
        code = sweep_write_svg(s->svg, &sweep);
    headwise_safetensors_close(sweep.file);
    arena_free(&arena);
    return code;
}

const struct command command_sweep = {
    .name = "sweep",
    .summary = "measure a layer's speed as its number of heads changes",
    .usage = "[--d-model N] [--heads 1,2,4] [--seq 128,512] [--threads 1,2] [--causal]\n"
             "                      [--weights W.safetensors] [--svg OUT.svg] [--csv OUT.csv]",
    .details = details,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .run = run,
};
