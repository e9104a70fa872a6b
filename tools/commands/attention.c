/* headwise attention: one call of the operator, from a file to a file. */

#include "calls/attention_call.h"
#include "calls/check.h"
#include "commands/commands.h"
#include "common/arrays.h"
#include "common/context.h"
#include "common/files.h"
#include "common/lists.h"
#include "common/message.h"
#include "common/outputs.h"

struct settings {
    struct attributes attributes; /* first: ATTRIBUTE_OPTIONS */
    const char *input, *output, *isa, *probe;
    struct option_integer threads;
    bool check;
};

static const struct option options[] = {
    {"output", 'o', OPTION_TEXT, offsetof(struct settings, output), "OUT.safetensors",
     "write the results here"},
    {"check", 0, OPTION_FLAG, offsetof(struct settings, check), NULL,
     "compare with the expected tensors in IN"},
    {"probe", 0, OPTION_TEXT, offsetof(struct settings, probe), "LIST",
     "write more: weights, scores, lse"},
    CONTEXT_OPTIONS(struct settings),
    ATTRIBUTE_OPTIONS,
};

static const char details[] =
    "IN holds one call of ONNX's Attention operator: Q K V [attn_mask] [past_key past_value]\n"
    "[nonpad_kv_seqlen], 4D as [batch,heads,rows,columns] or 3D as [batch,rows,heads * columns], "
    "with\n"
    "the attributes above as texts in its metadata; an option of the same name goes first.\n"
    "F32, F16 and BF16 are used as they are, F64 is rounded to f32. Arithmetic is f32.\n"
    "  attn_mask  BOOL (true: may attend) or numbers to add; 1 to 4 axes, aligned at the right, "
    "three\n"
    "             are [heads,queries,keys]; keys beyond the end of its last axis are hidden\n"
    "  position   query i stands at key i + o; o is the length of the past; without one\n"
    "             nonpad_kv_seqlen[b] - queries; without both 0\n"
    "\n"
    "OUT gets Y, present_key and present_value (4D), qk_matmul_output where IN's metadata outputs "
    "lists\n"
    "it (in Q's type), and for --probe, in F32: weights [batch,heads,queries,keys], scores (the "
    "same, at\n"
    "the stage of qk_matmul_output_mode), lse [batch,heads,queries]. Its metadata tells op, isa "
    "and\n"
    "threads. It is written whole or not at all.\n"
    "\n"
    "--check compares Y, present_key, present_value, qk_matmul_output, those that IN has, and "
    "exits\n"
    "with 1 beyond the bound. An element's bound is what f32 arithmetic in any order may lose on\n"
    "these inputs (of a row: (head size + 2) 2^-24 |q|.|k| in each score, what that moves the "
    "weights\n"
    "by, and the roundings of the sums), plus one rounding to the type of the result and one to "
    "that of\n"
    "the expected tensor, plus the error of the expected values where the file states it in its\n"
    "metadata max_abs_err_f64_reference. present_key and present_value must be exact.\n"
    "OUT is written also where the check fails.\n";

enum { PROBE_WEIGHTS, PROBE_SCORES, PROBE_LSE, N_PROBES };

/* The command while it runs. */
struct run {
    const struct settings *settings;
    struct arena arena;
    headwise_safetensors *file;
    headwise_context *context;
    struct attention_call call;
    struct outputs outputs;
    struct headwise_tensor y, present_key, present_value;
    struct headwise_probe probe;
    void *qk_matmul_output; /* NULL: not wanted */
    float *scores;          /* what it is made from; the same array where it is F32 */
};

static bool wants_qk(const struct run *run) {
    const char *name = "qk_matmul_output";
    return list_has(headwise_safetensors_metadata(run->file, "outputs"), name) ||
           headwise_safetensors_find(run->file, name);
}

static int add_results(struct run *run) {
    struct attention_call *call = &run->call;
    int64_t width;
    bool fits = !__builtin_mul_overflow(call->n_heads, call->value_dim, &width);
    const int64_t y4[] = {call->batch, call->n_heads, call->n_queries, call->value_dim};
    const int64_t y3[] = {call->batch, call->n_queries, fits ? width : -1};
    const int64_t key[] = {call->batch, call->n_kv_heads, call->n_keys, call->head_dim};
    const int64_t value[] = {call->batch, call->n_kv_heads, call->n_keys, call->value_dim};
    void *y = outputs_add(&run->outputs, "Y", file_dtype(call->q.dtype), call->rank,
                          call->rank == 3 ? y3 : y4);
    void *k = outputs_add(&run->outputs, "present_key", file_dtype(call->k.dtype), 4, key);
    void *v = outputs_add(&run->outputs, "present_value", file_dtype(call->v.dtype), 4, value);
    if (!y || !k || !v)
        return EXIT_UNUSABLE;
    run->y = attention_view(call->rank, y, call->q.dtype, call->batch, call->n_heads,
                            call->n_queries, call->value_dim);
    run->present_key = headwise_tensor_bhrc(k, call->k.dtype, key[0], key[1], key[2], key[3]);
    run->present_value =
        headwise_tensor_bhrc(v, call->v.dtype, value[0], value[1], value[2], value[3]);
    call->call.y = &run->y;
    call->call.present_key = &run->present_key;
    call->call.present_value = &run->present_value;
    return EXIT_GOOD;
}

