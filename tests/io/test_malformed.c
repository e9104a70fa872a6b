/* Files that must be refused, each with a line that says why, and odd ones that must load. */
#define _POSIX_C_SOURCE 200809L
#include "io_support.h"

#include <sys/stat.h>
#include <unistd.h>

static const char *const file_name = "malformed.safetensors";

#define A "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}"

static const struct {
    const char *header;
    size_t n_data;
    const char *expected; /* part of the error line */
} cases[] = {
    /* the header itself */
    {"", 0, "does not begin with '{'"},
    {"[1,2]", 0, "does not begin with '{'"},
    {" {" A "}", 8, "does not begin with '{'"},
    {"{" A, 8, "not usable JSON"},
    {"{" A "} x", 8, "not usable JSON"},
    {"{\"__metadata__\":{},\"__metadata__\":{}," A "}", 8, "duplicate"},
    {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8,
     "duplicate"},
    {"{\"a\xff\":{}}", 0, "not usable JSON"},
    {"{\"a\\u0000b\":{}}", 0, "has no dtype"},
    {"{\"__metadata__\":{\"k\":1}," A "}", 8, "__metadata__ \"k\" is no text"},
    {"{\"__metadata__\":[]," A "}", 8, "__metadata__ is no JSON object"},
    /* dtype */
    {"{\"a\":7}", 0, "tensor \"a\": its entry is no JSON object"},
    {"{\"a\":{\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "tensor \"a\": has no dtype"},
    {"{\"a\":{\"dtype\":5,\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "has no dtype"},
    /* shape */
    {"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,8]}}", 8, "has no shape"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":2,\"data_offsets\":[0,8]}}", 8, "has no shape"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", 8, "in its shape"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2.0],\"data_offsets\":[0,8]}}", 8, "in its shape"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[\"2\"],\"data_offsets\":[0,8]}}", 8, "in its shape"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[99999999999999999999],\"data_offsets\":[0,8]}}", 8,
     "in its shape"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,0]}}", 0,
     "the product of its shape overflows"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904],\"data_offsets\":[0,0]}}", 0,
     "the product of its shape overflows"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4,0],\"data_offsets\":[0,0]}}", 0,
     "the product of its shape overflows"},
    /* offsets */
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", 8, "has no data_offsets"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0]}}", 8, "has no data_offsets"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8,16]}}", 8,
     "has no data_offsets"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[-8,0]}}", 8, "has no data_offsets"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}", 8,
     "end at 0, before they begin at 8"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 7,
     "end at 8, but the file has 7 bytes of data"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[9223372036854775799,"
     "9223372036854775807]}}",
     8, "but the file has 8 bytes"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}", 8,
     "hold 8 bytes, expected 12 for its shape and dtype F32"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,8]}}", 8, "expected 4"},
    /* cover */
    {"{" A ",\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]}}", 8,
     "tensor \"b\": data begins at 4, expected 8 (it overlaps"},
    {"{" A ",\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "overlaps"},
    {"{" A ",\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[9,13]}}", 13,
     "tensor \"b\": data begins at 9, expected 8 (there is a hole"},
    {"{\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[1,5]}}", 5, "there is a hole"},
    {"{" A "}", 9, "has 1 bytes after its last tensor"},
    {"{}", 1, "has 1 bytes after its last tensor"},
    /* a name that would break the one-line rule */
    {"{\"a\\nb\\u001b\":{\"dtype\":3,\"shape\":[],\"data_offsets\":[0,0]}}", 0, "tensor \"a?b?\""},
};

/* The file is refused from memory and from disk, with the same line. */
static void expect_refused(struct io_bytes bytes, const char *expected) {
    headwise_safetensors *const untouched = (headwise_safetensors *)&bytes;
    headwise_safetensors *file = untouched;
    enum headwise_status status =
        headwise_safetensors_open_memory(&file, bytes.bytes, bytes.size, file_name);
    if (status != HEADWISE_ERR_FORMAT || !strstr(headwise_io_last_error(), expected))
        fail_msg("status %d, line \"%s\", expected \"%s\"", status, headwise_io_last_error(),
                 expected);
    assert_ptr_equal(file, untouched);
    assert_ptr_equal(strstr(headwise_io_last_error(), file_name), headwise_io_last_error());

    char line[1024];
    snprintf(line, sizeof line, "%s", headwise_io_last_error());
    io_save(file_name, bytes.bytes, bytes.size);
    assert_int_equal(headwise_safetensors_open(&file, file_name), HEADWISE_ERR_FORMAT);
    assert_string_equal(headwise_io_last_error(), line);
    assert_ptr_equal(file, untouched);
    unlink(file_name);
    free(bytes.bytes);
}

