/* What nobody needs does not matter: tensors that cannot be used beside good ones, and metadata.
 * Many tensors. Files read into memory. */
#define _POSIX_C_SOURCE 200809L
#include "io_support.h"

#include <unistd.h>

#define GOOD "\"good\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}"

static const struct {
    const char *header;
    size_t n_data;
    const char *name;     /* the tensor that cannot be used; NULL: it has no name to ask for */
    const char *expected; /* what its error says */
} cases[] = {
    {"{" GOOD ",\"b\":{\"dtype\":\"F8_E4M3\",\"shape\":[3],\"data_offsets\":[2,5]}}", 5, "b",
     "tensor \"b\": unknown dtype \"F8_E4M3\", expected BOOL"},
    {"{\"b\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[2,4]}," GOOD "}", 4, "b",
     "tensor \"b\": unknown dtype \"F4\""},
    {"{" GOOD ",\"b\":{\"dtype\":\"f32\",\"shape\":[1],\"data_offsets\":[2,6]}}", 6, "b",
     "unknown dtype \"f32\""},
    {"{" GOOD
     ",\"b\":{\"dtype\":\"A_DTYPE_WITH_A_LONG_NAME\",\"shape\":[1],\"data_offsets\":[2,6]}}",
     6, "b", "unknown dtype \"A_DTYPE_WITH_A_LONG"},
    {"{" GOOD ",\"b\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,3],\"data_offsets\":[2,5]}}", 5,
     "b", "tensor \"b\": has 9 axes, at most 8 are supported"},
    {"{" GOOD ",\"b\":{\"shape\":[1,1,1,1,1,1,1,1,3],\"dtype\":\"F8\",\"data_offsets\":[2,5]}}", 5,
     "b", "unknown dtype \"F8\""},
    {"{" GOOD ",\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[2,3]},"
     "\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[3,4]}}",
     4, "b", "tensor \"b\": comes twice"},
    {"{\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[2,3]}," GOOD
     ",\"\\u0062\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[2,3]}}",
     3, "b", "tensor \"b\": comes twice"},
    {"{" GOOD ",\"b\\u0000c\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[2,3]}}", 3, "b",
     "tensor \"b\": is missing"},
    {"{" GOOD ",\"\\ud800\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[2,3]}}", 3,
     "\xef\xbf\xbd", "is missing"},
};

static void test_unusable(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t size = strlen(cases[i].header);
        struct io_bytes bytes = io_build(size, cases[i].header, size, cases[i].n_data);
        headwise_safetensors *file = NULL;
        if (headwise_safetensors_open_memory(&file, bytes.bytes, bytes.size, "mixed"))
            fail_msg("%s", headwise_io_last_error());
        assert_int_equal(headwise_safetensors_count(file), 1);
        const struct headwise_file_tensor *good = headwise_safetensors_find(file, "good");
        assert_ptr_equal(headwise_safetensors_at(file, 0), good);
        assert_ptr_equal(good->data, bytes.bytes + 8 + size);
        const struct headwise_file_tensor *tensor = good;
        assert_int_equal(headwise_safetensors_require(&tensor, file, "good"), 0);
        assert_null(headwise_safetensors_find(file, cases[i].name));
        assert_int_equal(headwise_safetensors_require(&tensor, file, cases[i].name),
                         HEADWISE_ERR_FORMAT);
        assert_ptr_equal(tensor, good);
        if (!strstr(headwise_io_last_error(), cases[i].expected))
            fail_msg("\"%s\" does not say \"%s\"", headwise_io_last_error(), cases[i].expected);
        assert_int_equal(headwise_safetensors_require(&tensor, file, "none"), HEADWISE_ERR_FORMAT);
        assert_string_equal(headwise_io_last_error(), "mixed: tensor \"none\": is missing");
        headwise_safetensors_close(file);
        free(bytes.bytes);
    }
}

