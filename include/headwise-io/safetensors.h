/* Reading and writing safetensors files. A library of its own, headwise-io: the core has no file
 * access.
 *
 * A safetensors file is an 8-byte little-endian length N, N bytes of JSON, then a buffer:
 *   {"__metadata__": {text: text}, NAME: {"dtype": T, "shape": [...], "data_offsets": [begin,
 * end]}} with offsets counted from the start of the buffer, row-major elements, little-endian.
 * Source: the format's README and reference reader, github.com/huggingface/safetensors at 24b0b28.
 *
 * Every function is safe on any bytes whatsoever. An object is used by one thread at a time while
 * it is opened or closed; reading an open one is safe from any number of threads. */
#ifndef HEADWISE_IO_SAFETENSORS_H
#define HEADWISE_IO_SAFETENSORS_H

#include <headwise/common.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Element types of files. Tensors of others that writers know, of 8 bits and less (F8_E4M3, F4,
 * ...) and complex numbers, cannot be used: see headwise_safetensors_require(). */
enum headwise_file_dtype {
    HEADWISE_FILE_BOOL = 0, /* one byte: 0 is false, anything else true */
    HEADWISE_FILE_U8 = 1,
    HEADWISE_FILE_I8 = 2,
    HEADWISE_FILE_U16 = 3,
    HEADWISE_FILE_I16 = 4,
    HEADWISE_FILE_F16 = 5, /* IEEE 754 binary16 */
    HEADWISE_FILE_BF16 = 6,
    HEADWISE_FILE_U32 = 7,
    HEADWISE_FILE_I32 = 8,
    HEADWISE_FILE_F32 = 9,
    HEADWISE_FILE_U64 = 10,
    HEADWISE_FILE_I64 = 11,
    HEADWISE_FILE_F64 = 12
};

/* Bytes of one element, 0 for a value that is no headwise_file_dtype. */
HEADWISE_API size_t headwise_file_dtype_size(enum headwise_file_dtype dtype);

/* The name in the file, "F32", "BOOL", ...; "?" for a value that is no headwise_file_dtype. */
HEADWISE_API const char *headwise_file_dtype_name(enum headwise_file_dtype dtype);

/* Most axes of a tensor. */
#define HEADWISE_FILE_MAX_RANK 8

/* A named array. Of an open file: name, data and everything else stay valid until it is closed, and
 * n_elements * size of an element = size_bytes fits size_t. Rank 0 is one element. */
struct headwise_file_tensor {
    const char *name; /* UTF-8 */
    enum headwise_file_dtype dtype;
    int rank; /* 0 ... HEADWISE_FILE_MAX_RANK */
    int64_t shape[HEADWISE_FILE_MAX_RANK];
    size_t n_elements;
    size_t size_bytes;
    const void
        *data; /* at any address, aligned to nothing; little-endian; not NULL in an open file */
};

/* An entry of __metadata__: UTF-8 texts. */
struct headwise_file_metadata {
    const char *key;
    const char *value;
};

typedef struct headwise_safetensors headwise_safetensors;

/* Opens the file at path, a regular file, maps it, checks its whole header, and stores the object
 * in *file. Tensor data is read only when it is used. While the object is open nobody may shorten
 * the file: reading what was cut off raises SIGBUS (replacing it by rename, as
 * headwise_safetensors_write does, is harmless). Where that cannot be known, open a copy.
 *
 * A header of N bytes costs at most about 5 N bytes of memory and time in proportion to N (times
 * its logarithm where tensors are not in the order of their data).
 *
 * HEADWISE_ERR_FORMAT, for everything that makes a file ambiguous or unsafe to read: the header is
 * longer than the file or than 100,000,000 bytes, does not begin with '{', is not JSON or not
 * UTF-8, nests deeper than 512 levels; an entry lacks dtype, shape or data_offsets, has one of them
 * twice or in another form; a shape whose size overflows or differs from end - begin; end < begin;
 * tensors that overlap, leave a hole, or reach beyond the buffer; bytes after the last tensor;
 * metadata that is not text. Data offsets that are not multiples of the element size are fine.
 * HEADWISE_ERR_IO: the file cannot be opened, examined or mapped, or is not a regular file.
 * HEADWISE_ERR_INVALID: an argument is NULL. HEADWISE_ERR_NO_MEMORY. On failure *file is unchanged
 * and headwise_io_last_error() names path, tensor and expectation.
 *
 * What nobody needs does not matter: a tensor of an unknown dtype, with more than
 * HEADWISE_FILE_MAX_RANK axes, one that comes twice, or whose name no C string can hold (it has
 * U+0000 or half a surrogate pair) is passed over here, by _count, _at and _find, and is an error
 * of headwise_safetensors_require(). Metadata entries that no C string can hold are passed over; of
 * those with the same key the last counts. */
HEADWISE_API enum headwise_status headwise_safetensors_open(headwise_safetensors **file,
                                                            const char *path);

/* Opens the file at path, but reads all of it into memory first, so that nothing that happens to it
 * later matters: a file that is cut while it is open cannot raise SIGBUS. HEADWISE_ERR_NO_MEMORY
 * where the file is larger than what can be had. */
HEADWISE_API enum headwise_status headwise_safetensors_open_copy(headwise_safetensors **file,
                                                                 const char *path);

/* Opens a file that is already in memory: size_bytes bytes, at any address, which must stay
 * unchanged until the object is closed. name stands for the path in error texts and is copied.
 * bytes may be NULL where size_bytes is 0 (which is then refused as too short). */
