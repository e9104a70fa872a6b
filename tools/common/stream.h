/* A stream into memory that knows when memory ran out. */
#ifndef HEADWISE_TOOLS_STREAM_H
#define HEADWISE_TOOLS_STREAM_H

#include <stdio.h>

#include "json/writer.h"

/* Zero at the start; out is where to print, NULL where there was no memory for it.
 *
 * glibc's open_memstream() drops what it has no memory for and calls the stream good. */
struct stream {
    FILE *out;
    struct headwise_json_writer text;
};

void stream_open(struct stream *stream);

/* Ends the stream and writes what was printed, if all of it is there, to the file at path. Prints
 * the line where that fails, and returns an exit code. */
int stream_write(struct stream *stream, const char *path);

#endif
