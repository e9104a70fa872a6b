/* headwise inspect of a whole encoder: every head of every layer on a text. */
#include "commands/inspect_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls/layer_options.h"
#include "calls/text_chunk.h"
#include "common/files.h"
#include "common/message.h"
#include "common/numbers.h"
#include "common/outputs.h"
#include "common/text.h"
#include "sight/report.h"

/* The command while it runs. */
struct run {
    const struct inspect_model *model;
    struct arena arena;
    struct encoder_opened opened;
    struct text_input input;
    struct text_chunk *chunk;
    struct outputs *outputs;
    headwise_sight *sight;
    struct sight_report report;
    int64_t layer, head; /* that were asked for; -1: none */
    float *chosen_map;
    int64_t n_tokens; /* of the maps that pass by; 0: not known yet */
    int32_t *ids;
    int64_t n_ids;
    int code; /* of the function that keeps maps */
};

static int check_settings(const struct inspect_model *m) {
    const struct file_option written[] = {
        {"--output", m->html}, {"--json", m->json}, {"--maps", m->maps}};
    const struct file_option read[] = {{"the folder", m->folder}, {"--input", m->encoder.input}};
    if (m->ids && (m->texts.n > 0 || m->pair || m->encoder.input))
        return fail("option --ids is given with a text, expected one of them");
    int code = option_check_range("cells", m->cells, 8, 1024);
    return code ? code : files_check(written, 3, read, 2);
}

/* "3.7" */
static int read_head(struct run *run) {
    const char *end, *text = run->model->head;
    run->layer = run->head = -1;
    if (!text)
        return EXIT_GOOD;
    if (integer_read(&run->layer, text, &end) && *end == '.' &&
        integer_read(&run->head, end + 1, &end) && *end == '\0') {
        const struct headwise_transformer_info *info = headwise_transformer_describe(
            headwise_encoder_describe(run->opened.encoder)->transformer);
        if (run->layer >= 0 && run->layer < info->n_layers && run->head >= 0 &&
            run->head < info->n_heads[run->layer])
            return EXIT_GOOD;
    }
    return fail("option --head is \"%s\", expected LAYER.HEAD of the model, from 0.0 on", text);
}

/* "101,7592,102" */
static int read_ids(struct run *run) {
    const char *end, *text = run->model->ids;
    int64_t n = 1, id;
    for (const char *c = text; *c; c++)
        n += *c == ',';
    run->ids = arena_take(&run->arena, n, sizeof *run->ids);
    for (int64_t i = 0; run->ids && i < n; i++, text = end + 1) {
        if (!integer_read(&id, text, &end) || *end != (i + 1 < n ? ',' : '\0') || id < 0 ||
            id > INT32_MAX)
            return fail("option --ids is \"%s\", expected numbers of tokens with commas between "
                        "them",
                        run->model->ids);
        run->ids[i] = (int32_t)id;
    }
    run->n_ids = n;
    return run->ids ? EXIT_GOOD : EXIT_UNUSABLE;
}

static int read_texts(struct run *run) {
    const struct inspect_model *m = run->model;
    struct text_request more;
    bool done = false;
    run->chunk = arena_take(&run->arena, 1, sizeof *run->chunk);
    if (!run->chunk)
        return EXIT_UNUSABLE;
    int code = text_input_open(&run->input, &m->texts, m->encoder.input, false, "inspect");
    if (!code)
        code = text_chunk_read(run->chunk, &run->input);
    if (!code)
        code = text_input_next(&run->input, &more, &done);
    if (!code && !done)
        code = fail("%s: more than %d texts or 1 MB, expected at most that",
                    run->input.name ? run->input.name : "inspect", CHUNK_TEXTS);
    if (!code && run->chunk->n == 0)
        code = fail("%s: has no text", run->input.name);
    return code;
}

/* A layer's whole maps, of which files and pages keep copies. */
static void keep_maps(void *user, int64_t layer, const float *weights) {
    struct run *run = user;
    const struct headwise_transformer_info *info =
        headwise_transformer_describe(headwise_encoder_describe(run->opened.encoder)->transformer);
    int64_t n = run->n_tokens, n_heads = info->n_heads[layer];
    if (run->outputs && !run->code) {
        const int64_t sizes[] = {n_heads, n, n};
        const char *name = arena_text(&run->arena, "attention.%lld", (long long)layer);
        float *maps = name ? outputs_add(run->outputs, name, HEADWISE_FILE_F32, 3, sizes) : NULL;
        if (maps)
            memcpy(maps, weights, (size_t)(n_heads * n * n) * sizeof *maps);
        else
            run->code = EXIT_UNUSABLE;
    }
    if (layer == run->layer && !run->code) {
        run->chosen_map = arena_take(&run->arena, n * n, sizeof *run->chosen_map);
        if (run->chosen_map)
            memcpy(run->chosen_map, weights + run->head * n * n,
                   (size_t)(n * n) * sizeof *run->chosen_map);
        else
            run->code = EXIT_UNUSABLE;
    }
}

