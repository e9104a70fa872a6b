/* JSON into a growing text. */
#include "json/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/scan.h"

void headwise_json_write(struct headwise_json_writer *writer, const char *bytes, size_t size) {
    if (writer->is_out_of_memory)
        return;
    if (size > writer->room - writer->size) {
        size_t room =
            2 * writer->room > writer->size + size ? 2 * writer->room : writer->size + size + 256;
        char *grown = realloc(writer->text, room);
        if (!grown) {
            writer->is_out_of_memory = true;
            return;
        }
        writer->text = grown;
        writer->room = room;
    }
    memcpy(writer->text + writer->size, bytes, size);
    writer->size += size;
}

void headwise_json_write_raw(struct headwise_json_writer *writer, const char *raw) {
    headwise_json_write(writer, raw, strlen(raw));
}

/* Adds a character that cannot stand for itself. */
static void write_escape(struct headwise_json_writer *writer, unsigned char c) {
    static const char values[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *found = strchr(values, c);
    char escape[8];
    if (found)
        snprintf(escape, sizeof escape, "\\%c", letters[found - values]);
    else
        snprintf(escape, sizeof escape, "\\u%04X", c);
    headwise_json_write_raw(writer, escape);
}

void headwise_json_write_text(struct headwise_json_writer *writer, const char *text) {
    size_t left = strlen(text);
    headwise_json_write_raw(writer, "\"");
    while (left > 0) {
        unsigned char c = (unsigned char)*text;
        size_t size = c < 0x80 ? 1 : headwise_json_measure_character(text, left);
        if (size == 0) {
            writer->is_not_utf8 = true;
            return;
        }
        if (c < 0x20 || c == '"' || c == '\\')
            write_escape(writer, c);
        else
            headwise_json_write(writer, text, size);
        text += size;
        left -= size;
    }
    headwise_json_write_raw(writer, "\"");
}

void headwise_json_write_integer(struct headwise_json_writer *writer, int64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    headwise_json_write_raw(writer, text);
}
