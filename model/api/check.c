/* Looks at every number of a forward before anything is computed. */
#include "api/check.h"

#include "base/error.h"

#define FAIL(...) headwise_model_fail(HEADWISE_ERR_INVALID, "transformer_forward: " __VA_ARGS__)

static enum headwise_status check_starts(const headwise_transformer *network,
                                         const struct headwise_transformer_call *call) {
    int64_t most = network->info.max_tokens;
    if (!call->starts)
        return FAIL("starts is NULL");
    if (call->starts[0] != 0)
        return FAIL("starts[0] is %d, expected 0", call->starts[0]);
    for (int64_t s = 0; s < call->n_sequences; s++) {
        int64_t n = (int64_t)call->starts[s + 1] - call->starts[s];
        if (n < 0)
            return FAIL("starts[%lld] is %d, expected at least %d", (long long)s + 1,
                        call->starts[s + 1], call->starts[s]);
        if (n > most)
            return FAIL("sequence %lld has %lld tokens, expected at most %lld", (long long)s,
                        (long long)n, (long long)most);
    }
    return HEADWISE_OK;
}

/* What each token says. */
static enum headwise_status check_tokens(const headwise_transformer *network,
                                         const struct headwise_transformer_call *call, int64_t n) {
    const struct headwise_transformer_info *info = &network->info;
    if (n > 0 && !call->ids)
        return FAIL("ids is NULL");
    if (call->types && info->n_types == 0)
        return FAIL("types are given, but a %s model of this kind has none", info->family);
    for (int64_t r = 0; r < n; r++) {
        if (call->ids[r] < 0 || call->ids[r] >= info->n_ids)
            return FAIL("ids[%lld] is %d, expected 0 to %lld", (long long)r, call->ids[r],
                        (long long)info->n_ids - 1);
        if (call->types && (call->types[r] < 0 || call->types[r] >= info->n_types))
            return FAIL("types[%lld] is %d, expected 0 to %lld", (long long)r, call->types[r],
                        (long long)info->n_types - 1);
        if (call->positions && (call->positions[r] < 0 || call->positions[r] >= info->max_tokens))
            return FAIL("positions[%lld] is %lld, expected 0 to %lld", (long long)r,
                        (long long)call->positions[r], (long long)info->max_tokens - 1);
    }
    return HEADWISE_OK;
}

static enum headwise_status check_images(const struct headwise_transformer_call *call) {
    if (call->starts || call->ids || call->types || call->positions)
        return FAIL("%s is given, but the network reads images", call->starts  ? "starts"
                                                                 : call->ids   ? "ids"
                                                                 : call->types ? "types"
                                                                               : "positions");
    if (call->n_sequences > 0 && !call->pixels)
        return FAIL("pixels is NULL");
    return HEADWISE_OK;
}

static enum headwise_status check_hidden(const headwise_transformer *network,
                                         const struct headwise_transformer_call *call) {
    if (call->n_hidden < 0)
        return FAIL("n_hidden is %lld, expected 0 or more", (long long)call->n_hidden);
    if (call->n_hidden > 0 && (!call->hidden_layers || !call->hidden))
        return FAIL("%s is NULL", call->hidden_layers ? "hidden" : "hidden_layers");
    for (int64_t i = 0; i < call->n_hidden; i++) {
        if (call->hidden_layers[i] < 0 || call->hidden_layers[i] > network->info.n_layers)
            return FAIL("hidden_layers[%lld] is %lld, expected 0 to %lld", (long long)i,
                        (long long)call->hidden_layers[i], (long long)network->info.n_layers);
    }
    return HEADWISE_OK;
}

static enum headwise_status check_head(const headwise_transformer *network,
                                       const struct headwise_transformer_call *call, int64_t n) {
    const struct headwise_transformer_info *info = &network->info;
    if (call->pooled && info->d_pooled == 0)
        return FAIL("pooled is given, but the network has no such head");
    if (call->logits && info->n_labels == 0)
        return FAIL("logits is given, but the network has no such head");
    if (!call->logit_rows)
        return HEADWISE_OK;
    if (!info->logits_of_rows)
        return FAIL("logit_rows is given, but logits are those of sequences");
    if (call->n_logit_rows < 0)
        return FAIL("n_logit_rows is %lld, expected 0 or more", (long long)call->n_logit_rows);
    for (int64_t i = 0; i < call->n_logit_rows; i++) {
        if (call->logit_rows[i] < 0 || call->logit_rows[i] >= n)
            return FAIL("logit_rows[%lld] is %lld, expected 0 to %lld", (long long)i,
                        (long long)call->logit_rows[i], (long long)n - 1);
    }
    return HEADWISE_OK;
}

enum headwise_status headwise_check_forward(const headwise_context *context,
                                            const headwise_transformer *network,
                                            const struct headwise_transformer_call *call) {
    enum headwise_isa isa = headwise_context_describe(context)->isa;
    enum headwise_status status = HEADWISE_OK;
    if (isa != network->isa)
        return FAIL("the context's tier is %s, expected the network's, %s", headwise_isa_name(isa),
                    headwise_isa_name(network->isa));
    if (call->n_sequences < 0 || call->max_pass_tokens < 0 || call->gate_sequence_stride < 0)
        return FAIL("n_sequences, max_pass_tokens or gate_sequence_stride is negative");
    if (call->n_sequences == 0)
        return HEADWISE_OK;
    if (!network->patch && call->pixels)
        return FAIL("pixels is given, but the network reads text");
    status = network->patch ? check_images(call) : check_starts(network, call);
    if (!status && network->patch && call->n_sequences > INT32_MAX / network->info.n_patches)
        status = FAIL("%lld images are given, expected at most %lld", (long long)call->n_sequences,
                      (long long)(INT32_MAX / network->info.n_patches));
    if (status)
        return status;
    int64_t n = headwise_stack_start(network, call, call->n_sequences);
    if (!network->patch)
        status = check_tokens(network, call, n);
    if (!status)
        status = check_hidden(network, call);
    return status ? status : check_head(network, call, n);
}
