/* config.json written anew: its members, overridden and edited. */
#include "checkpoint/edit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void headwise_io_edit(struct headwise_io_edits *edits, const char *key,
                      struct headwise_json_slice value) {
    edits->items[edits->n++] = (struct headwise_io_edit){key, value};
}

void headwise_io_edit_integer(struct headwise_io_edits *edits, const char *key, int64_t value) {
    char *text = edits->numbers[edits->n];
    int size = snprintf(text, sizeof *edits->numbers, "%" PRId64, value);
    headwise_io_edit(edits, key, (struct headwise_json_slice){text, (size_t)size});
}

static bool is_edited(const struct headwise_io_edits *edits, const struct headwise_json_text *key) {
    for (size_t i = 0; i < edits->n; i++) {
        if (headwise_json_equals(key, edits->items[i].key))
            return true;
    }
    return false;
}

/* The last value that an object has under a key of another one; size 0: none. */
static struct headwise_json_slice find_text(struct headwise_json_slice object,
                                            const struct headwise_json_text *key) {
    struct headwise_json_slice found = {NULL, 0};
    struct headwise_json_reader json;
    struct headwise_json_text other;
    if (object.size == 0)
        return found;
    headwise_json_begin_slice(&json, object.at, &object);
    headwise_json_enter_object(&json);
    while (headwise_json_next_key(&json, &other))
        headwise_json_skip(&json, headwise_json_compare(key, &other) == 0 ? &found : NULL);
    return found;
}

/* Where the next member comes. */
struct place {
    struct headwise_json_writer *json;
    int indent;
    bool is_first;
};

static void begin_member(struct place *place) {
    char blanks[16];
    headwise_json_write_raw(place->json, place->is_first ? "" : ",");
    snprintf(blanks, sizeof blanks, "\n%*s", place->indent, "");
    if (place->indent > 0)
        headwise_json_write_raw(place->json, blanks);
    place->is_first = false;
}

static void write_value(struct place *place, struct headwise_json_slice value) {
    headwise_json_write_raw(place->json, place->indent > 0 ? ": " : ":");
    headwise_json_write(place->json, value.at, value.size);
}

/* Writes the members of base; with only_new those that other does not have, else with the values of
 * other where it has them. */
static void write_members(struct place *place, struct headwise_json_slice base,
                          struct headwise_json_slice other, bool only_new,
                          const struct headwise_io_edits *edits) {
    struct headwise_json_reader json;
    struct headwise_json_text key;
    struct headwise_json_slice value;
    if (base.size == 0)
        return;
    headwise_json_begin_slice(&json, base.at, &base);
    headwise_json_enter_object(&json);
    while (headwise_json_next_key(&json, &key)) {
        headwise_json_skip(&json, &value);
        struct headwise_json_slice found = find_text(other, &key);
        if (is_edited(edits, &key) || (only_new && found.size > 0))
            continue;
        begin_member(place);
        headwise_json_write(place->json, key.raw.at - 1, key.raw.size + 2); /* with its quotes */
        write_value(place, found.size > 0 ? found : value);
    }
}

void headwise_io_write_object(struct headwise_json_writer *json, struct headwise_json_slice base,
                              struct headwise_json_slice over,
                              const struct headwise_io_edits *edits, int indent) {
    struct place place = {json, indent, true};
    char end[16];
    headwise_json_write_raw(json, "{");
    write_members(&place, base, over, false, edits);
    write_members(&place, over, base, true, edits);
    for (size_t i = 0; i < edits->n; i++) {
        if (edits->items[i].value.size == 0)
            continue;
        begin_member(&place);
        headwise_json_write_text(json, edits->items[i].key);
        write_value(&place, edits->items[i].value);
    }
    snprintf(end, sizeof end, "\n%*s}", indent > 2 ? indent - 2 : 0, "");
    headwise_json_write_raw(json, indent > 0 ? end : "}");
}
