/* headwise: what the library does, for files. */
#define _XOPEN_SOURCE 700 /* SIGXFSZ */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/commands.h"
#include "common/message.h"
#include "headwise/common.h"

static const struct command *const commands[] = {
    &command_info,   &command_attention, &command_layer,  &command_inspect,
    &command_prune,  &command_sweep,     &command_tokens, &command_embed,
    &command_rerank, &command_classify,  &command_forward};

enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void print_overview(void) {
    printf("usage: headwise COMMAND [OPTIONS]\n\n"
           "Multi-head attention on this processor, every head in sight.\n\n");
    for (int i = 0; i < N_COMMANDS; i++)
        printf("  %-12s %s\n", commands[i]->name, commands[i]->summary);
    printf("  %-12s %s\n", "help COMMAND", "print a command's options");
    printf("\n  --version    print the version\n  -h, --help   print this text\n\n"
           "Exit codes: 0 good, 1 a check failed, 2 unusable input or options.\n"
           "The tier is chosen by --isa, else by the environment's HEADWISE_ISA, else the best.\n");
}

static const struct command *find_command(const char *name) {
    for (int i = 0; i < N_COMMANDS; i++) {
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    }
    return NULL;
}

static const char *get_command_name(const void *table, size_t i) {
    (void)table;
    return i < N_COMMANDS ? commands[i]->name : NULL;
}

static int fail_unknown(const char *name) {
    const char *near = nearest_name(name, get_command_name, NULL);
    if (near)
        return fail("unknown command \"%s\"; did you mean %s?", name, near);
    return fail("unknown command \"%s\"; see headwise --help", name);
}

static int print_help(const char *name) {
    const struct command *command = name ? find_command(name) : NULL;
    if (name && !command)
        return fail_unknown(name);
    if (command)
        options_print_help(command);
    else
        print_overview();
    return EXIT_GOOD;
}

static int run(const struct command *command, int n_arguments, char **arguments) {
    bool done = false;
    void *settings = calloc(1, command->settings_size);
    if (!settings)
        return fail("out of memory");
    int code = options_parse(settings, &done, command, n_arguments, arguments);
    if (!code && !done)
        code = command->run(settings);
    free(settings);
    return code;
}

static int dispatch(int argc, char **argv) {
    if (argc < 2)
        return fail("a command is missing; see headwise --help");
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return print_help(NULL);
    if (strcmp(name, "help") == 0)
        return print_help(argc > 2 ? argv[2] : NULL);
    if (strcmp(name, "--version") == 0) {
        printf("headwise %s\n", headwise_version());
        return EXIT_GOOD;
    }
    const struct command *command = find_command(name);
    return command ? run(command, argc - 2, argv + 2) : fail_unknown(name);
}

int main(int argc, char **argv) {
    /* Beyond `ulimit -f` writing fails with a line, where the signal would end the command at once.
     */
    signal(SIGXFSZ, SIG_IGN);
    int code = dispatch(argc, argv);
    /* A full disk behind `> file` shows only here. */
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == EXIT_GOOD)
        code = fail("standard output cannot be written");
    return code;
}
