/* Times whole networks on token ids: a folder of the hub, some types of weights, some batches. */
#define _GNU_SOURCE /* getopt_long */
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "headwise-model/transformer.h"
#include "headwise/headwise.h"
#include "measure/clock.h"

static const char usage[] =
    "usage: bench_encoder FOLDER [--threads N,N] [--packed TYPE,TYPE] [--work WORK,WORK]\n"
    "                     [--seconds S] [--pass TOKENS]\n"
    "  --threads N     of OpenMP's team (1,2)\n"
    "  --packed TYPE   stored, f32, f16, bf16, i8, dynamic, dynamic128 (f32,dynamic)\n"
    "  --work WORK     SEQUENCESxTOKENS, or mix: 64 sequences of 8 to 234 tokens, 4337 in all\n"
    "                  (1x16,1x128,32x128,mix)\n"
    "  --seconds S     of each case; the least time of a call counts (1)\n"
    "  --pass TOKENS   that run together (the library's default)\n";

/* Drawn once, even in the logarithm: what a service gets. */
static const int16_t mix[] = {11, 18,  129, 60, 11,  36, 42,  14,  102, 12,  31,  48,  36,
                              61, 103, 220, 21, 76,  89, 22,  8,   234, 23,  24,  176, 61,
                              41, 117, 9,   93, 29,  11, 79,  202, 16,  71,  22,  105, 98,
                              17, 142, 78,  85, 137, 35, 111, 168, 11,  152, 31,  42,  13,
                              90, 22,  164, 21, 56,  32, 67,  16,  15,  106, 108, 57};
enum { MIX = sizeof mix / sizeof mix[0] };

struct settings {
    const char *folder;
    char *threads, *packed, *work;
    double seconds;
    int64_t pass_tokens;
};

struct work {
    headwise_context *context;
    headwise_transformer *network;
    struct headwise_transformer_call call;
    int32_t *starts, *ids;
    float *rows;
};

static void die(const char *line) {
    fprintf(stderr, "bench_encoder: %s\n", line);
    exit(1);
}

static void *take(int64_t n, size_t size) {
    void *memory = calloc((size_t)n, size);
    if (memory == NULL)
        die("no memory");
    return memory;
}

static long resident_kb(const char *field) {
    char line[200];
    long kb = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, field, strlen(field)) == 0)
            kb = strtol(line + strlen(field) + 1, NULL, 10);
    }
    if (file)
        fclose(file);
    return kb;
}

static enum headwise_checkpoint_weights packed_type(const char *name) {
    static const char *const names[] = {[HEADWISE_CHECKPOINT_WEIGHTS_STORED] = "stored",
                                        [HEADWISE_CHECKPOINT_WEIGHTS_F32] = "f32",
                                        [HEADWISE_CHECKPOINT_WEIGHTS_F16] = "f16",
                                        [HEADWISE_CHECKPOINT_WEIGHTS_BF16] = "bf16",
                                        [HEADWISE_CHECKPOINT_WEIGHTS_I8] = "i8",
                                        [HEADWISE_CHECKPOINT_WEIGHTS_DYNAMIC] = "dynamic",
                                        [HEADWISE_CHECKPOINT_WEIGHTS_DYNAMIC_128] = "dynamic128"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i] && strcmp(names[i], name) == 0)
            return (enum headwise_checkpoint_weights)i;
    }
    fputs(usage, stderr);
    exit(2);
}

static void open_work(struct work *work, const struct settings *s, const char *packed,
                      int n_threads) {
    const struct headwise_context_options options = {.size = sizeof options,
                                                     .n_threads = n_threads};
    const struct headwise_transformer_options how = {.size = sizeof how,
                                                     .weights_is_set = true,
                                                     .weights = packed_type(packed),
                                                     .without_head = true};
    if (headwise_context_create(&work->context, &options) != HEADWISE_OK)
        die(headwise_last_error());
    double begin_s = seconds_now();
    if (headwise_transformer_open(&work->network, work->context, s->folder, &how) != HEADWISE_OK)
        die(headwise_model_last_error());
    const struct headwise_transformer_info *info = headwise_transformer_describe(work->network);
    if (info->n_ids == 0)
        die("this network reads no text");
    printf("# %s, tier %s, %d threads: opened in %.0f ms, weights %.1f MB, resident %.1f MB\n",
           packed, headwise_isa_name(headwise_context_describe(work->context)->isa), n_threads,
           1e3 * (seconds_now() - begin_s), 1e-6 * (double)info->weight_bytes,
           1e-3 * (double)resident_kb("VmRSS:"));
}

