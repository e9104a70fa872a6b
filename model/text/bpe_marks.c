/* Cuts a text without a pre-tokenizer into words for BPE, where no merge can reach over the cut. */
#include <string.h>

#include "text/model.h"

/* U+2581, which stands for a space in vocabularies of SentencePiece. */
static const char mark[] = "\xe2\x96\x81";
enum { MARK_SIZE = sizeof mark - 1 };

static bool has_mark(const char *at) {
    return memcmp(at, mark, MARK_SIZE) == 0;
}

void headwise_bpe_note_merge(struct headwise_model *model, struct headwise_text left,
                             struct headwise_text right) {
    const char *end = left.bytes + left.size_bytes;
    if (right.size_bytes < MARK_SIZE || !has_mark(right.bytes) || left.size_bytes == 0 ||
        (left.size_bytes >= MARK_SIZE && has_mark(end - MARK_SIZE)))
        return;
    /* <0x0A> stands for another byte than its last: then every byte may be joined. */
    if (left.size_bytes == 6 && memcmp(left.bytes, "<0x", 3) == 0)
        memset(model->joins_mark, true, sizeof model->joins_mark);
    model->joins_mark[(unsigned char)end[-1]] = true;
}

size_t headwise_bpe_cut_end(const struct headwise_model *model, const char *text, size_t begin,
                            size_t end) {
    if (!model->cuts_at_marks)
        return end;
    for (size_t at = begin + 1; at + MARK_SIZE <= end; at++) {
        const char *found = memchr(text + at, mark[0], end - at);
        if (!found)
            break;
        at = (size_t)(found - text);
        if (at + MARK_SIZE > end || !has_mark(found))
            continue;
        bool follows_mark = at >= begin + MARK_SIZE && has_mark(found - MARK_SIZE);
        if (!follows_mark && !model->joins_mark[(unsigned char)found[-1]])
            return at;
    }
    return end;
}
