/* Files for the tests of headwise-io: built in memory, written to a folder of the test's own. */
#ifndef HEADWISE_TESTS_IO_SUPPORT_H
#define HEADWISE_TESTS_IO_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <headwise-io/safetensors.h>

/* The bytes of a file; the array is exactly as long as the file, so that a checker of memory sees a
 * read beyond its end. */
struct io_bytes {
    unsigned char *bytes;
    size_t size;
};

/* length, then header, then n_data bytes of value 1, 2, 3, ... */
static inline struct io_bytes io_build(uint64_t length, const char *header, size_t header_size,
                                       size_t n_data) {
    struct io_bytes file = {malloc(8 + header_size + n_data), 8 + header_size + n_data};
    assert_non_null(file.bytes);
    for (int i = 0; i < 8; i++)
        file.bytes[i] = (unsigned char)(length >> 8 * i);
    memcpy(file.bytes + 8, header, header_size);
    for (size_t i = 0; i < n_data; i++)
        file.bytes[8 + header_size + i] = (unsigned char)(i + 1);
    return file;
}

static inline void io_save(const char *path, const void *bytes, size_t size) {
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(bytes, 1, size, stream), size);
    assert_int_equal(fclose(stream), 0);
}

static inline struct io_bytes io_load(const char *path) {
    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    assert_int_equal(fseek(stream, 0, SEEK_END), 0);
    struct io_bytes file = {NULL, (size_t)ftell(stream)};
    file.bytes = malloc(file.size + 1);
    assert_non_null(file.bytes);
    rewind(stream);
    assert_int_equal(fread(file.bytes, 1, file.size, stream), file.size);
    fclose(stream);
    return file;
}

#endif