/* Sequences of drawn ids: "32x128" or "mix". */
static void make_batch(struct work *work, const char *name) {
    const struct headwise_transformer_info *info = headwise_transformer_describe(work->network);
    long n = MIX, tokens = 0;
    if (strcmp(name, "mix") != 0 && sscanf(name, "%ldx%ld", &n, &tokens) != 2) {
        fputs(usage, stderr);
        exit(2);
    }
    work->starts = take(n + 1, sizeof *work->starts);
    for (long i = 0; i < n; i++)
        work->starts[i + 1] = work->starts[i] + (int32_t)(tokens > 0 ? tokens : mix[i]);
    int64_t n_rows = work->starts[n];
    work->ids = take(n_rows, sizeof *work->ids);
    work->rows = take(n_rows * info->d_model, sizeof *work->rows);
    uint32_t state = 1;
    for (int64_t i = 0; i < n_rows; i++) {
        state = state * 1664525u + 1013904223u;
        work->ids[i] = (int32_t)((state >> 8) % (uint32_t)info->n_ids);
    }
    work->call.n_sequences = n;
    work->call.starts = work->starts;
    work->call.ids = work->ids;
    work->call.last_hidden = work->rows;
}

static void time_batch(struct work *work, const struct settings *s, const char *packed,
                       int n_threads, const char *name) {
    make_batch(work, name);
    double best_s = 0, end_s = seconds_now() + s->seconds;
    for (int i = 0; i < 4 || seconds_now() < end_s; i++) {
        double begin_s = seconds_now();
        if (headwise_transformer_forward(work->context, work->network, &work->call) != HEADWISE_OK)
            die(headwise_model_last_error());
        double taken_s = seconds_now() - begin_s;
        best_s = i == 0 || taken_s < best_s ? taken_s : best_s;
    }
    printf("%-8s t%d %-8s %9.2f ms  %8.1f/s  peak %.1f MB\n", packed, n_threads, name, 1e3 * best_s,
           (double)work->call.n_sequences / best_s, 1e-3 * (double)resident_kb("VmHWM:"));
    fflush(stdout);
    free(work->starts);
    free(work->ids);
    free(work->rows);
}

static void run_cases(const struct settings *s, const char *packed, int n_threads) {
    struct work work = {.call = {.size = sizeof work.call, .max_pass_tokens = s->pass_tokens}};
    char *list = strdup(s->work), *rest = list;
    open_work(&work, s, packed, n_threads);
    for (const char *name; (name = strsep(&rest, ",")) != NULL;)
        time_batch(&work, s, packed, n_threads, name);
    free(list);
    headwise_transformer_destroy(work.network);
    headwise_context_destroy(work.context);
}

static struct settings read_settings(int argc, char **argv) {
    static const struct option options[] = {
        {"threads", required_argument, NULL, 't'}, {"packed", required_argument, NULL, 'p'},
        {"work", required_argument, NULL, 'w'},    {"seconds", required_argument, NULL, 's'},
        {"pass", required_argument, NULL, 'n'},    {NULL, 0, NULL, 0}};
    struct settings s = {
        .threads = "1,2", .packed = "f32,dynamic", .work = "1x16,1x128,32x128,mix", .seconds = 1};
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 't')
            s.threads = optarg;
        else if (option == 'p')
            s.packed = optarg;
        else if (option == 'w')
            s.work = optarg;
        else if (option == 's')
            s.seconds = strtod(optarg, NULL);
        else if (option == 'n')
            s.pass_tokens = strtoll(optarg, NULL, 10);
        else
            optind = argc + 1;
    }
    if (optind != argc - 1) {
        fputs(usage, stderr);
        exit(2);
    }
    s.folder = argv[optind];
    return s;
}

int main(int argc, char **argv) {
    struct settings s = read_settings(argc, argv);
    char *types = strdup(s.packed), *rest = types;
    for (const char *packed; (packed = strsep(&rest, ",")) != NULL;) {
        char *counts = strdup(s.threads), *left = counts;
        for (const char *count; (count = strsep(&left, ",")) != NULL;)
            run_cases(&s, packed, (int)strtol(count, NULL, 10));
        free(counts);
    }
    free(types);
    return 0;
}
