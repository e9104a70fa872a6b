/* What is written is read back; what cannot be written leaves the old file as it was. */
#define _DEFAULT_SOURCE
#include "io_support.h"

#include <headwise-io/file.h>

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t count_files(void) {
    DIR *folder = opendir(".");
    assert_non_null(folder);
    size_t n = 0;
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
        n += entry->d_name[0] != '.';
    closedir(folder);
    return n;
}

/* The open file holds these tensors, aligned, whose data begin with these bytes. */
static void expect_tensors(const headwise_safetensors *file,
                           const struct headwise_file_tensor *tensors, int n,
                           const unsigned char *bytes) {
    assert_int_equal(headwise_safetensors_count(file), n);
    for (int i = 0; i < n; i++) {
        const struct headwise_file_tensor *read = headwise_safetensors_find(file, tensors[i].name);
        assert_non_null(read);
        assert_int_equal(read->dtype, tensors[i].dtype);
        assert_int_equal(read->rank, tensors[i].rank);
        for (int axis = 0; axis < read->rank; axis++)
            assert_int_equal(read->shape[axis], tensors[i].shape[axis]);
        if (read->size_bytes > 0)
            assert_memory_equal(read->data, bytes, read->size_bytes);
        assert_int_equal((uintptr_t)read->data % headwise_file_dtype_size(read->dtype), 0);
    }
}

/* One tensor of every type, of an odd number of elements, from unaligned memory, plus empty and
 * rank 0 and rank 8. */
static void test_round_trip(void **state) {
    (void)state;
    enum { N_TYPES = 13, N = 15 };
    static unsigned char memory[8 * 15 + 1];
    struct headwise_file_tensor tensors[N_TYPES + 3];
    static char names[N_TYPES][8];
    for (size_t i = 0; i < sizeof memory; i++)
        memory[i] = (unsigned char)(7 * i + 1);
    for (int i = 0; i < N_TYPES; i++) {
        snprintf(names[i], sizeof names[i], "t%d", i);
        tensors[i] = (struct headwise_file_tensor){
            .name = names[i], .dtype = i, .rank = 2, .shape = {3, 5}, .data = memory + 1};
    }
    tensors[N_TYPES] = (struct headwise_file_tensor){
        .name = "빈 배열", .dtype = HEADWISE_FILE_F64, .rank = 3, .shape = {2, 0, 4}};
    tensors[N_TYPES + 1] = (struct headwise_file_tensor){
        .name = "scalar", .dtype = HEADWISE_FILE_I64, .rank = 0, .data = memory + 1};
    tensors[N_TYPES + 2] = (struct headwise_file_tensor){.name = "eight",
                                                         .dtype = HEADWISE_FILE_U8,
                                                         .rank = 8,
                                                         .shape = {1, 3, 1, 1, 5, 1, 1, 1},
                                                         .data = memory + 1};
    const struct headwise_file_metadata metadata[] = {{"tokens", "나는 \"밥\"을\n먹었다"},
                                                      {"empty", ""}};
    assert_int_equal(
        headwise_safetensors_write("out.safetensors", tensors, N_TYPES + 3, metadata, 2), 0);

    headwise_safetensors *file = NULL;
    assert_int_equal(headwise_safetensors_open(&file, "out.safetensors"), 0);
    expect_tensors(file, tensors, N_TYPES + 3, memory + 1);
    assert_int_equal(headwise_safetensors_metadata_count(file), 2);
    assert_string_equal(headwise_safetensors_metadata(file, "tokens"), metadata[0].value);
    assert_string_equal(headwise_safetensors_metadata_at(file, 1)->key, "empty");
    headwise_safetensors_close(file);

    struct io_bytes first = io_load("out.safetensors");
    assert_int_equal(
        headwise_safetensors_write("again.safetensors", tensors, N_TYPES + 3, metadata, 2), 0);
    struct io_bytes second = io_load("again.safetensors");
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.bytes, second.bytes, first.size);
    free(first.bytes);
    free(second.bytes);
    unlink("out.safetensors");
    unlink("again.safetensors");
    assert_int_equal(count_files(), 0);
}

