/* Makes words of matches and what is between them. */
#include "text/pre_tokenizer.h"

bool headwise_splits_add(const struct headwise_allocator *memory, struct headwise_splits *splits,
                         size_t begin, size_t end) {
    if (begin == end)
        return true;
    if (!headwise_memory_grow(memory, &splits->at, &splits->capacity, splits->n + 1,
                              sizeof *splits->at))
        return false;
    splits->at[splits->n++] = (struct headwise_split){begin, end};
    return true;
}

/* Empty ones count until the end: others may join them. */
static void add(struct headwise_cutter *cutter, size_t begin, size_t end) {
    struct headwise_splits *splits = cutter->splits;
    if (!headwise_memory_grow(cutter->memory, &splits->at, &splits->capacity, splits->n + 1,
                              sizeof *splits->at))
        cutter->failed = true;
    else
        splits->at[splits->n++] = (struct headwise_split){begin, end};
    cutter->has_empty = cutter->has_empty || begin == end;
}

void headwise_cutter_begin(struct headwise_cutter *cutter) {
    cutter->first = cutter->splits->n;
    cutter->was_match = false;
    cutter->has_waiting = false;
}

static void add_or_extend(struct headwise_cutter *cutter, size_t begin, size_t end, bool extend) {
    if (extend && cutter->splits->n > cutter->first)
        cutter->splits->at[cutter->splits->n - 1].end = end;
    else
        add(cutter, begin, end);
}

void headwise_cutter_take(struct headwise_cutter *cutter, size_t begin, size_t end, bool is_match) {
    bool was_match = cutter->was_match;
    cutter->was_match = is_match;
    switch (cutter->behavior) {
    case HEADWISE_SPLIT_REMOVED:
        if (!is_match)
            add(cutter, begin, end);
        break;
    case HEADWISE_SPLIT_ISOLATED:
        add(cutter, begin, end);
        break;
    case HEADWISE_SPLIT_MERGED_WITH_PREVIOUS:
        add_or_extend(cutter, begin, end, is_match && !was_match);
        break;
    case HEADWISE_SPLIT_CONTIGUOUS:
        add_or_extend(cutter, begin, end, is_match == was_match);
        break;
    case HEADWISE_SPLIT_MERGED_WITH_NEXT:
        if (cutter->has_waiting && is_match)
            add(cutter, cutter->waiting.begin, cutter->waiting.end);
        else if (cutter->has_waiting)
            begin = cutter->waiting.begin;
        cutter->has_waiting = is_match;
        cutter->waiting = (struct headwise_split){begin, end};
        if (!is_match)
            add(cutter, begin, end);
        break;
    }
}

void headwise_cutter_end(struct headwise_cutter *cutter) {
    if (cutter->has_waiting)
        add(cutter, cutter->waiting.begin, cutter->waiting.end);
    cutter->has_waiting = false;
    struct headwise_splits *splits = cutter->splits;
    size_t n = cutter->first;
    if (!cutter->has_empty)
        return;
    for (size_t i = n; i < splits->n; i++) {
        if (splits->at[i].begin < splits->at[i].end)
            splits->at[n++] = splits->at[i];
    }
    splits->n = n;
    cutter->has_empty = false;
}
