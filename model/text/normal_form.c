/* Decomposes characters, sorts their marks, and composes them again where a form asks for it. */
#include "text/normal_form.h"

#include <string.h>

#include "text/unicode.h"

struct work {
    struct headwise_form form;
    struct headwise_aligned_change change;
    struct headwise_form_room *room;
    struct headwise_form_item first; /* composing: the character that takes up others */
    bool has_first;
};

static void push(struct work *work, struct headwise_form_items *items,
                 struct headwise_form_item item) {
    struct headwise_aligned *target = work->change.target;
    if (!headwise_memory_grow(target->memory, &items->at, &items->capacity, items->n + 1,
                              sizeof *items->at))
        target->failed = true;
    else
        items->at[items->n++] = item;
}

static void write_item(struct work *work, struct headwise_form_item item) {
    struct headwise_aligned_change *change = &work->change;
    if (work->form.drop_accents && item.c >= 0x300 &&
        headwise_text_class(item.c) & HEADWISE_CLASS_NONSPACING) {
        headwise_aligned_skip(change, item.taken);
        return;
    }
    uint32_t lower[HEADWISE_LOWER_MAX] = {item.c};
    size_t n = work->form.lower ? headwise_text_lower(lower, item.c) : 1;
    headwise_aligned_change(change, lower[0], item.taken);
    if (n == 2)
        headwise_aligned_change(change, lower[1], 0);
}

/* Writes the first character and the marks that stayed behind it. */
static void flush(struct work *work) {
    struct headwise_form_items *kept = &work->room->kept;
    if (work->has_first)
        write_item(work, work->first);
    for (size_t i = 0; i < kept->n; i++)
        write_item(work, kept->at[i]);
    kept->n = 0;
    work->has_first = false;
}

/* Takes the next character in canonical order. */
static void compose(struct work *work, struct headwise_form_item item) {
    struct headwise_form_items *kept = &work->room->kept;
    if (!work->has_first && item.combining != 0) {
        write_item(work, item);
        return;
    }
    if (work->has_first &&
        (kept->n == 0 || kept->at[kept->n - 1].combining < item.combining)) { /* not blocked */
        uint32_t composed = headwise_text_compose(work->first.c, item.c);
        if (composed) {
            work->first.c = composed;
            work->first.taken += item.taken;
            return;
        }
    }
    if (item.combining == 0) {
        flush(work);
        work->first = item;
        work->has_first = true;
        return;
    }
    push(work, kept, item);
}

static void take(struct work *work, struct headwise_form_item item) {
    if (work->form.compose)
        compose(work, item);
    else
        write_item(work, item);
}

/* Sorts the run's marks by class, those of one class in their order, by counting. */
static void sort_run(const struct headwise_form_items *run, struct headwise_form_item *sorted) {
    size_t places[256] = {0}, sum = 0;
    for (size_t i = 0; i < run->n; i++)
        places[run->at[i].combining & 255]++;
    for (int i = 0; i < 256; i++) {
        size_t n = places[i];
        places[i] = sum;
        sum += n;
    }
    for (size_t i = 0; i < run->n; i++)
        sorted[places[run->at[i].combining & 255]++] = run->at[i];
}

static void end_run(struct work *work) {
    struct headwise_form_items *run = &work->room->run, *sorted = &work->room->sorted;
    const struct headwise_form_item *items = run->at;
    bool in_order = true;
    for (size_t i = 1; i < run->n; i++)
        in_order = in_order && run->at[i - 1].combining <= run->at[i].combining;
    if (!in_order) {
        if (!headwise_memory_grow(work->change.target->memory, &sorted->at, &sorted->capacity,
                                  run->n, sizeof *run->at)) {
            work->change.target->failed = true;
            return;
        }
        sort_run(run, sorted->at);
        items = sorted->at;
    }
    for (size_t i = 0; i < run->n; i++)
        take(work, items[i]);
    run->n = 0;
}

static void decompose(struct work *work, uint32_t c) {
    uint32_t parts[HEADWISE_DECOMPOSED_MAX];
    size_t n = headwise_text_decompose(parts, c, work->form.compat);
    for (size_t i = 0; i < n; i++) {
        struct headwise_form_item item = {parts[i], i == 0, headwise_text_combining(parts[i])};
        if (item.combining != 0) {
            push(work, &work->room->run, item);
        } else {
            end_run(work);
            take(work, item);
        }
    }
}

/* Whether a character is the same in this form and is never taken up by one before it; below 0x300
 * (0xa0, 0xc0) and in the scripts that are long texts' own. What comes after may still compose with
 * it. */
static bool is_inert(struct headwise_form form, uint32_t c) {
    if (c < 0x300)
        return c < (form.compat ? 0xa0u : form.compose ? 0x300u : 0xc0u);
    if ((c >= 0x3400 && c <= 0x4dbf) || (c >= 0x4e00 && c <= 0x9fff))
        return true;
    return form.compose && ((c >= 0x400 && c <= 0x482) || (c >= 0x48a && c <= 0x52f) ||
                            (c >= 0x3041 && c <= 0x3096) || (c >= 0x30a1 && c <= 0x30fa) ||
                            (c >= 0xac00 && c <= 0xd7a3));
}

/* Copies characters that stay as they are, up to the last one that the next may change. */
static void copy_inert(struct work *work, size_t at, size_t end) {
    const char *text = work->change.source->text.at;
    size_t stop = at, last = at, size = 0;
    while (stop < end && is_inert(work->form, headwise_utf8_read(text + stop, &size))) {
        last = stop;
        stop += size;
    }
    if (stop < end)
        stop = last;
    if (stop == at)
        return;
    end_run(work);
    flush(work);
    headwise_aligned_put_part(work->change.target, work->change.source, &work->change.cursor, at,
                              stop);
    work->change.at = stop;
}

void headwise_normal_form(struct headwise_aligned *target, const struct headwise_aligned *source,
                          struct headwise_form form, struct headwise_form_room *room) {
    room->run.n = room->kept.n = 0;
    struct work work = {.form = form, .room = room};
    size_t at = 0, end = source->text.size;
    work.change = (struct headwise_aligned_change){.source = source, .target = target, .end = end};
    while (at < end && !target->failed) {
        copy_inert(&work, at, end);
        if (work.change.at > at)
            at = work.change.at;
        if (at < end) {
            size_t size;
            decompose(&work, headwise_utf8_read(source->text.at + at, &size));
            at += size;
        }
    }
    end_run(&work);
    flush(&work);
}

void headwise_form_room_free(const struct headwise_allocator *memory,
                             struct headwise_form_room *room) {
    struct headwise_form_items *all[] = {&room->run, &room->sorted, &room->kept};
    for (size_t i = 0; i < 3; i++)
        headwise_memory_give(memory, all[i]->at, all[i]->capacity, sizeof *all[i]->at);
    *room = (struct headwise_form_room){0};
}