static void test_no_tensors(void **state) {
    (void)state;
    headwise_safetensors *file = NULL;
    assert_int_equal(headwise_safetensors_write("none", NULL, 0, NULL, 0), 0);
    assert_int_equal(headwise_safetensors_open(&file, "none"), 0);
    assert_int_equal(headwise_safetensors_count(file), 0);
    headwise_safetensors_close(file);
    unlink("none");
}

static const float values[2] = {1, 2};

static struct headwise_file_tensor good(const char *name) {
    return (struct headwise_file_tensor){
        .name = name, .dtype = HEADWISE_FILE_F32, .rank = 1, .shape = {2}, .data = values};
}

/* Arguments that are refused before a file is touched. */
static void test_refused(void **state) {
    (void)state;
    struct headwise_file_tensor bad[9];
    for (int i = 0; i < 9; i++)
        bad[i] = good("a");
    bad[0].name = "__metadata__";
    bad[1].name = NULL;
    bad[2].name = "\xff";
    bad[3].dtype = 13;
    bad[4].rank = 9;
    bad[5].rank = -1;
    bad[6].shape[0] = -1;
    bad[7].data = NULL;
    bad[8].rank = 2;
    bad[8].shape[0] = bad[8].shape[1] = INT64_MAX;
    const char *const says[9] = {
        "x: tensor \"__metadata__\": this cannot be a tensor's name",
        "x: the name of a tensor is NULL",
        "x: \"",
        "x: tensor \"a\": dtype is 13, no headwise_file_dtype",
        "x: tensor \"a\": rank is 9, expected 0 to 8",
        "x: tensor \"a\": rank is -1, expected 0 to 8",
        "x: tensor \"a\": shape[0] is -1, expected 0 or more",
        "x: tensor \"a\": its data is NULL",
        "x: tensor \"a\": the product of its shape overflows",
    };
    for (int i = 0; i < 9; i++) {
        assert_int_equal(headwise_safetensors_write("x", &bad[i], 1, NULL, 0),
                         HEADWISE_ERR_INVALID);
        assert_ptr_equal(strstr(headwise_io_last_error(), says[i]), headwise_io_last_error());
    }
    struct headwise_file_tensor twice[2] = {good("a"), good("a")};
    assert_int_equal(headwise_safetensors_write("x", twice, 2, NULL, 0), HEADWISE_ERR_INVALID);
    assert_non_null(strstr(headwise_io_last_error(), "\"a\" is given twice"));
    struct headwise_file_metadata metadata[2] = {{"k", "\xc0"}, {"k", "v"}};
    assert_int_equal(headwise_safetensors_write("x", twice, 1, metadata, 1), HEADWISE_ERR_INVALID);
    metadata[0].value = NULL;
    assert_int_equal(headwise_safetensors_write("x", twice, 1, metadata, 1), HEADWISE_ERR_INVALID);
    metadata[0].value = "v";
    assert_int_equal(headwise_safetensors_write("x", twice, 1, metadata, 2), HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_safetensors_write(NULL, twice, 1, NULL, 0), HEADWISE_ERR_INVALID);
    assert_string_equal(headwise_io_last_error(), "safetensors_write: path is NULL");
    assert_int_equal(headwise_safetensors_write("x", NULL, 1, NULL, 0), HEADWISE_ERR_INVALID);
    assert_string_equal(headwise_io_last_error(), "safetensors_write: tensors is NULL");
    assert_int_equal(count_files(), 0);
}

/* Where writing fails half way, the old file stays and nothing is left beside it. */
static void test_full_disk(void **state) {
    (void)state;
    enum { N = 100000 };
    float *many = calloc(N, sizeof *many);
    assert_non_null(many);
    struct headwise_file_tensor large = good("large");
    large.shape[0] = N;
    large.data = many;
    io_save("kept", "old", 3);

    struct rlimit old_limit, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
    limit = old_limit;
    limit.rlim_cur = 4096;
    signal(SIGXFSZ, SIG_DFL); /* which would end the process */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    enum headwise_status status = headwise_safetensors_write("kept", &large, 1, NULL, 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old_limit), 0);
    assert_int_equal(status, HEADWISE_ERR_IO);
    assert_non_null(strstr(headwise_io_last_error(), "kept: cannot be written: "));

    struct io_bytes kept = io_load("kept");
    assert_int_equal(kept.size, 3);
    assert_memory_equal(kept.bytes, "old", 3);
    assert_int_equal(count_files(), 1);
    free(kept.bytes);
    free(many);
    unlink("kept");
}

