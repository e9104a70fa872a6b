/* Keeps for a changed text where each of its characters comes from. */
#include "text/aligned.h"

#include <string.h>

#include "text/unicode.h"

void headwise_aligned_clear(struct headwise_aligned *aligned) {
    aligned->text.size = 0;
    aligned->n_pieces = 0;
    aligned->failed = false;
}

void headwise_aligned_free(struct headwise_aligned *aligned) {
    headwise_bytes_free(aligned->memory, &aligned->text);
    headwise_memory_give(aligned->memory, aligned->pieces, aligned->capacity,
                         sizeof *aligned->pieces);
    *aligned = (struct headwise_aligned){.memory = aligned->memory};
}

static void add_piece(struct headwise_aligned *aligned, size_t from, size_t to) {
    if (!headwise_memory_grow(aligned->memory, &aligned->pieces, &aligned->capacity,
                              aligned->n_pieces + 1, sizeof *aligned->pieces)) {
        aligned->failed = true;
        return;
    }
    aligned->pieces[aligned->n_pieces++] =
        (struct headwise_aligned_piece){aligned->text.size, from, to};
}

static void add_bytes(struct headwise_aligned *aligned, const char *bytes, size_t size) {
    if (!aligned->failed && !headwise_bytes_append(aligned->memory, &aligned->text, bytes, size))
        aligned->failed = true;
}

void headwise_aligned_put_run(struct headwise_aligned *aligned, const char *bytes, size_t size,
                              size_t from) {
    if (size == 0)
        return;
    const struct headwise_aligned_piece *last =
        aligned->n_pieces > 0 ? &aligned->pieces[aligned->n_pieces - 1] : NULL;
    if (!last || last->to != HEADWISE_ALIGNED_RUN ||
        from != last->from + (aligned->text.size - last->at))
        add_piece(aligned, from, HEADWISE_ALIGNED_RUN);
    add_bytes(aligned, bytes, size);
}

void headwise_aligned_put(struct headwise_aligned *aligned, const char *bytes, size_t size,
                          struct headwise_origin origin) {
    if (size == 0)
        return;
    if (headwise_utf8_size((unsigned char)bytes[0]) == size && origin.to - origin.from == size) {
        headwise_aligned_put_run(aligned, bytes, size, origin.from);
        return;
    }
    const struct headwise_aligned_piece *last =
        aligned->n_pieces > 0 ? &aligned->pieces[aligned->n_pieces - 1] : NULL;
    if (!last || last->from != origin.from || last->to != origin.to)
        add_piece(aligned, origin.from, origin.to);
    add_bytes(aligned, bytes, size);
}

void headwise_aligned_put_character(struct headwise_aligned *aligned, uint32_t c,
                                    struct headwise_origin origin) {
    char bytes[4];
    headwise_aligned_put(aligned, bytes, headwise_utf8_write(bytes, c), origin);
}

/* Sets the cursor to the piece that at lies in: by single steps near it, else by halving. */
static const struct headwise_aligned_piece *find_piece(const struct headwise_aligned *aligned,
                                                       struct headwise_aligned_cursor *cursor,
                                                       size_t at) {
    const struct headwise_aligned_piece *pieces = aligned->pieces;
    size_t n = aligned->n_pieces, i = cursor->piece < n ? cursor->piece : 0;
    for (int step = 0; step < 8; step++) {
        if (pieces[i].at > at)
            break;
        if (i + 1 == n || pieces[i + 1].at > at)
            return cursor->piece = i, &pieces[i];
        i++;
    }
    size_t low = 0, high = n;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (pieces[middle].at <= at)
            low = middle;
        else
            high = middle;
    }
    return cursor->piece = low, &pieces[low];
}

struct headwise_origin headwise_aligned_origin(const struct headwise_aligned *aligned,
                                               struct headwise_aligned_cursor *cursor, size_t at) {
    const struct headwise_aligned_piece *piece = find_piece(aligned, cursor, at);
    if (piece->to != HEADWISE_ALIGNED_RUN)
        return (struct headwise_origin){piece->from, piece->to};
    const char *text = aligned->text.at;
    while (at > piece->at && headwise_utf8_continues(text[at]))
        at--;
    size_t from = piece->from + (at - piece->at);
    return (struct headwise_origin){from, from + headwise_utf8_size((unsigned char)text[at])};
}

void headwise_aligned_put_part(struct headwise_aligned *aligned,
                               const struct headwise_aligned *from,
                               struct headwise_aligned_cursor *cursor, size_t begin, size_t end) {
    while (begin < end) {
        const struct headwise_aligned_piece *piece = find_piece(from, cursor, begin);
        size_t i = cursor->piece + 1;
        size_t stop = i < from->n_pieces && from->pieces[i].at < end ? from->pieces[i].at : end;
        const char *bytes = from->text.at + begin;
        if (piece->to == HEADWISE_ALIGNED_RUN) {
            headwise_aligned_put_run(aligned, bytes, stop - begin,
                                     piece->from + (begin - piece->at));
            begin = stop;
        } else { /* by characters: a part of a whole may have the whole's size */
            size_t size = headwise_utf8_size((unsigned char)*bytes);
            headwise_aligned_put(aligned, bytes, size,
                                 (struct headwise_origin){piece->from, piece->to});
            begin += size;
        }
    }
}

void headwise_aligned_skip(struct headwise_aligned_change *change, size_t n) {
    const char *text = change->source->text.at;
    for (size_t i = 0; i < n && change->at < change->end; i++)
        change->at += headwise_utf8_size((unsigned char)text[change->at]);
}

void headwise_aligned_change(struct headwise_aligned_change *change, uint32_t c, size_t taken) {
    struct headwise_origin origin = {0, 0};
    if (taken > 0 && change->at < change->end) {
        origin = headwise_aligned_origin(change->source, &change->cursor, change->at);
        headwise_aligned_skip(change, taken);
    } else if (change->at > change->begin) {
        origin = headwise_aligned_origin(change->source, &change->cursor, change->at - 1);
    } else if (change->at < change->end) { /* nothing is before: an empty origin at the beginning */
        origin = headwise_aligned_origin(change->source, &change->cursor, change->at);
        origin.to = origin.from;
    }
    headwise_aligned_put_character(change->target, c, origin);
}