HEADWISE_API enum headwise_status headwise_safetensors_open_memory(headwise_safetensors **file,
                                                                   const void *bytes,
                                                                   size_t size_bytes,
                                                                   const char *name);

/* Unmaps, frees. NULL is allowed. */
HEADWISE_API void headwise_safetensors_close(headwise_safetensors *file);

/* The path, or the name given to open_memory. file must not be NULL, here and in the lookups below.
 */
HEADWISE_API const char *headwise_safetensors_path(const headwise_safetensors *file);

/* Number of usable tensors; tensor number index in the order of their data, NULL where index is too
 * large; the usable tensor called name, found by hash, NULL where there is none or name is NULL. */
HEADWISE_API size_t headwise_safetensors_count(const headwise_safetensors *file);
HEADWISE_API const struct headwise_file_tensor *
headwise_safetensors_at(const headwise_safetensors *file, size_t index);
HEADWISE_API const struct headwise_file_tensor *
headwise_safetensors_find(const headwise_safetensors *file, const char *name);

/* Sets *tensor to the tensor called name. HEADWISE_ERR_FORMAT, *tensor unchanged: there is none, or
 * it cannot be used; headwise_io_last_error() says why. HEADWISE_ERR_INVALID: an argument is NULL.
 */
HEADWISE_API enum headwise_status
headwise_safetensors_require(const struct headwise_file_tensor **tensor,
                             const headwise_safetensors *file, const char *name);

/* Metadata: number of entries; entry number index in the order of the file, NULL where index is too
 * large; the value of key, NULL where there is none or key is NULL. */
HEADWISE_API size_t headwise_safetensors_metadata_count(const headwise_safetensors *file);
HEADWISE_API const struct headwise_file_metadata *
headwise_safetensors_metadata_at(const headwise_safetensors *file, size_t index);
HEADWISE_API const char *headwise_safetensors_metadata(const headwise_safetensors *file,
                                                       const char *key);

/* Reads all n_elements of a tensor of this file into dst, converted; dst is the caller's, aligned
 * for its type, and does not overlap the file. f32, f64: from every type. Rounded to nearest even
 * where the value does not fit exactly; finite F64 beyond the range of f32 become infinite. BOOL
 * gives 0 and 1. i64: from BOOL and all integer types; U64 above INT64_MAX is refused. bool: from
 * BOOL only, 0 and 1 whatever the byte was. HEADWISE_ERR_INVALID: an argument is NULL (dst may be
 * where there are no elements). HEADWISE_ERR_FORMAT: the type is none of those, or a value does not
 * fit. dst is then untouched, and headwise_io_last_error() names file and tensor. */
HEADWISE_API enum headwise_status
headwise_safetensors_read_f32(float *dst, const headwise_safetensors *file,
                              const struct headwise_file_tensor *tensor);
HEADWISE_API enum headwise_status
headwise_safetensors_read_f64(double *dst, const headwise_safetensors *file,
                              const struct headwise_file_tensor *tensor);
HEADWISE_API enum headwise_status
headwise_safetensors_read_i64(int64_t *dst, const headwise_safetensors *file,
                              const struct headwise_file_tensor *tensor);
HEADWISE_API enum headwise_status
headwise_safetensors_read_bool(uint8_t *dst, const headwise_safetensors *file,
                               const struct headwise_file_tensor *tensor);

/* Writes a file with these tensors and metadata entries (either count may be 0). Of a tensor name,
 * dtype, rank, shape and data count; n_elements and size_bytes are not read. Data is taken as it
 * is, at any address; it may be NULL where a size is 0.
 *
 * Widest elements first, so that every tensor is aligned to its element size in a file that is
 * mapped; apart from that the given order is kept. The same arguments give the same bytes.
 *
 * The file is written whole under a temporary name in the same folder, flushed to the disk, then
 * renamed: path names either what it named before or the whole new file, also after a crash. A
 * symbolic link is followed. Something that exists and is no regular file (/dev/null, a pipe) is
 * written to directly.
 *
 * HEADWISE_ERR_INVALID: an argument is NULL, a name or key is given twice or is not UTF-8, a tensor
 * is called __metadata__, a dtype, rank or size is out of range, or a product of sizes overflows;
 * nothing was written. HEADWISE_ERR_IO: no file could be made, written or renamed; nothing is left
 * behind. HEADWISE_ERR_NO_MEMORY. headwise_io_last_error() names path, tensor and expectation. */
HEADWISE_API enum headwise_status
headwise_safetensors_write(const char *path, const struct headwise_file_tensor *tensors,
                           size_t n_tensors, const struct headwise_file_metadata *metadata,
                           size_t n_metadata);

/* n elements of f32 to F16 or BF16, rounded to nearest even (too large: infinity; NaN: a quiet
 * NaN). The arrays do not overlap. */
HEADWISE_API void headwise_f16_from_f32(uint16_t *dst, const float *src, size_t n);
HEADWISE_API void headwise_bf16_from_f32(uint16_t *dst, const float *src, size_t n);

/* Back to f32, exactly. */
HEADWISE_API void headwise_f32_from_f16(float *dst, const uint16_t *src, size_t n);
HEADWISE_API void headwise_f32_from_bf16(float *dst, const uint16_t *src, size_t n);

/* One line, without a newline or any other control character, about the last call of the calling
 * thread into headwise-io that failed: "model.safetensors: tensor "W_Q": ...". Empty before the
 * first failure; a successful call leaves it. The storage belongs to the thread. */
HEADWISE_API const char *headwise_io_last_error(void);

#ifdef __cplusplus
}
#endif
#endif