/* A pipe is written to by the name that leads to it, as /dev/stdout does. */
static void expect_pipe(void) {
    const struct headwise_file_part part = {"through", 7};
    int ends[2];
    char path[32], read_back[16];
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[1]);
    assert_int_equal(headwise_file_write(path, &part, 1), 0);
    close(ends[1]);
    assert_int_equal(read(ends[0], read_back, sizeof read_back), 7);
    assert_memory_equal(read_back, "through", 7);
    close(ends[0]);
}

static void test_targets(void **state) {
    (void)state;
    struct headwise_file_tensor tensor = good("a");
    struct stat info;
    /* the permissions are those that the user's mask leaves */
    mode_t mask = umask(027);
    assert_int_equal(headwise_safetensors_write("real", &tensor, 1, NULL, 0), 0);
    umask(mask);
    assert_int_equal(stat("real", &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    /* a link stays a link */
    assert_int_equal(symlink("real", "link"), 0);
    assert_int_equal(truncate("real", 0), 0);
    assert_int_equal(headwise_safetensors_write("link", &tensor, 1, NULL, 0), 0);
    assert_int_equal(lstat("link", &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    headwise_safetensors *file = NULL;
    assert_int_equal(headwise_safetensors_open(&file, "real"), 0);
    /* the open file is not disturbed by its replacement */
    tensor.name = "b";
    assert_int_equal(headwise_safetensors_write("real", &tensor, 1, NULL, 0), 0);
    assert_memory_equal(headwise_safetensors_find(file, "a")->data, values, sizeof values);
    headwise_safetensors_close(file);
    /* a device stays a device */
    assert_int_equal(headwise_safetensors_write("/dev/null", &tensor, 1, NULL, 0), 0);
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
    assert_int_equal(headwise_safetensors_write("/dev/full", &tensor, 1, NULL, 0), HEADWISE_ERR_IO);
    expect_pipe();
    assert_int_equal(headwise_safetensors_write(".", &tensor, 1, NULL, 0), HEADWISE_ERR_IO);
    assert_non_null(strstr(headwise_io_last_error(), "is a folder"));
    assert_int_equal(headwise_safetensors_write("no/such", &tensor, 1, NULL, 0), HEADWISE_ERR_IO);
    assert_non_null(strstr(headwise_io_last_error(), "no/such: cannot be written: No such file"));
    unlink("link");
    unlink("real");
    assert_int_equal(count_files(), 0);
}

/* Any bytes, in parts; what it shares with the above is not tested again. */
static void test_files(void **state) {
    (void)state;
    const struct headwise_file_part parts[] = {{"ab\0", 3}, {NULL, 0}, {"c", 1}};
    const struct headwise_file_part broken[] = {{"ab", 2}, {NULL, 1}};
    assert_int_equal(headwise_file_write("plain", parts, 3), 0);
    assert_int_equal(headwise_file_write("plain", broken, 2), HEADWISE_ERR_INVALID);
    assert_string_equal(headwise_io_last_error(), "plain: the data of part 1 is NULL");
    assert_int_equal(headwise_file_write(NULL, parts, 3), HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_file_write("plain", NULL, 1), HEADWISE_ERR_INVALID);
    struct io_bytes read = io_load("plain");
    assert_int_equal(read.size, 4);
    assert_memory_equal(read.bytes, "ab\0c", 4);
    free(read.bytes);
    assert_int_equal(headwise_file_write("plain", NULL, 0), 0);
    read = io_load("plain");
    assert_int_equal(read.size, 0);
    free(read.bytes);
    unlink("plain");
    assert_int_equal(headwise_file_write("no/such", parts, 3), HEADWISE_ERR_IO);
    assert_int_equal(headwise_file_write("/dev/full", parts, 3), HEADWISE_ERR_IO);
    assert_int_equal(count_files(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_no_tensors),
        cmocka_unit_test(test_refused),    cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_targets),    cmocka_unit_test(test_files),
    };
    char folder[] = "/tmp/headwise-write-XXXXXX";
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (chdir("/") != 0 || rmdir(folder) != 0)
        fprintf(stderr, "%s: not removed\n", folder);
    return failed;
}
