#include <string.h>

#include "check.h"
#include "error.h"
#include "options.h"

static enum headwise_status check_starts(const char *where, const char *name, const int32_t *starts,
                                         int64_t n_sequences, int64_t n_rows) {
    for (int64_t b = 0; b <= n_sequences; b++) {
        int32_t least = b > 0 ? starts[b - 1] : 0;
        if (starts[b] < least || starts[b] > n_rows)
            return headwise_fail(
                HEADWISE_ERR_INVALID,
                "%s: %s[%lld] is %ld, expected %ld to %lld (they never decrease, up to the rows)",
                where, name, (long long)b, (long)starts[b], (long)least, (long long)n_rows);
    }
    return HEADWISE_OK;
}

static enum headwise_status check_same(const char *where, const struct headwise_ragged *ragged) {
    for (int64_t b = 0; b <= ragged->n_sequences; b++) {
        if (ragged->key_starts[b] != ragged->query_starts[b])
            return headwise_fail(HEADWISE_ERR_INVALID,
                                 "%s: key_starts[%lld] is %ld, expected %ld as in query_starts: "
                                 "without a memory keys are of the same rows",
                                 where, (long long)b, (long)ragged->key_starts[b],
                                 (long)ragged->query_starts[b]);
    }
    return HEADWISE_OK;
}

enum headwise_status headwise_check_ragged(const char *where, struct headwise_ragged *ragged,
                                           const struct headwise_ragged *given, int64_t query_rows,
                                           int64_t key_rows) {
    char name[64] = "";
    strncat(name, where, 40);
    strncat(name, ": ragged", 16);
    if (!given)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s is NULL", name);
    enum headwise_status status = HEADWISE_COPY_OPTIONS(ragged, given, name);
    if (status != HEADWISE_OK)
        return status;
    if (ragged->n_sequences < 0 || ragged->n_sequences > INT32_MAX)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: n_sequences is %lld, expected 0 to %ld",
                             where, (long long)ragged->n_sequences, (long)INT32_MAX);
    if (!ragged->query_starts)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: query_starts is NULL", where);
    if (!ragged->key_starts)
        ragged->key_starts = ragged->query_starts;
    status =
        check_starts(where, "query_starts", ragged->query_starts, ragged->n_sequences, query_rows);
    if (status != HEADWISE_OK)
        return status;
    if (key_rows < 0)
        return check_same(where, ragged);
    return check_starts(where,
                        ragged->key_starts == ragged->query_starts ? "query_starts as key_starts"
                                                                   : "key_starts",
                        ragged->key_starts, ragged->n_sequences, key_rows);
}

enum headwise_status
headwise_check_ragged_options(const char *where, const struct headwise_attention_options *options) {
    struct headwise_attention_options all;
    char name[64] = "";
    strncat(name, where, 40);
    strncat(name, ": options", 16);
    enum headwise_status status = HEADWISE_COPY_OPTIONS(&all, options, name);
    if (status != HEADWISE_OK)
        return status;
    const struct {
        const char *name;
        const void *given;
    } refused[] = {{"mask", all.mask},
                   {"past_key", all.past_key},
                   {"past_value", all.past_value},
                   {"present_key", all.present_key},
                   {"present_value", all.present_value}};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (refused[i].given)
            return headwise_fail(HEADWISE_ERR_INVALID,
                                 "%s: %s has no ragged shape, expected NULL with ragged sequences",
                                 where, refused[i].name);
    }
    return HEADWISE_OK;
}
