/* Finds options by their names, stores their values, prints their help. */
#include "common/options.h"

#include <stdio.h>
#include <string.h>

#include "common/message.h"
#include "common/numbers.h"

static void *field(void *settings, const struct option *option) {
    return (char *)settings + option->offset;
}

int option_store(void *settings, const struct option *option, const char *text,
                 const char *source) {
    switch (option->kind) {
    case OPTION_FLAG:
        *(bool *)field(settings, option) = true;
        break;
    case OPTION_TEXT:
        *(const char **)field(settings, option) = text;
        break;
    case OPTION_INTEGER: {
        int64_t value;
        if (!integer_read_whole(&value, text))
            return fail("%s is \"%s\", expected an integer", source, text);
        *(struct option_integer *)field(settings, option) = (struct option_integer){true, value};
        break;
    }
    case OPTION_REAL: {
        double value;
        if (!real_read_whole(&value, text))
            return fail("%s is \"%s\", expected a finite number", source, text);
        *(struct option_real *)field(settings, option) = (struct option_real){true, value};
        break;
    }
    }
    return EXIT_GOOD;
}

bool option_is_set(const void *settings, const struct option *option) {
    const void *value = (const char *)settings + option->offset;
    switch (option->kind) {
    case OPTION_FLAG:
        return *(const bool *)value;
    case OPTION_TEXT:
        return *(const char *const *)value != NULL;
    case OPTION_INTEGER:
        return ((const struct option_integer *)value)->is_set;
    case OPTION_REAL:
        return ((const struct option_real *)value)->is_set;
    }
    return false;
}

static char plain(char c) {
    return c == '_' ? '-' : c;
}

static bool same_name(const char *name, const char *typed, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (!name[i] || plain(name[i]) != plain(typed[i]))
            return false;
    }
    return !name[length];
}

/* The least number of inserted, deleted and replaced characters between two names. */
static int distance(const char *a, const char *b) {
    enum { MAX = 64 };
    int row[MAX + 1];
    size_t length = strlen(b);
    if (length > MAX)
        return MAX;
    for (size_t j = 0; j <= length; j++)
        row[j] = (int)j;
    for (size_t i = 0; a[i]; i++) {
        int diagonal = row[0];
        row[0] = (int)i + 1;
        for (size_t j = 0; j < length; j++) {
            int best = diagonal + (plain(a[i]) != plain(b[j]));
            diagonal = row[j + 1];
            best = best < row[j] + 1 ? best : row[j] + 1;
            row[j + 1] = best < diagonal + 1 ? best : diagonal + 1;
        }
    }
    return row[length];
}

const char *nearest_name(const char *typed, const char *(*get)(const void *table, size_t i),
                         const void *table) {
    const char *best = NULL;
    int best_distance = 1 + (int)strlen(typed) / 3; /* about every third character may be wrong */
    for (size_t i = 0; get(table, i); i++) {
        int d = distance(typed, get(table, i));
        if (d <= best_distance && !(best && d == best_distance)) {
            best = get(table, i);
            best_distance = d;
        }
    }
    return best;
}

static const char *get_option_name(const void *table, size_t i) {
    const struct command *command = table;
    return i < command->n_options ? command->options[i].name : NULL;
}

static int fail_unknown(const struct command *command, const char *argument) {
    char typed[64];
    size_t length = strcspn(argument + 2, "=");
    if (argument[1] == '-' && length < sizeof typed) {
        memcpy(typed, argument + 2, length);
        typed[length] = '\0';
        const char *near = nearest_name(typed, get_option_name, command);
        if (near)
            return fail("%s: unknown option --%s; did you mean --%s?", command->name, typed, near);
    }
    return fail("%s: unknown option %s; see headwise help %s", command->name, argument,
                command->name);
}

/* The option that argument names; *value is what follows a '=' (or the letter), NULL for nothing.
 */
static const struct option *find(const struct command *command, const char *argument,
                                 const char **value) {
    const char *equals = strchr(argument, '=');
    size_t length = equals ? (size_t)(equals - argument) : strlen(argument);
    for (size_t i = 0; i < command->n_options; i++) {
        const struct option *option = &command->options[i];
        if (argument[1] == '-' && same_name(option->name, argument + 2, length - 2)) {
            *value = equals ? equals + 1 : NULL;
            return option;
        }
        if (option->letter && argument[1] == option->letter) {
            *value = argument[2] ? argument + 2 : NULL;
            return option;
        }
    }
    return NULL;
}

/* Operands after the first are moved to the beginning of the arguments, all of which were read. */
static int store_operand(void *settings, const struct command *command, char **arguments,
                         char *text) {
    const char **operand = (const char **)((char *)settings + command->operand_offset);
    struct option_texts *more = (struct option_texts *)((char *)settings + command->more_offset);
    if (!command->operand)
        return fail("%s: takes no operand, but \"%s\" is given", command->name, text);
    if (*operand && command->more) {
        more->at = arguments;
        arguments[more->n++] = text;
        return EXIT_GOOD;
    }
    if (*operand)
        return fail("%s: takes one %s, but \"%s\" and \"%s\" are given", command->name,
                    command->operand, *operand, text);
    *operand = text;
    return EXIT_GOOD;
}

int options_parse(void *settings, bool *done, const struct command *command, int n_arguments,
                  char **arguments) {
    bool only_operands = false;
    for (int i = 0; i < n_arguments; i++) {
        char *argument = arguments[i];
        const char *value;
        int code = EXIT_GOOD;
        if (only_operands || argument[0] != '-' || !argument[1]) {
            code = store_operand(settings, command, arguments, argument);
        } else if (strcmp(argument, "--") == 0) {
            only_operands = true;
        } else if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
            options_print_help(command);
            *done = true;
            return EXIT_GOOD;
        } else {
            const struct option *option = find(command, argument, &value);
            char source[96];
            if (!option)
                return fail_unknown(command, argument);
            if (option->kind == OPTION_FLAG && value)
                return fail("%s: option --%s takes no value", command->name, option->name);
            if (option->kind != OPTION_FLAG && !value && ++i == n_arguments)
                return fail("%s: option --%s needs a value: %s", command->name, option->name,
                            option->argument);
            snprintf(source, sizeof source, "%s: option --%s", command->name, option->name);
            code = option_store(settings, option, value ? value : arguments[i], source);
        }
        if (code)
            return code;
    }
    return EXIT_GOOD;
}

void options_print_help(const struct command *command) {
    printf("usage: headwise %s %s\n\n%s\n\n", command->name, command->usage, command->summary);
    for (size_t i = 0; i < command->n_options; i++) {
        const struct option *option = &command->options[i];
        char left[64], letter[8] = "    ";
        if (option->letter)
            snprintf(letter, sizeof letter, "-%c, ", option->letter);
        snprintf(left, sizeof left, "%s--%s%s%s", letter, option->name, option->argument ? " " : "",
                 option->argument ? option->argument : "");
        printf("  %-34s %s\n", left, option->help);
    }
    printf("  %-34s %s\n", "-h, --help", "print this text");
    if (command->details)
        printf("\n%s", command->details);
}
