/* Ends the program with a line where it cannot go on. */
#include "end.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void die(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("llama: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    exit(1);
}

void *allocate(int64_t n, size_t size) {
    void *memory = calloc((size_t)n, size);
    if (!memory)
        die("out of memory");
    return memory;
}
