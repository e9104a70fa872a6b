/* headwise attention --check on every Attention file of the folder HEADWISE_VECTORS. */
#define _XOPEN_SOURCE 700 /* nftw */
#include "cli_support.h"

#include <ftw.h>
#include <stdlib.h>
#include <string.h>

static enum headwise_isa tier;
static size_t n_files, n_failed;

static bool is_attention(const char *path) {
    headwise_safetensors *file = NULL;
    if (headwise_safetensors_open(&file, path) != HEADWISE_OK)
        return false;
    const char *op = headwise_safetensors_metadata(file, "op");
    bool result = op && strcmp(op, "Attention") == 0;
    headwise_safetensors_close(file);
    return result;
}

static int visit(const char *path, const struct stat *info, int type, struct FTW *place) {
    (void)info;
    (void)place;
    if (type != FTW_F || !strstr(path, ".safetensors") || !is_attention(path))
        return 0;
    n_files++;
    cli_run("attention", path, "--check", "--isa", headwise_isa_name(tier), NULL);
    if (cli.code != 0) {
        n_failed++;
        print_message("exit code %d: %s", cli.code, cli.err);
    }
    return 0;
}

static void every_file_is_within_its_bounds(enum headwise_isa isa) {
    const char *folder = getenv("HEADWISE_VECTORS");
    if (!folder || !*folder)
        test_skip("HEADWISE_VECTORS is not set");
    tier = isa;
    n_files = n_failed = 0;
    assert_int_equal(nftw(folder, visit, 8, FTW_PHYS), 0);
    print_message("%zu files on %s\n", n_files, headwise_isa_name(isa));
    assert_true(n_files > 0);
    assert_int_equal(n_failed, 0);
}

int main(void) {
    const struct test_case cases[] = {TEST_CASE(every_file_is_within_its_bounds)};
    return cli_main_tiers(cases, TEST_COUNT(cases));
}
