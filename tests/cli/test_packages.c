/* scripts/packages.sh with apt-get, dpkg and sudo played by scripts that write down their calls. */
#define _POSIX_C_SOURCE 200809L
#include "cli_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void play(const char *name, const char *script) {
    char path[64];
    snprintf(path, sizeof path, "bin/%s", name);
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    fprintf(stream, "#!/bin/sh\n%s\n", script);
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(chmod(path, 0755), 0);
}

/* gcc and a library for both architectures are installed, nothing else. */
static void play_debian(const char *user, const char *apt_get) {
    assert_int_equal(system("rm -rf bin calls && mkdir bin && : >calls &&"
                            "ln -s \"$(command -v grep)\" \"$(command -v env)\" bin"),
                     0);
    play("dpkg", "echo amd64");
    play("dpkg-query", "case $3 in gcc) echo installed amd64;; libx-dev) echo installed amd64;"
                       " echo installed arm64;; liby-dev) echo installed arm64;;"
                       " docs) echo config-files all;; *) exit 1;; esac");
    play("id", user);
    play("apt-get", apt_get);
}

/* Runs `install_packages names`; what it prints is in text, what was called in calls. */
static int install(const char *names, char text[2048], char calls[2048]) {
    char command[1024];
    snprintf(command, sizeof command,
             "PATH=$PWD/bin /bin/sh -c '. \"%s\"; install_packages %s' >text 2>&1",
             getenv("HEADWISE_PACKAGES"), names);
    int status = system(command);
    FILE *streams[2] = {fopen("text", "r"), fopen("calls", "r")};
    char *const texts[2] = {text, calls};
    for (int i = 0; i < 2; i++) {
        assert_non_null(streams[i]);
        texts[i][fread(texts[i], 1, 2047, streams[i])] = '\0';
        fclose(streams[i]);
    }
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

#define WORKS "echo \"$DEBIAN_FRONTEND $*\" >>calls"
#define WORKS_AFTER_UPDATE                                                                         \
    "echo \"$DEBIAN_FRONTEND $*\" >>calls; case \"$*\" in *update*) : >lists;; *) [ -f lists ];; " \
    "esac"

static void does_nothing_where_nothing_is_missing(enum headwise_isa isa) {
    (void)isa;
    char text[2048], calls[2048];
    play_debian("echo 1000", WORKS);
    assert_int_equal(install("gcc libx-dev libx-dev:arm64", text, calls), 0);
    assert_string_equal(text, "");
    assert_string_equal(calls, "");
}

static void installs_what_is_missing(enum headwise_isa isa) {
    (void)isa;
    char text[2048], calls[2048];
    play_debian("echo 0", WORKS);
    assert_int_equal(install("gcc meson liby-dev docs", text, calls), 0);
    assert_string_equal(text, "installing meson liby-dev docs\n");
    assert_string_equal(calls, "noninteractive -qq -o Dpkg::Use-Pty=0 install -y "
                               "--no-install-recommends meson liby-dev docs\n");
}

static void fetches_lists_once(enum headwise_isa isa) {
    (void)isa;
    char text[2048], calls[2048];
    play_debian("echo 0", WORKS_AFTER_UPDATE);
    assert_int_equal(install("meson", text, calls), 0);
    const char *update = strstr(calls, " -qq update\n");
    assert_non_null(update);
    assert_null(strstr(update + 12, "update"));
    assert_non_null(strstr(update, "install -y"));
    unlink("lists");
}

static void uses_sudo_only_when_not_root(enum headwise_isa isa) {
    (void)isa;
    char text[2048], calls[2048];
    play_debian("echo 1000", WORKS);
    assert_int_equal(install("meson", text, calls), 1);
    assert_non_null(strstr(text, "Missing packages: meson; run as root: apt-get install meson"));
    assert_string_equal(calls, "");
    play("sudo", "echo sudo >>calls; exec \"$@\"");
    assert_int_equal(install("meson", text, calls), 0);
    assert_ptr_equal(strstr(calls, "sudo\nnoninteractive "), calls);
}

static void reports_failure(enum headwise_isa isa) {
    (void)isa;
    char text[2048], calls[2048];
    play_debian("echo 0", "exit 100");
    assert_int_equal(install("meson", text, calls), 1);
    assert_non_null(strstr(text, "apt-get could not install meson"));
    assert_int_equal(system("rm -rf bin calls text"), 0);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(does_nothing_where_nothing_is_missing),
        TEST_CASE(installs_what_is_missing),
        TEST_CASE(fetches_lists_once),
        TEST_CASE(uses_sudo_only_when_not_root),
        TEST_CASE(reports_failure),
    };
    return cli_main_once(cases, TEST_COUNT(cases));
}
