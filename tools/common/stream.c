/* A stream into a growing text. */
#define _GNU_SOURCE /* fopencookie */
#include "common/stream.h"

#include <stdlib.h>

#include "common/message.h"
#include "headwise-io/file.h"
#include "headwise-io/safetensors.h"

static ssize_t add(void *user, const char *bytes, size_t size) {
    struct headwise_json_writer *text = user;
    headwise_json_write(text, bytes, size);
    return text->is_out_of_memory ? 0 : (ssize_t)size;
}

void stream_open(struct stream *stream) {
    stream->out = fopencookie(&stream->text, "w", (cookie_io_functions_t){.write = add});
}

int stream_write(struct stream *stream, const char *path) {
    int code = EXIT_GOOD;
    bool is_whole = stream->out && !ferror(stream->out);
    if (stream->out && fclose(stream->out) != 0)
        is_whole = false;
    const struct headwise_file_part part = {stream->text.text, stream->text.size};
    if (!is_whole || stream->text.is_out_of_memory)
        code = fail("%s: out of memory", path);
    else if (headwise_file_write(path, &part, 1) != HEADWISE_OK)
        code = fail("%s", headwise_io_last_error());
    free(stream->text.text);
    return code;
}
