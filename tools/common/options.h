/* A command's options, from a table. */
#ifndef HEADWISE_TOOLS_OPTIONS_H
#define HEADWISE_TOOLS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an option's value is stored as, at its offset in the command's settings. */
enum option_kind {
    OPTION_FLAG,    /* bool, takes no value */
    OPTION_TEXT,    /* const char *, NULL where not given */
    OPTION_INTEGER, /* struct option_integer */
    OPTION_REAL     /* struct option_real; finite */
};

struct option_integer {
    bool is_set;
    int64_t value;
};

struct option_real {
    bool is_set;
    double value;
};

/* Operands after the first, in their order. */
struct option_texts {
    char **at;
    int n;
};

/* In names '-' and '_' are the same to the user. */
struct option {
    const char *name; /* without the dashes */
    char letter;      /* of the short form, 0: none */
    enum option_kind kind;
    size_t offset;
    const char *argument; /* how help calls the value */
    const char *help;
};

/* A subcommand. The settings are zero before the options are read. */
struct command {
    const char *name;
    const char *summary; /* a line in `headwise --help` */
    const char *usage;   /* what follows `headwise NAME` */
    const char *details; /* the rest of its help, after the options */
    const struct option *options;
    size_t n_options;
    size_t settings_size;
    const char *operand;   /* name of its only operand, NULL: it takes none */
    size_t operand_offset; /* const char * */
    const char *more;      /* name of the operands after it, NULL: there may be none */
    size_t more_offset;    /* struct option_texts */
    int (*run)(const void *settings);
};

/* Reads the arguments after the command's name into settings. --help prints the help and sets
 * *done. Returns an exit code. */
int options_parse(void *settings, bool *done, const struct command *command, int n_arguments,
                  char **arguments);

/* Stores text as the value of an option; source begins the line of a failure ("option --scale"). */
int option_store(void *settings, const struct option *option, const char *text, const char *source);

/* Whether the option has been given. */
bool option_is_set(const void *settings, const struct option *option);

void options_print_help(const struct command *command);

/* The name nearest to a mistyped one, NULL where none is near. get returns name number i, NULL at
 * the end. */
const char *nearest_name(const char *typed, const char *(*get)(const void *table, size_t i),
                         const void *table);

#endif
