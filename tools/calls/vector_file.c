/* Keeps rows in a part, then writes them as .npy or .safetensors. */
#define _POSIX_C_SOURCE 200809L
#include "calls/vector_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/message.h"
#include "headwise-io/file.h"
#include "headwise-io/safetensors.h"

enum { HEAD_BYTES = 1024, NPY_HEAD = 128 }; /* a line of options, filled up with blanks */

static bool ends_with(const char *path, const char *end) {
    size_t n = strlen(path), k = strlen(end);
    return n > k && strcmp(path + n - k, end) == 0;
}

bool vector_file_is_named(const char *path) {
    return ends_with(path, ".npy") || ends_with(path, ".safetensors");
}

int vector_precision_read(enum vector_precision *precision, const char *name) {
    static const char *const names[] = {"f32", "f16", "int8", "uint8", "binary", "ubinary"};
    *precision = VECTORS_F32;
    for (size_t i = 0; name && i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0) {
            *precision = (enum vector_precision)i;
            return EXIT_GOOD;
        }
    }
    return name ? fail("option --precision is \"%s\", expected f32, f16, int8, uint8, binary or "
                       "ubinary",
                       name)
                : EXIT_GOOD;
}

static int fail_part(const struct vector_file *file, const char *problem) {
    return fail("%s: %s: %s", file->part, problem, strerror(errno));
}

/* The head of the part that is there must be the same; rows that are cut short are left out. */
static int go_on(struct vector_file *file, const char head[HEAD_BYTES]) {
    char found[HEAD_BYTES];
    struct stat info;
    size_t row = (size_t)file->columns * sizeof(float);
    if (fread(found, 1, HEAD_BYTES, file->stream) != HEAD_BYTES ||
        memcmp(found, head, HEAD_BYTES) != 0)
        return fail("%s: was made with other options or another input, expected \"%.200s\": remove "
                    "it to begin anew",
                    file->part, head);
    if (fstat(fileno(file->stream), &info) != 0)
        return fail_part(file, "cannot be examined");
    file->rows = (int64_t)(((size_t)info.st_size - HEAD_BYTES) / row);
    off_t end = (off_t)(HEAD_BYTES + (size_t)file->rows * row);
    if (ftruncate(fileno(file->stream), end) != 0 || fseeko(file->stream, end, SEEK_SET) != 0)
        return fail_part(file, "cannot be gone on with");
    return EXIT_GOOD;
}

int vector_file_begin(struct vector_file *file, const char *path, const char *options,
                      int64_t columns, bool resume) {
    char head[HEAD_BYTES];
    size_t n = strlen(path), n_options = strlen(options);
    *file = (struct vector_file){.path = path, .columns = columns, .part = malloc(n + 6)};
    if (!file->part)
        return fail("out of memory");
    memcpy(file->part, path, n);
    memcpy(file->part + n, ".part", 6);
    memset(head, ' ', sizeof head);
    memcpy(head, options, n_options < HEAD_BYTES - 1 ? n_options : HEAD_BYTES - 1);
    head[HEAD_BYTES - 1] = '\n';
    file->stream = fopen(file->part, "r+b");
    if (file->stream && !resume)
        return fail(
            "%s: is there from an earlier run: give --resume to go on with it, or remove it",
            file->part);
    if (file->stream)
        return go_on(file, head);
    file->stream = fopen(file->part, "wb");
    if (!file->stream)
        return fail_part(file, "cannot be made");
    file->is_new = true;
    if (fwrite(head, 1, HEAD_BYTES, file->stream) != HEAD_BYTES || fflush(file->stream) != 0)
        return fail_part(file, "cannot be written");
    return EXIT_GOOD;
}

int vector_file_add(struct vector_file *file, const float *rows, int64_t n) {
    size_t count = (size_t)(n * file->columns);
    if (fwrite(rows, sizeof *rows, count, file->stream) != count || fflush(file->stream) != 0)
        return fail_part(file, "cannot be written");
    file->rows += n;
    return EXIT_GOOD;
}

/* Each column in steps of (largest - least) / 255, as sentence-transformers' quantize_embeddings:
 * truncated towards zero. */
static void round_columns(unsigned char *dst, const float *rows, int64_t n, int64_t columns,
                          int offset) {
    for (int64_t c = 0; c < columns; c++) {
        float least = rows[c], largest = rows[c];
        for (int64_t r = 1; r < n; r++) {
            float x = rows[r * columns + c];
            least = x < least ? x : least;
            largest = x > largest ? x : largest;
        }
        float step = (largest - least) / 255;
        for (int64_t r = 0; r < n; r++) {
            float x = step > 0 ? (rows[r * columns + c] - least) / step : 0;
            dst[r * columns + c] = (unsigned char)((int)(x - (float)offset) & 0xff);
        }
    }
}

