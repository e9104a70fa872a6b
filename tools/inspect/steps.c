/* What the steps share: failures of the library, and the keys that a query sees. */
#include "inspect/steps.h"

#include "common/message.h"

int fail_library(const struct collecting *collecting) {
    return fail("%s: %s", collecting->path, headwise_last_error());
}

int64_t count_visible(const struct findings *f, const struct headwise_attention_options *options,
                      int64_t position) {
    int64_t low = 0, high = f->n_keys - 1;
    if (f->causal != HEADWISE_CAUSAL_NONE && high > position)
        high = position;
    if (options->window_is_set && options->window_right >= 0 &&
        high - position > options->window_right)
        high = position + options->window_right;
    if (options->window_is_set && options->window_left >= 0 &&
        position - low > options->window_left)
        low = position - options->window_left;
    int64_t first = options->window_first < low ? options->window_first : low;
    first = first < high + 1 ? first : high + 1;
    return (high >= low ? high - low + 1 : 0) + (first > 0 ? first : 0);
}