static void test_metadata(void **state) {
    (void)state;
    static const char header[] =
        "{\"__metadata__\":{\"a\":\"1\",\"b\":\"\\u00e9\",\"\\u0061\":\"2\",\"n\\u0000\":\"3\","
        "\"n\":\"\\u0000\",\"s\":\"\\udc00\",\"c\":\"\"}," GOOD "}";
    struct io_bytes bytes = io_build(strlen(header), header, strlen(header), 2);
    headwise_safetensors *file = NULL;
    assert_int_equal(headwise_safetensors_open_memory(&file, bytes.bytes, bytes.size, "m"), 0);
    assert_int_equal(headwise_safetensors_metadata_count(file), 3);
    assert_string_equal(headwise_safetensors_metadata_at(file, 0)->key, "a");
    assert_string_equal(headwise_safetensors_metadata(file, "a"), "2");
    assert_string_equal(headwise_safetensors_metadata(file, "b"), "\xc3\xa9");
    assert_string_equal(headwise_safetensors_metadata(file, "c"), "");
    assert_null(headwise_safetensors_metadata(file, "n"));
    assert_null(headwise_safetensors_metadata(file, "s"));
    headwise_safetensors_close(file);
    free(bytes.bytes);
}

/* n tensors of a byte, whose data lies forwards, backwards or mixed. */
static void test_many(void **state) {
    (void)state;
    enum { N = 50000 };
    char *header = malloc((size_t)N * 80);
    assert_non_null(header);
    static const size_t steps[] = {1, N - 1, 7919}; /* coprime to N */
    for (int s = 0; s < 3; s++) {
        size_t n = 0;
        for (size_t i = 0; i < N; i++) {
            size_t at = (size_t)i * steps[s] % N;
            n += (size_t)sprintf(
                header + n,
                "%s\"t%zu\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[%zu,%zu]}",
                i > 0 ? "," : "{", i, at, at + 1);
        }
        header[n++] = '}';
        struct io_bytes bytes = io_build(n, header, n, N);
        headwise_safetensors *file = NULL;
        assert_int_equal(headwise_safetensors_open_memory(&file, bytes.bytes, bytes.size, "n"), 0);
        assert_int_equal(headwise_safetensors_count(file), N);
        for (size_t i = 0; i < N; i++) {
            char name[16];
            sprintf(name, "t%zu", i);
            const struct headwise_file_tensor *tensor = headwise_safetensors_find(file, name);
            assert_non_null(tensor);
            assert_ptr_equal(tensor->data, bytes.bytes + 8 + n + i * steps[s] % N);
            assert_ptr_equal(headwise_safetensors_at(file, i * steps[s] % N), tensor);
        }
        assert_null(headwise_safetensors_find(file, "t50000"));
        headwise_safetensors_close(file);
        free(bytes.bytes);
    }
    free(header);
}

/* A mapped file that is cut raises SIGBUS where it is read; a copy does not. */
static void test_copy(void **state) {
    (void)state;
    static const char header[] =
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[100000],\"data_offsets\":[0,100000]}}";
    static const char name[] = "copy.safetensors";
    struct io_bytes bytes = io_build(strlen(header), header, strlen(header), 100000);
    io_save(name, bytes.bytes, bytes.size);
    headwise_safetensors *file = NULL;
    assert_int_equal(headwise_safetensors_open_copy(&file, name), 0);
    assert_int_equal(truncate(name, 0), 0);
    const struct headwise_file_tensor *tensor = headwise_safetensors_find(file, "a");
    assert_memory_equal(tensor->data, bytes.bytes + 8 + strlen(header), 100000);
    headwise_safetensors_close(file);
    file = NULL;
    assert_int_equal(headwise_safetensors_open_copy(&file, name), HEADWISE_ERR_FORMAT);
    assert_non_null(strstr(headwise_io_last_error(), "has 0 bytes"));
    assert_int_equal(unlink(name), 0);
    assert_int_equal(headwise_safetensors_open_copy(&file, name), HEADWISE_ERR_IO);
    assert_int_equal(headwise_safetensors_open_copy(&file, "."), HEADWISE_ERR_IO);
    assert_int_equal(headwise_safetensors_open_copy(&file, NULL), HEADWISE_ERR_INVALID);
    assert_null(file);
    free(bytes.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_unusable),
                                       cmocka_unit_test(test_metadata), cmocka_unit_test(test_many),
                                       cmocka_unit_test(test_copy)};
    char folder[] = "/tmp/headwise-unusable-XXXXXX";
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (chdir("/") != 0 || rmdir(folder) != 0)
        fprintf(stderr, "%s: not removed\n", folder);
    return failed;
}
