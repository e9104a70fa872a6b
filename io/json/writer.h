/* JSON into a growing text. The first failure stays, and everything afterwards does nothing, so
 * that it may be asked for once, at the end. */
#ifndef HEADWISE_JSON_WRITER_H
#define HEADWISE_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero at the start. Free text with free(). */
struct headwise_json_writer {
    char *text; /* not ended by a NUL */
    size_t size, room;
    bool is_out_of_memory;
    bool is_not_utf8; /* a text given to _text is not UTF-8 */
};

/* Adds bytes as they are. */
void headwise_json_write(struct headwise_json_writer *writer, const char *bytes, size_t size);

/* Adds the characters of a C string as they are. */
void headwise_json_write_raw(struct headwise_json_writer *writer, const char *raw);

/* Adds a C string of UTF-8 as a text in quotes. */
void headwise_json_write_text(struct headwise_json_writer *writer, const char *text);

void headwise_json_write_integer(struct headwise_json_writer *writer, int64_t value);

#endif
