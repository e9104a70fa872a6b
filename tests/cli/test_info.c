/* headwise info, as text and as JSON. */
#define _POSIX_C_SOURCE 200112L
#include "cli_support.h"

#include <stdlib.h>
#include <string.h>

#include "headwise/common.h"
#include "headwise/context.h"
#include "view.h"

static void expect_list(view list, bool (*has)(enum headwise_isa)) {
    int64_t n = 0;
    for (int isa = HEADWISE_ISA_SCALAR; isa <= HEADWISE_ISA_NEON; isa++) {
        if (!has((enum headwise_isa)isa))
            continue;
        const char *name = view_text(view_item(list, n++));
        assert_string_equal(name, headwise_isa_name((enum headwise_isa)isa));
    }
    assert_int_equal(view_count(list), n);
    assert_true(n > 0);
}

static void prints_json(enum headwise_isa isa) {
    cli_accepts("info", "--json", "--isa", headwise_isa_name(isa), "--threads", "3");
    view info = view_of(cli.out);
    view tiers = view_member(info, "tiers");
    assert_string_equal(view_text(view_member(info, "version")), HEADWISE_VERSION);
    expect_list(view_member(tiers, "built"), headwise_isa_built);
    expect_list(view_member(tiers, "usable"), headwise_isa_usable);
    assert_string_equal(view_text(view_member(tiers, "best")),
                        headwise_isa_name(headwise_isa_best()));
    assert_string_equal(view_text(view_member(tiers, "chosen")), headwise_isa_name(isa));
    assert_int_equal(view_integer(view_member(info, "threads")), 3);
    assert_int_equal(view_kind(view_member(info, "openmp")), HEADWISE_JSON_BOOL);
    assert_int_equal(view_integer(view_member(info, "key_block")), 256);
    assert_non_null(strchr(view_text(view_member(info, "sleef")), '.'));
}

static void obeys_the_environment(enum headwise_isa isa) {
    (void)isa;
    assert_int_equal(setenv("HEADWISE_ISA", "scalar", 1), 0);
    cli_accepts("info");
    assert_non_null(strstr(cli.out, "chosen    scalar\n"));
    assert_int_equal(setenv("HEADWISE_ISA", "sse", 1), 0);
    cli_refuses("HEADWISE_ISA", "info");
    cli_accepts("info", "--isa", "scalar");
    for (int tier = HEADWISE_ISA_SCALAR; tier <= HEADWISE_ISA_NEON; tier++) {
        const char *name = headwise_isa_name((enum headwise_isa)tier);
        if (headwise_isa_usable((enum headwise_isa)tier))
            continue;
        assert_int_equal(setenv("HEADWISE_ISA", name, 1), 0);
        cli_refuses(name, "info");
        cli_refuses(name, "info", "--isa", name);
    }
    unsetenv("HEADWISE_ISA");
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(prints_json),
        TEST_CASE(obeys_the_environment),
    };
    return cli_main_once(cases, TEST_COUNT(cases));
}