static void pack_signs(unsigned char *dst, const float *rows, int64_t n, int64_t columns,
                       int offset) {
    int64_t bytes = (columns + 7) / 8;
    for (int64_t r = 0; r < n; r++) {
        for (int64_t b = 0; b < bytes; b++) {
            int byte = 0;
            for (int64_t c = b * 8; c < b * 8 + 8; c++)
                byte = byte << 1 | (c < columns && rows[r * columns + c] > 0);
            dst[r * bytes + b] = (unsigned char)((byte - offset) & 0xff);
        }
    }
}

/* What is written: bytes of a type, in rows. */
struct written {
    const void *data;
    void *owned;
    enum headwise_file_dtype dtype;
    const char *npy;
    int64_t columns;
    size_t size_bytes;
};

static int convert(struct written *out, const struct vector_file *file, const float *rows,
                   enum vector_precision precision) {
    static const char *const npy[] = {"<f4", "<f2", "|i1", "|u1", "|i1", "|u1"};
    static const enum headwise_file_dtype types[] = {HEADWISE_FILE_F32, HEADWISE_FILE_F16,
                                                     HEADWISE_FILE_I8,  HEADWISE_FILE_U8,
                                                     HEADWISE_FILE_I8,  HEADWISE_FILE_U8};
    bool signs = precision == VECTORS_BINARY || precision == VECTORS_UBINARY;
    *out = (struct written){.data = rows,
                            .dtype = types[precision],
                            .npy = npy[precision],
                            .columns = signs ? (file->columns + 7) / 8 : file->columns};
    size_t count = (size_t)(file->rows * out->columns);
    out->size_bytes = count * headwise_file_dtype_size(out->dtype);
    if (precision == VECTORS_F32)
        return EXIT_GOOD;
    out->data = out->owned = malloc(out->size_bytes + 1);
    if (!out->owned)
        return fail("out of memory");
    int offset = precision == VECTORS_INT8 || precision == VECTORS_BINARY ? 128 : 0;
    if (precision == VECTORS_F16)
        headwise_f16_from_f32(out->owned, rows, count);
    else if (signs)
        pack_signs(out->owned, rows, file->rows, file->columns, offset);
    else if (file->rows > 0)
        round_columns(out->owned, rows, file->rows, file->columns, offset);
    return EXIT_GOOD;
}

static int write_npy(const struct vector_file *file, const struct written *out) {
    char head[NPY_HEAD + 1];
    memset(head, ' ', NPY_HEAD);
    memcpy(head, "\x93NUMPY\x01\x00\x76\x00", 10); /* version 1.0, 118 bytes follow */
    int n = snprintf(head + 10, NPY_HEAD - 10,
                     "{'descr': '%s', 'fortran_order': False, 'shape': (%lld, %lld), }", out->npy,
                     (long long)file->rows, (long long)out->columns);
    head[10 + n] = ' ';
    head[NPY_HEAD - 1] = '\n';
    const struct headwise_file_part parts[] = {{head, NPY_HEAD}, {out->data, out->size_bytes}};
    return headwise_file_write(file->path, parts, 2) ? fail("%s", headwise_io_last_error())
                                                     : EXIT_GOOD;
}

static int write_safetensors(const struct vector_file *file, const struct written *out) {
    const struct headwise_file_tensor tensor = {.name = "embeddings",
                                                .dtype = out->dtype,
                                                .rank = 2,
                                                .shape = {file->rows, out->columns},
                                                .data = out->data};
    return headwise_safetensors_write(file->path, &tensor, 1, NULL, 0)
               ? fail("%s", headwise_io_last_error())
               : EXIT_GOOD;
}

int vector_file_finish(struct vector_file *file, enum vector_precision precision) {
    struct written out;
    size_t size = HEAD_BYTES + (size_t)(file->rows * file->columns) * sizeof(float);
    if (fclose(file->stream) != 0) {
        file->stream = NULL;
        return fail_part(file, "cannot be written");
    }
    file->stream = fopen(file->part, "rb");
    char *bytes = file->stream ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fileno(file->stream), 0)
                               : MAP_FAILED;
    if (bytes == MAP_FAILED)
        return fail_part(file, "cannot be read again");
    int code = convert(&out, file, (const float *)(const void *)(bytes + HEAD_BYTES), precision);
    if (!code)
        code =
            ends_with(file->path, ".npy") ? write_npy(file, &out) : write_safetensors(file, &out);
    free(out.owned);
    munmap(bytes, size);
    if (!code && remove(file->part) != 0)
        code = fail_part(file, "cannot be removed");
    return code;
}

void vector_file_close(struct vector_file *file) {
    if (file->stream) {
        fclose(file->stream);
        if (file->is_new && file->rows == 0)
            (void)remove(file->part); /* nothing to go on with */
    }
    free(file->part);
    *file = (struct vector_file){0};
}