static int add_probes(struct run *run) {
    static const char *const names[N_PROBES] = {"weights", "scores", "lse"};
    const struct attention_call *call = &run->call;
    const int64_t map[] = {call->batch, call->n_heads, call->n_queries, call->n_keys};
    bool wanted[N_PROBES], has_qk = wants_qk(run);
    int code = list_read_names(wanted, names, N_PROBES, run->settings->probe, "option --probe");
    run->probe = (struct headwise_probe){.size = sizeof run->probe, .score_stage = call->stage};
    if (!code && has_qk) {
        run->qk_matmul_output =
            outputs_add(&run->outputs, "qk_matmul_output", file_dtype(call->q.dtype), 4, map);
        code = run->qk_matmul_output ? EXIT_GOOD : EXIT_UNUSABLE;
    }
    if (!code && wanted[PROBE_SCORES]) {
        run->scores = outputs_add(&run->outputs, "scores", HEADWISE_FILE_F32, 4, map);
        code = run->scores ? EXIT_GOOD : EXIT_UNUSABLE;
    } else if (!code && has_qk) { /* not written, but computed in f32 */
        const struct headwise_file_tensor *qk = outputs_find(&run->outputs, "qk_matmul_output");
        run->scores = arena_take(&run->arena, (int64_t)qk->n_elements, sizeof(float));
        code = run->scores ? EXIT_GOOD : EXIT_UNUSABLE;
    }
    if (!code && wanted[PROBE_WEIGHTS]) {
        run->probe.weights = outputs_add(&run->outputs, "weights", HEADWISE_FILE_F32, 4, map);
        code = run->probe.weights ? EXIT_GOOD : EXIT_UNUSABLE;
    }
    if (!code && wanted[PROBE_LSE]) {
        run->probe.lse = outputs_add(&run->outputs, "lse", HEADWISE_FILE_F32, 3, map);
        code = run->probe.lse ? EXIT_GOOD : EXIT_UNUSABLE;
    }
    run->probe.scores = run->scores;
    return code;
}

/* The scores in Q's type. */
static void narrow_scores(const struct run *run) {
    const struct headwise_file_tensor *qk = outputs_find(&run->outputs, "qk_matmul_output");
    if (!qk)
        return;
    if (qk->dtype == HEADWISE_FILE_F16)
        headwise_f16_from_f32(run->qk_matmul_output, run->scores, qk->n_elements);
    else if (qk->dtype == HEADWISE_FILE_BF16)
        headwise_bf16_from_f32(run->qk_matmul_output, run->scores, qk->n_elements);
    else
        for (size_t i = 0; i < qk->n_elements; i++)
            ((float *)run->qk_matmul_output)[i] = run->scores[i];
}

static int compute(struct run *run) {
    struct attention_call *call = &run->call;
    call->call.probe = &run->probe;
    if (headwise_attention(run->context, &call->call) != HEADWISE_OK)
        return fail("%s: %s", run->settings->input, headwise_last_error());
    narrow_scores(run);
    return EXIT_GOOD;
}

/* Reading and computing, nothing written yet. */
static int prepare(struct run *run) {
    struct attributes attributes = run->settings->attributes;
    if (headwise_safetensors_open(&run->file, run->settings->input) != HEADWISE_OK)
        return fail("%s", headwise_io_last_error());
    int code = attributes_complete(&attributes, run->file);
    if (!code)
        code = attention_call_read(&run->call, &run->arena, run->file, &attributes);
    if (!code)
        code = context_open(&run->context, run->settings->isa, run->settings->threads);
    if (!code)
        code = add_results(run);
    if (!code)
        code = add_probes(run);
    return code ? code : compute(run);
}

static int run_attention(const void *arguments) {
    const struct settings *settings = arguments;
    struct run run = {.settings = settings};
    run.outputs.arena = &run.arena;
    if (!settings->input)
        return fail("attention: IN.safetensors is missing; see headwise help attention");
    if (!settings->output && !settings->check)
        return fail("attention: nothing to do, expected -o OUT.safetensors or --check");
    const struct file_option written = {"--output", settings->output};
    const struct file_option read = {"the input", settings->input};
    int code = files_check(&written, 1, &read, 1), checked = EXIT_GOOD;
    if (!code)
        code = prepare(&run);
    if (!code && settings->check)
        checked = check_attention(&run.outputs, &run.arena, run.file, &run.call);
    if (!code && checked != EXIT_UNUSABLE && settings->output)
        code = outputs_write(&run.outputs, settings->output, "Attention", run.context);
    headwise_context_destroy(run.context);
    headwise_safetensors_close(run.file);
    arena_free(&run.arena);
    return code ? code : checked;
}

const struct command command_attention = {
    .name = "attention",
    .summary = "run one Attention operator call saved in a file",
    .usage = "IN.safetensors [-o OUT.safetensors] [--check] [OPTIONS]",
    .details = details,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .operand = "input file",
    .operand_offset = offsetof(struct settings, input),
    .run = run_attention,
};
