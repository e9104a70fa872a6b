/* The end of the program where something fails. */
#ifndef LLAMA_END_H
#define LLAMA_END_H

#include <stddef.h>
#include <stdint.h>

/* Prints "llama: " and the text, and ends the program. */
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Zeroed memory that lives as long as the program. */
void *allocate(int64_t n, size_t size);

#endif
