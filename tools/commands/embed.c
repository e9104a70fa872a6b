/* headwise embed: vectors of texts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls/encoder_options.h"
#include "calls/rate.h"
#include "calls/text_chunk.h"
#include "calls/vector_file.h"
#include "commands/commands.h"
#include "common/files.h"
#include "common/message.h"

struct settings {
    struct encoder_settings encoder; /* first: ENCODER_OPTIONS */
    const char *output, *precision, *prompt, *prompt_name;
    struct option_integer truncate_dim;
    bool normalize_embeddings, resume;
};

#define OPTION(name, letter, kind, argument, help)                                                 \
    { #name, letter, kind, offsetof(struct settings, name), argument, help }

static const struct option options[] = {
    ENCODER_OPTIONS,
    OPTION(output, 'o', OPTION_TEXT, "FILE.npy|.safetensors", "write the vectors here"),
    OPTION(precision, 0, OPTION_TEXT, "TYPE",
           "of the file: f32, f16, int8, uint8, binary, ubinary"),
    OPTION(resume, 0, OPTION_FLAG, NULL, "go on where an earlier run with --output stopped"),
    OPTION(prompt_name, 0, OPTION_TEXT, "NAME",
           "the folder's prompt of that name before each text"),
    OPTION(prompt, 0, OPTION_TEXT, "TEXT", "this before each text; \"\": nothing"),
    OPTION(truncate_dim, 0, OPTION_INTEGER, "N", "the first N numbers of each vector"),
    OPTION(normalize_embeddings, 0, OPTION_FLAG, NULL, "scale vectors to length 1"),
};

static const char details[] = ENCODER_DETAILS
    "\n"
    "Without --output: a table of the cosines between the texts, or the vector of a single text; "
    "with\n"
    "--jsonl a line {\"id\": ..., \"embedding\": [...]} for each. The file has embeddings "
    "[texts][width].\n"
    "Vectors are kept in FILE.part until the last one is there.\n";

/* The command while it runs. */
struct run {
    const struct settings *settings;
    struct arena arena;
    struct encoder_opened opened;
    struct text_input input;
    struct text_chunk chunk;
    struct vector_file file;
    struct rate rate;
    float *vectors;
    int64_t columns, done;
    int64_t kept;  /* vectors of the chunk that the file has */
    int code;      /* of keeping them */
    int64_t n_cut; /* texts that were cut */
    int64_t cuts[CHUNK_TEXTS];
};

static int check_settings(const struct settings *s) {
    const struct file_option written = {"--output", s->output};
    const struct file_option read = {"--input", s->encoder.input};
    bool reads = s->encoder.input && strcmp(s->encoder.input, "-") != 0;
    enum vector_precision precision;
    if (s->output && !vector_file_is_named(s->output))
        return fail("option --output is \"%s\", expected a name that ends in .npy or .safetensors",
                    s->output);
    if (!s->output && (s->precision || s->resume))
        return fail("option --%s is given without --output", s->precision ? "precision" : "resume");
    if (s->resume && !reads)
        return fail("option --resume is given without a file as --input");
    if (s->prompt && s->prompt_name)
        return fail("options --prompt and --prompt-name are given, expected one of them");
    int code = vector_precision_read(&precision, s->precision);
    return code || !s->output ? code : files_check(&written, 1, &read, reads ? 1 : 0);
}

/* After each pass: its vectors are kept, so that a run that is stopped loses one pass. */
static void show(void *user, int64_t n_done) {
    struct run *run = user;
    if (run->settings->output && !run->code)
        run->code = vector_file_add(&run->file, run->vectors + run->kept * run->columns,
                                    n_done - run->kept);
    run->kept = n_done;
    rate_show(&run->rate, run->done + n_done, 0);
}

static int embed_chunk(struct run *run) {
    const struct settings *s = run->settings;
    const struct headwise_text prompt = {s->prompt, s->prompt ? strlen(s->prompt) : 0};
    struct headwise_embed_call call = {.size = sizeof call,
                                       .n_texts = run->chunk.n,
                                       .texts = run->chunk.texts,
                                       .prompt = s->prompt ? &prompt : NULL,
                                       .prompt_name = s->prompt_name,
                                       .truncate_dim = run->columns,
                                       .normalize = s->normalize_embeddings,
                                       .refuse_long = s->encoder.refuse_long,
                                       .special_is_text = s->encoder.special_as_text,
                                       .replace_invalid = s->encoder.replace_invalid,
                                       .vectors = run->vectors,
                                       .n_cut = run->cuts,
                                       .progress = show,
                                       .progress_user = run};
    if (run->chunk.n_pairs > 0)
        return fail("%s: behind line %lld: texts have a \"pair\", which classify takes and embed "
                    "does not",
                    run->input.name, (long long)run->done);
    run->kept = 0;
    if (headwise_embed(run->opened.context, run->opened.encoder, &call))
        return text_chunk_fail(&run->input, run->done);
    for (int64_t i = 0; i < run->chunk.n; i++)
        run->n_cut += run->cuts[i] > 0;
    return run->code;
}

static void print_json(const struct run *run) {
    for (int64_t i = 0; i < run->chunk.n; i++) {
        const struct headwise_json_slice *id = &run->chunk.ids[i];
        putchar('{');
        if (id->size > 0)
            printf("\"id\": %.*s, ", (int)id->size, id->at);
        printf("\"embedding\": [");
        for (int64_t c = 0; c < run->columns; c++)
            printf("%s%.9g", c ? ", " : "", (double)run->vectors[i * run->columns + c]);
        printf("]}\n");
    }
}

static double cosine(const float *a, const float *b, int64_t n) {
    double dot = 0, aa = 0, bb = 0;
    for (int64_t i = 0; i < n; i++) {
        dot += (double)a[i] * (double)b[i];
        aa += (double)a[i] * (double)a[i];
        bb += (double)b[i] * (double)b[i];
    }
    return aa > 0 && bb > 0 ? dot / sqrt(aa * bb) : 0;
}

enum { TABLE_TEXTS = 16, TABLE_CHARACTERS = 48 };

/* Of the first texts: what fits on a terminal. */
static void print_table(const struct run *run) {
    int64_t n = run->chunk.n < TABLE_TEXTS ? run->chunk.n : TABLE_TEXTS;
    for (int64_t i = 0; i < n; i++) {
        size_t size = run->chunk.texts[i].size_bytes;
        printf("%3lld ", (long long)i);
        for (int64_t j = 0; j < n; j++)
            printf(" %6.3f", cosine(run->vectors + i * run->columns,
                                    run->vectors + j * run->columns, run->columns));
        printf("  %.*s%s\n", (int)(size < TABLE_CHARACTERS ? size : TABLE_CHARACTERS),
               run->chunk.texts[i].bytes, size > TABLE_CHARACTERS ? "..." : "");
    }
    if (n < run->chunk.n)
        printf("... and %lld more: see --output and --jsonl\n", (long long)(run->chunk.n - n));
}

static void print_vector(const struct run *run) {
    for (int64_t c = 0; c < run->columns; c++)
        printf("%.9g\n", (double)run->vectors[c]);
}

/* What becomes of the vectors of a chunk, unless a file has them. */
static void print_chunk(const struct run *run) {
    if (run->settings->encoder.jsonl)
        print_json(run);
    else if (run->done == 0 && run->chunk.n == 1)
        print_vector(run);
    else if (run->done == 0)
        print_table(run);
}

/* Lines whose vectors are there already. */
static int skip_done(struct run *run) {
    struct text_request request;
    bool ended = false;
    int code = EXIT_GOOD;
    for (int64_t i = 0; !code && i < run->file.rows; i++) {
        code = text_input_next(&run->input, &request, &ended);
        if (!code && ended)
            return fail("%s: has %lld lines, but %s has vectors of %lld", run->input.name,
                        (long long)i, run->file.part, (long long)run->file.rows);
    }
    run->done = run->file.rows;
    return code;
}

static int open_file(struct run *run) {
    const struct settings *s = run->settings;
    const char *line =
        arena_text(&run->arena,
                   "headwise embed: %lld columns, folder %s, input %s, packed %s, prompt %s%s, "
                   "normalize %d, limit %lld",
                   (long long)run->columns, s->encoder.folder,
                   s->encoder.input ? s->encoder.input : "operands",
                   s->encoder.packed ? s->encoder.packed : "stored", s->prompt_name ? "named " : "",
                   s->prompt_name ? s->prompt_name
                   : s->prompt    ? s->prompt
                                  : "of the folder",
                   s->normalize_embeddings,
                   (long long)headwise_encoder_describe(run->opened.encoder)->max_tokens);
    int code = line ? vector_file_begin(&run->file, s->output, line, run->columns, s->resume)
                    : EXIT_UNUSABLE;
    return code ? code : skip_done(run);
}

static int run_chunks(struct run *run) {
    int code = EXIT_GOOD;
    while (!code) {
        code = text_chunk_read(&run->chunk, &run->input);
        if (code || run->chunk.n == 0)
            break;
        code = embed_chunk(run);
        if (!code && !run->settings->output)
            print_chunk(run);
        run->done += run->chunk.n;
    }
    rate_end(&run->rate);
    if (!code && run->n_cut > 0)
        fprintf(stderr, "headwise: %lld text%s cut to %lld tokens\n", (long long)run->n_cut,
                run->n_cut == 1 ? " was" : "s were",
                (long long)headwise_encoder_describe(run->opened.encoder)->max_tokens);
    return code;
}

static int run_all(struct run *run) {
    const struct settings *s = run->settings;
    enum vector_precision precision;
    int code = encoder_open(&run->opened, &run->arena, &s->encoder, "embed");
    if (code)
        return code;
    int64_t d_vector = headwise_encoder_describe(run->opened.encoder)->d_vector;
    if (d_vector == 0)
        return fail("%s: gives scores, no vectors: see headwise help classify and rerank",
                    s->encoder.folder);
    if (s->truncate_dim.is_set && (s->truncate_dim.value < 1 || s->truncate_dim.value > d_vector))
        return fail("option --truncate-dim is %lld, expected 1 to %lld",
                    (long long)s->truncate_dim.value, (long long)d_vector);
    run->columns = s->truncate_dim.is_set ? s->truncate_dim.value : d_vector;
    run->vectors = arena_take(&run->arena, CHUNK_TEXTS * run->columns, sizeof(float));
    code = run->vectors ? vector_precision_read(&precision, s->precision) : EXIT_UNUSABLE;
    if (!code && s->output)
        code = open_file(run);
    rate_begin(&run->rate);
    if (!code)
        code = run_chunks(run);
    if (!code && s->output)
        code = vector_file_finish(&run->file, precision);
    return code;
}

static int run_embed(const void *arguments) {
    const struct settings *s = arguments;
    struct run *run = calloc(1, sizeof *run);
    if (!run)
        return fail("out of memory");
    run->settings = s;
    int code = check_settings(s);
    if (!code)
        code = text_input_open(&run->input, &s->encoder.texts, s->encoder.input, s->encoder.jsonl,
                               "embed");
    if (!code)
        code = run_all(run);
    vector_file_close(&run->file);
    text_input_close(&run->input);
    text_chunk_free(&run->chunk);
    encoder_close(&run->opened);
    arena_free(&run->arena);
    free(run);
    return code;
}

const struct command command_embed = {
    .name = "embed",
    .summary = "vectors of texts",
    .usage = "DIR [TEXT...] [OPTIONS]\n       headwise embed DIR --input FILE|- --output FILE.npy",
    .details = details,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .operand = "folder",
    .operand_offset = offsetof(struct settings, encoder.folder),
    .more = "text",
    .more_offset = offsetof(struct settings, encoder.texts),
    .run = run_embed,
};
