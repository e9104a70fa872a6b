/* headwise inspect: what each head of a layer does, costs and is worth. */
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "calls/rank.h"
#include "calls/tokens.h"
#include "commands/commands.h"
#include "commands/inspect_model.h"
#include "common/files.h"
#include "common/message.h"
#include "common/numbers.h"
#include "common/text.h"
#include "inspect/collect.h"
#include "inspect/json.h"
#include "inspect/page.h"
#include "inspect/svg.h"
#include "inspect/table.h"

struct settings {
    struct layer_settings layer; /* first: LAYER_OPTIONS */
    const char *tokens, *memory_tokens, *links, *html, *svg, *json;
    struct option_integer pairs, entry, cells;
    bool quiet;
    struct inspect_model model; /* of a whole model, where it names a folder */
};

#define OPTION(name, letter, kind, argument, help)                                                 \
    { #name, letter, kind, offsetof(struct settings, name), argument, help }

static const struct option options[] = {
    LAYER_OPTIONS,
    OPTION(tokens, 0, OPTION_TEXT, "\"a b c\"|FILE", "names of the rows of X; metadata tokens"),
    OPTION(memory_tokens, 0, OPTION_TEXT, "\"a b\"|FILE", "names of the memory's rows"),
    OPTION(links, 0, OPTION_TEXT, "3,7,12", "print what these tokens look at most in each head"),
    OPTION(pairs, 0, OPTION_INTEGER, "N", "strongest pairs of each head, 0 to 16; 3"),
    OPTION(entry, 0, OPTION_INTEGER, "N", "batch entry of maps, pairs, links and ranks; 0"),
    OPTION(cells, 0, OPTION_INTEGER, "N", "most cells of a side of a map, 8 to 1024; 256"),
    OPTION(html, 0, OPTION_TEXT, "FILE", "write a page to look at in a browser, one file"),
    OPTION(svg, 0, OPTION_TEXT, "FILE", "write a picture of all maps, for a paper"),
    OPTION(json, 0, OPTION_TEXT, "FILE", "write all numbers as JSON"),
    OPTION(quiet, 'q', OPTION_FLAG, NULL, "print no table"),
    INSPECT_MODEL_OPTIONS(struct settings, model),
};

static const char details[] = INSPECT_MODEL_DETAILS LAYER_DETAILS TOKENS_DETAILS
    "\n"
    "The table has a row for each head. Means are over all tokens that see a key:\n"
    "  entropy        of its weights, in nats: 0 looks at one key, ln(n) at n keys alike\n"
    "  largest        weight of the strongest key, and how far away that key is\n"
    "  self ... next  weight on the token itself, the first key, the one before, the one after\n"
    "  dist.          mean distance of what it looks at: sum of weight * distance\n"
    "  norm, share    of its contribution to y, and its part of |y - b_O|^2 (all sum to 100 %;\n"
    "                 below 0: it works against the others)\n"
    "  cost           its part of the layer's multiply-adds\n"
    "  rank           of its logits q k^T and of its outputs before W_O, numerical, by LAPACK, / "
    "the\n"
    "                 most that the sizes allow\n"
    "  weight by distance  a bar for each range of distances, the highest one full\n"
    "Switching heads off is exact: y loses what they contribute, and no head sees another one's\n"
    "gate. Heads whose contributions have a cosine of 0.95 or more are called alike.\n"
    "Files are written whole or not at all.\n";

/* The command while it runs. */
struct run {
    const struct settings *settings;
    struct arena arena;
    struct layer_opened opened;
    struct findings findings;
};

static int check_files(const struct settings *s) {
    const struct file_option written[] = {
        {"--json", s->json}, {"--html", s->html}, {"--svg", s->svg}};
    struct file_option read[LAYER_FILES + 2];
    layer_files(read, &s->layer);
    read[LAYER_FILES] = (struct file_option){"--tokens", s->tokens};
    read[LAYER_FILES + 1] = (struct file_option){"--memory-tokens", s->memory_tokens};
    return files_check(written, 3, read, LAYER_FILES + 2);
}

static int check_settings(const struct settings *s) {
    if (s->memory_tokens && !s->layer.memory && !s->layer.model)
        return fail("option --memory-tokens is given without --memory");
    if (!rank_is_available())
        return fail("inspect: %s", rank_failure_text(RANK_NO_LAPACK));
    int code = option_check_range("pairs", s->pairs, 0, MAX_PAIRS);
    if (!code)
        code = option_check_range("entry", s->entry, 0, INT64_MAX);
    if (!code)
        code = option_check_range("cells", s->cells, 8, 1024);
    return code ? code : check_files(s);
}

static const char *find_metadata(const struct run *run, const char *key) {
    const char *text = headwise_safetensors_metadata(run->opened.input, key);
    if (!text && run->opened.weights)
        text = headwise_safetensors_metadata(run->opened.weights, key);
    return text && *text ? text : NULL;
}

/* Names from the option, which may be a file, else from the metadata, which may not. */
static int read_names(const char *const **names, struct run *run, const char *option,
                      const char *key, const char *option_name, int64_t n) {
    const char **read = NULL;
    const char *metadata = find_metadata(run, key);
    int code = EXIT_GOOD;
    if (option && *option)
        code = tokens_read(&read, &run->arena, option, n, option_name);
    else if (!option && metadata)
        code =
            tokens_split(&read, &run->arena, metadata, n,
                         strcmp(key, "tokens") == 0 ? "metadata tokens" : "metadata memory_tokens");
    *names = read;
    return code;
}

static int read_tokens(struct run *run) {
    const struct settings *s = run->settings;
    const struct layer_input *layer = &run->opened.layer;
    struct findings *f = &run->findings;
    int code =
        read_names(&f->query_tokens, run, s->tokens, "tokens", "option --tokens", layer->n_queries);
    f->key_tokens = f->query_tokens;
    if (!code && layer->has_memory)
        code = read_names(&f->key_tokens, run, s->memory_tokens, "memory_tokens",
                          "option --memory-tokens", layer->n_keys);
    else if (!code && s->memory_tokens)
        code = fail("option --memory-tokens is given, but the layer has no memory");
    return code;
}

/* "3,7,12" */
static int read_links(int64_t **links, int64_t *n_links, struct run *run) {
    const char *text = run->settings->links;
    int64_t n = 1, n_queries = run->opened.layer.n_queries;
    for (const char *c = text; c && *c; c++)
        n += *c == ',';
    *links = arena_take(&run->arena, n, sizeof **links);
    *n_links = 0;
    if (!*links || !text)
        return *links ? EXIT_GOOD : EXIT_UNUSABLE;
    for (int64_t i = 0; i < n; i++) {
        const char *end;
        if (!integer_read(&(*links)[i], text, &end) || *end != (i + 1 < n ? ',' : '\0'))
            return fail("option --links is \"%s\", expected numbers of tokens with commas between "
                        "them",
                        run->settings->links);
        if ((*links)[i] < 0 || (*links)[i] >= n_queries)
            return fail("option --links has token %lld, expected 0 to %lld", (long long)(*links)[i],
                        (long long)n_queries - 1);
        text = end + 1;
    }
    *n_links = n;
    return EXIT_GOOD;
}

/* The last part of a path of this length; stores where it begins. */
static size_t last_part(const char *path, size_t length, size_t *start) {
    while (length > 1 && path[length - 1] == '/')
        length--;
    *start = length;
    while (*start > 0 && path[*start - 1] != '/')
        --*start;
    return length - *start;
}

/* The name of the file or folder, of the folder where the file is called model, and the layer. */
static int make_title(struct run *run) {
    const struct layer_settings *s = &run->settings->layer;
    const char *path = s->model ? s->model : s->weights;
    size_t start, length = last_part(path, strlen(path), &start);
    if (start > 1 && strncmp(path + start, "model.safetensors", 17) == 0)
        length = last_part(path, start, &start);
    const char *name = text_clean(&run->arena, path + start, length);
    if (!name)
        return EXIT_UNUSABLE;
    run->findings.title =
        s->model ? arena_text(&run->arena, "%s, %s%slayer %lld", name, s->part ? s->part : "",
                              s->part ? " " : "", (long long)s->layer.value)
                 : name;
    return run->findings.title ? EXIT_GOOD : EXIT_UNUSABLE;
}

static int collect(struct run *run) {
    const struct settings *s = run->settings;
    struct findings_request request = {
        .entry = s->entry.value,
        .n_pairs = s->pairs.is_set ? (int)s->pairs.value : 3,
        .max_cells = s->cells.is_set ? s->cells.value : 256,
    };
    int64_t *links;
    int code = check_settings(s);
    if (!code)
        code = layer_open(&run->opened, &run->arena, &s->layer, "inspect");
    if (!code)
        code = make_title(run);
    if (!code)
        code = read_tokens(run);
    if (!code)
        code = read_links(&links, &request.n_links, run);
    if (code)
        return code;
    request.link_queries = links;
    return findings_collect(&run->findings, &run->arena, &run->opened,
                            s->layer.model ? s->layer.model : s->layer.weights, &request);
}

/* Whether the user's terminal shows UTF-8; asked before text_init() sets the locale. */
static bool shows_utf8(void) {
    return setlocale(LC_CTYPE, "") && strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

static int show(struct run *run) {
    const struct settings *s = run->settings;
    int code = EXIT_GOOD;
    if (s->html)
        code = page_write(s->html, &run->findings, run->opened.context);
    if (!code && s->svg)
        code = svg_write(s->svg, &run->findings);
    if (!code && s->json)
        code = json_write_findings(s->json, &run->findings, run->opened.context);
    if (!code && !s->quiet) {
        bool is_utf8 = shows_utf8();
        text_init();
        layer_print(&run->opened);
        code = table_print(&run->findings, &run->arena, is_utf8);
    }
    return code;
}

/* Options of both go over; those of a layer alone have no meaning for a model. */
static int run_model(const struct settings *s) {
    static const char *const both[] = {"input", "packed", "isa",   "threads", "overrides",
                                       "html",  "json",   "quiet", "cells"};
    struct inspect_model model = s->model;
    for (size_t i = 0; i + INSPECT_MODEL_COUNT < sizeof options / sizeof *options; i++) {
        bool is_both = false;
        for (size_t j = 0; j < sizeof both / sizeof *both; j++)
            is_both = is_both || strcmp(options[i].name, both[j]) == 0;
        if (!is_both && option_is_set(s, &options[i]))
            return fail("option --%s is of a layer, but a model's folder is given",
                        options[i].name);
    }
    if (s->html && model.output)
        return fail("options --html and --output are given, expected one of them");
    model.html = s->html ? s->html : model.output;
    model.json = s->json;
    model.quiet = s->quiet;
    model.cells = s->cells;
    model.encoder = (struct encoder_settings){.folder = model.folder,
                                              .texts = model.texts,
                                              .input = s->layer.input,
                                              .packed = s->layer.packed,
                                              .isa = s->layer.isa,
                                              .overrides = s->layer.overrides,
                                              .threads = s->layer.threads};
    return inspect_model_run(&model);
}

static int run_inspect(const void *arguments) {
    struct run run = {.settings = arguments};
    if (run.settings->model.folder)
        return run_model(run.settings);
    int code = collect(&run);
    if (!code)
        code = show(&run);
    layer_close(&run.opened);
    arena_free(&run.arena);
    return code;
}

const struct command command_inspect = {
    .name = "inspect",
    .summary = "show what each head of a model or a layer does, costs and is worth",
    .usage = "DIR TEXT... [--output PAGE.html] [OPTIONS]\n"
             "       headwise inspect --model DIR --layer N --input X.safetensors [--html FILE] "
             "[OPTIONS]\n"
             "       headwise inspect --weights W.safetensors --input X.safetensors --heads H "
             "[OPTIONS]",
    .details = details,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .operand = "folder",
    .operand_offset = offsetof(struct settings, model.folder),
    .more = "text",
    .more_offset = offsetof(struct settings, model.texts),
    .run = run_inspect,
};
