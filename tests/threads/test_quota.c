/* The processors that a control group's quota allows, from folders made for the test. */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "context/quota.h"
#include "guard.h"
#include "runner.h"

static char root[] = "/tmp/headwise-quota-XXXXXX";

static const char *path_of(const char *name) {
    char *path = guard_plain(4096, 1);
    snprintf(path, 4096, "%s/%s", root, name);
    return path;
}

/* Writes text to a file below the root, making the folders on the way. */
static void write_file(const char *name, const char *text) {
    char *path = (char *)(uintptr_t)path_of(name);
    for (char *slash = strchr(path + sizeof(root), '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int processors(void) {
    return headwise_quota_processors(path_of("membership"), path_of("cgroup"));
}

/* A fresh root for each case. */
static void begin(void) {
    strcpy(root, "/tmp/headwise-quota-XXXXXX");
    assert_non_null(mkdtemp(root));
}

static void end(void) {
    char *command = guard_plain(256, 1);
    snprintf(command, 256, "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

static void unified_hierarchy(enum headwise_isa unused) {
    const struct {
        const char *text;
        int n;
    } files[] = {{"200000 100000\n", 2},
                 {"max 100000\n", 0},
                 {"150000 100000\n", 1},
                 {"50000 100000\n", 1},
                 {"399999 100000\n", 3},
                 {"1600000 100000", 16},
                 {"", 0},
                 {"nonsense\n", 0},
                 {"100000 0\n", 0},
                 {"-1 100000\n", 0}};
    (void)unused;
    begin();
    write_file("membership", "0::/service/worker\n");
    for (size_t i = 0; i < TEST_COUNT(files); i++) {
        write_file("cgroup/service/worker/cpu.max", files[i].text);
        assert_int_equal(processors(), files[i].n);
    }
    end();
}

/* A parent's quota holds for its children: the smallest one counts. */
static void the_tightest_group_counts(enum headwise_isa unused) {
    (void)unused;
    begin();
    write_file("membership", "0::/a/b/c\n");
    write_file("cgroup/a/b/c/cpu.max", "800000 100000\n");
    assert_int_equal(processors(), 8);
    write_file("cgroup/a/cpu.max", "300000 100000\n");
    assert_int_equal(processors(), 3);
    write_file("cgroup/a/b/cpu.max", "max 100000\n");
    assert_int_equal(processors(), 3);
    end();
}

/* In a container the group is the root of what it sees. */
static void the_root_group(enum headwise_isa unused) {
    (void)unused;
    begin();
    write_file("membership", "0::/\n");
    write_file("cgroup/cpu.max", "250000 100000\n");
    assert_int_equal(processors(), 2);
    end();
}

static void separate_hierarchies(enum headwise_isa unused) {
    (void)unused;
    begin();
    write_file("membership", "5:memory:/x\n4:cpu,cpuacct:/service\n3:cpuset:/y\n");
    write_file("cgroup/cpu,cpuacct/service/cpu.cfs_quota_us", "400000\n");
    write_file("cgroup/cpu,cpuacct/service/cpu.cfs_period_us", "100000\n");
    assert_int_equal(processors(), 4);
    write_file("cgroup/cpu,cpuacct/service/cpu.cfs_quota_us", "-1\n");
    assert_int_equal(processors(), 0);
    end();
}

static void without_files_there_is_no_limit(enum headwise_isa unused) {
    (void)unused;
    begin();
    assert_int_equal(processors(), 0);
    write_file("membership", "not a line of that file\n\n:\n0:\n");
    assert_int_equal(processors(), 0);
    end();
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(unified_hierarchy),
        TEST_CASE(the_tightest_group_counts),
        TEST_CASE(the_root_group),
        TEST_CASE(separate_hierarchies),
        TEST_CASE(without_files_there_is_no_limit),
    };
    return test_run_once(cases, TEST_COUNT(cases));
}