static int look_once(struct run *run, struct headwise_sight_call *call) {
    headwise_sight_destroy(run->sight);
    run->sight = NULL;
    if (headwise_sight_create(&run->sight, run->opened.context, run->opened.encoder, call))
        return fail("%s", headwise_model_last_error());
    run->report.info = headwise_sight_describe(run->sight);
    run->n_tokens = run->report.info->n_tokens;
    return run->code;
}

/* Whole maps are kept in a second run, which measures nothing: the first one counts tokens. */
static int look(struct run *run) {
    const struct inspect_model *m = run->model;
    const struct headwise_text pair = {m->pair, m->pair ? strlen(m->pair) : 0};
    struct headwise_sight_call call = {.size = sizeof call,
                                       .ids = run->ids,
                                       .n_tokens = run->n_ids,
                                       .text = run->ids ? NULL : &run->chunk->texts[0],
                                       .pair = m->pair ? &pair : NULL,
                                       .user = run};
    bool keeps = run->outputs || run->layer >= 0;
    int code = EXIT_GOOD;
    if (keeps) {
        call.without_change = call.without_twins = true;
        call.most_cells = 1;
        code = look_once(run, &call);
        call.maps = keep_maps;
    }
    call.without_change = m->no_change;
    call.without_twins = false;
    call.most_cells = m->cells.is_set ? m->cells.value : 0;
    return code ? code : look_once(run, &call);
}

static int score_kinds(struct run *run) {
    int64_t n = run->report.info->n_heads * HEADWISE_KINDS;
    if (run->ids || run->chunk->n < 2)
        return EXIT_GOOD;
    double *means = arena_take(&run->arena, n, sizeof *means);
    double *spreads = arena_take(&run->arena, n, sizeof *spreads);
    int64_t *counts = arena_take(&run->arena, n, sizeof *counts);
    if (!means || !spreads || !counts)
        return EXIT_UNUSABLE;
    const struct headwise_kinds_call call = {.size = sizeof call,
                                             .n_texts = run->chunk->n,
                                             .texts = run->chunk->texts,
                                             .means = means,
                                             .spreads = spreads,
                                             .counts = counts};
    if (headwise_kinds(run->opened.context, run->opened.encoder, &call))
        return fail("%s", headwise_model_last_error());
    run->report.n_texts = run->chunk->n;
    run->report.means = means;
    run->report.spreads = spreads;
    run->report.counts = counts;
    return EXIT_GOOD;
}

static int name_model(struct run *run) {
    const char *path = run->model->folder;
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    size_t start = length;
    while (start > 0 && path[start - 1] != '/')
        start--;
    run->report.title = text_clean(&run->arena, path + start, length - start);
    return run->report.title ? EXIT_GOOD : EXIT_UNUSABLE;
}

static int show(struct run *run) {
    const struct inspect_model *m = run->model;
    struct sight_report *report = &run->report;
    int code = EXIT_GOOD;
    report->chosen = -1;
    report->chosen_map = run->chosen_map;
    for (int64_t h = 0; h < report->info->n_heads; h++) {
        if (report->info->heads[h].layer == run->layer && report->info->heads[h].head == run->head)
            report->chosen = h;
    }
    if (m->html)
        code = sight_page_write(m->html, &run->arena, report);
    if (!code && m->json)
        code = sight_json_write(m->json, &run->arena, report);
    if (!code && m->maps)
        code = outputs_write(run->outputs, m->maps, "headwise inspect", run->opened.context);
    if (!code && !m->quiet)
        sight_table_print(report);
    return code;
}

int inspect_model_run(const struct inspect_model *model) {
    struct run run = {.model = model};
    struct outputs outputs = {.arena = &run.arena};
    run.outputs = model->maps ? &outputs : NULL;
    int code = check_settings(model);
    if (!code)
        code = encoder_open(&run.opened, &run.arena, &model->encoder, "inspect");
    run.report.encoder = run.opened.encoder;
    if (!code)
        code = read_head(&run);
    if (!code)
        code = model->ids ? read_ids(&run) : read_texts(&run);
    if (!code)
        code = name_model(&run);
    if (!code)
        code = look(&run);
    if (!code)
        code = score_kinds(&run);
    if (!code)
        code = show(&run);
    headwise_sight_destroy(run.sight);
    text_input_close(&run.input);
    if (run.chunk)
        text_chunk_free(run.chunk);
    encoder_close(&run.opened);
    arena_free(&run.arena);
    return code;
}