static void test_cases(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t size = strlen(cases[i].header);
        expect_refused(io_build(size, cases[i].header, size, cases[i].n_data), cases[i].expected);
    }
}

static void test_lengths(void **state) {
    (void)state;
    static const char header[] = "{" A "}";
    size_t size = sizeof header - 1;
    expect_refused(io_build(size + 9, header, size, 8), "header length is");
    expect_refused(io_build(UINT64_MAX, header, size, 8),
                   "header length is 18446744073709551615, but only");
    expect_refused(io_build(UINT64_MAX - 7, header, size, 8), "but only");
    expect_refused(io_build((uint64_t)1 << 63, header, size, 8), "but only");
    expect_refused(io_build(0, header, size, 8), "does not begin with '{'");
    expect_refused(io_build(size - 1, header, size, 8), "not usable JSON");
}

/* Every beginning of a good file, the empty one included. */
static void test_truncated(void **state) {
    (void)state;
    static const char header[] = "{" A "}";
    size_t size = sizeof header - 1;
    for (size_t n = 0; n < 8 + size + 8; n++) {
        struct io_bytes bytes = io_build(size, header, size, 8);
        bytes.bytes = realloc(bytes.bytes, n ? n : 1);
        assert_non_null(bytes.bytes);
        bytes.size = n;
        expect_refused(bytes, "");
    }
}

/* Deeper than any parser should follow. */
static void test_nesting(void **state) {
    (void)state;
    enum { DEPTH = 100000 };
    static const char begin[] = "{\"a\":{\"x\":";
    size_t n = strlen(begin);
    char *header = malloc(n + DEPTH);
    assert_non_null(header);
    memcpy(header, begin, n);
    memset(header + n, '[', DEPTH);
    expect_refused(io_build(n + DEPTH, header, n + DEPTH, 0), "deeper");
    free(header);
}

/* A header above the limit of 100 MB, in a file that does have the bytes (as a hole on the disk).
 */
static void test_header_limit(void **state) {
    (void)state;
    static const unsigned char prefix[] = {0x01, 0xe1, 0xf5, 0x05, 0, 0, 0, 0, '{'}; /* 100000001 */
    headwise_safetensors *file = NULL;
    io_save(file_name, prefix, sizeof prefix);
    assert_int_equal(truncate(file_name, 100000020), 0);
    assert_int_equal(headwise_safetensors_open(&file, file_name), HEADWISE_ERR_FORMAT);
    assert_non_null(strstr(headwise_io_last_error(), "expected at most 100000000"));
    unlink(file_name);
}

static void test_not_files(void **state) {
    (void)state;
    headwise_safetensors *file = NULL;
    assert_int_equal(headwise_safetensors_open(&file, "does-not-exist"), HEADWISE_ERR_IO);
    assert_non_null(strstr(headwise_io_last_error(), "does-not-exist: cannot be opened: No such"));
    assert_int_equal(headwise_safetensors_open(&file, "."), HEADWISE_ERR_IO);
    assert_non_null(strstr(headwise_io_last_error(), "is a folder"));
    assert_int_equal(headwise_safetensors_open(&file, "/dev/zero"), HEADWISE_ERR_IO);
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(headwise_safetensors_open(&file, "pipe"), HEADWISE_ERR_IO);
    unlink("pipe");
    assert_int_equal(headwise_safetensors_open(&file, NULL), HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_safetensors_open(NULL, "x"), HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_safetensors_open_memory(&file, NULL, 1, "x"), HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_safetensors_open_memory(&file, "", 0, "x"), HEADWISE_ERR_FORMAT);
    assert_null(file);
}

/* Odd but right: data at odd offsets, spaces after the JSON, unknown keys of an entry, empty
 * tensors in the middle, rank 0, no tensor at all. */
