/* config.json written anew: its members, overridden and edited. */
#ifndef HEADWISE_IO_CHECKPOINT_EDIT_H
#define HEADWISE_IO_CHECKPOINT_EDIT_H

#include "checkpoint/config.h"
#include "json/writer.h"

enum { HEADWISE_IO_MOST_EDITS = 16 };

/* Keys that get another value, or go. */
struct headwise_io_edits {
    struct headwise_io_edit {
        const char *key;
        struct headwise_json_slice value; /* size 0: the key goes */
    } items[HEADWISE_IO_MOST_EDITS];
    size_t n;
    char numbers[HEADWISE_IO_MOST_EDITS][24]; /* what values of _edit_integer point to */
};

void headwise_io_edit(struct headwise_io_edits *edits, const char *key,
                      struct headwise_json_slice value);
void headwise_io_edit_integer(struct headwise_io_edits *edits, const char *key, int64_t value);

/* Writes an object: the members of base, with the values of over where it has them too, then those
 * that only over has, then the edits. Either object may be empty. indent: blanks before a member;
 * 0: all in one line. */
void headwise_io_write_object(struct headwise_json_writer *json, struct headwise_json_slice base,
                              struct headwise_json_slice over,
                              const struct headwise_io_edits *edits, int indent);

#endif