static void test_accepted(void **state) {
    (void)state;
    static const char header[] =
        "{\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[1,5],\"more\":[1]},"
        "\"e\":{\"dtype\":\"F64\",\"shape\":[3,0],\"data_offsets\":[5,5]},"
        "\"c\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[5,13]},"
        "\"a\":{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[0,1]}}   ";
    struct io_bytes bytes = io_build(sizeof header - 1, header, sizeof header - 1, 13);
    headwise_safetensors *file = NULL;
    assert_int_equal(headwise_safetensors_open_memory(&file, bytes.bytes, bytes.size, "odd"), 0);
    assert_int_equal(headwise_safetensors_count(file), 4);
    assert_string_equal(headwise_safetensors_at(file, 0)->name, "a");
    assert_string_equal(headwise_safetensors_at(file, 1)->name, "b");
    assert_null(headwise_safetensors_at(file, 4));
    assert_null(headwise_safetensors_find(file, "d"));
    assert_null(headwise_safetensors_metadata(file, "d"));

    float b;
    int64_t c;
    double e;
    assert_int_equal(headwise_safetensors_read_f32(&b, file, headwise_safetensors_find(file, "b")),
                     0);
    assert_int_equal(headwise_safetensors_read_i64(&c, file, headwise_safetensors_find(file, "c")),
                     0);
    assert_int_equal(headwise_safetensors_read_f64(&e, file, headwise_safetensors_find(file, "e")),
                     0);
    uint32_t bits;
    memcpy(&bits, &b, 4);
    assert_int_equal(bits, 0x05040302);
    assert_int_equal(c, 0x0d0c0b0a09080706);
    assert_int_equal(headwise_safetensors_find(file, "c")->n_elements, 1);
    assert_int_equal(headwise_safetensors_find(file, "e")->n_elements, 0);
    headwise_safetensors_close(file);
    free(bytes.bytes);

    bytes = io_build(2, "{}", 2, 0);
    assert_int_equal(headwise_safetensors_open_memory(&file, bytes.bytes, bytes.size, "none"), 0);
    assert_int_equal(headwise_safetensors_count(file), 0);
    headwise_safetensors_close(file);
    free(bytes.bytes);
}

/* Random changes to a good file: whatever is accepted lies inside it. */
static void test_mutations(void **state) {
    (void)state;
    static const char header[] =
        "{\"__metadata__\":{\"op\":\"x\"}," A
        ",\"b\":{\"dtype\":\"I64\",\"shape\":[2,1],\"data_offsets\":[8,24]}}";
    uint64_t random = 88172645463325252u; /* xorshift64, a fixed seed */
    size_t n_accepted = 0;
    for (int i = 0; i < 40000; i++) {
        struct io_bytes bytes = io_build(sizeof header - 1, header, sizeof header - 1, 24);
        for (int change = 0; change < 1 + i % 3; change++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            bytes.bytes[random % bytes.size] =
                i % 2 ? (unsigned char)(random >> 32) : "0123456789[]{}\",:"[(random >> 32) % 17];
        }
        headwise_safetensors *file = NULL;
        if (headwise_safetensors_open_memory(&file, bytes.bytes, bytes.size, "m") == HEADWISE_OK) {
            n_accepted++;
            for (size_t t = 0; t < headwise_safetensors_count(file); t++) {
                const struct headwise_file_tensor *tensor = headwise_safetensors_at(file, t);
                const unsigned char *data = tensor->data;
                assert_true(data >= bytes.bytes + 8);
                assert_true(data + tensor->size_bytes <= bytes.bytes + bytes.size);
            }
            headwise_safetensors_close(file);
        }
        free(bytes.bytes);
    }
    print_message("%zu of 40000 changed files were still good\n", n_accepted);
    assert_true(n_accepted > 1000 && n_accepted < 39000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_truncated),    cmocka_unit_test(test_nesting),
        cmocka_unit_test(test_header_limit), cmocka_unit_test(test_not_files),
        cmocka_unit_test(test_accepted),     cmocka_unit_test(test_mutations),
    };
    char folder[] = "/tmp/headwise-malformed-XXXXXX";
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (chdir("/") != 0 || rmdir(folder) != 0)
        fprintf(stderr, "%s: not removed\n", folder);
    return failed;
}
