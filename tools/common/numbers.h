/* Numbers in text. */
#ifndef HEADWISE_TOOLS_NUMBERS_H
#define HEADWISE_TOOLS_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

/* Each reads the number that begins at text, where nothing else may come first, no space either,
 * and sets *end behind it; what follows is the caller's to judge. False where there is none or it
 * does not fit: *value and *end are then undefined. Integers are decimal. Reals are as strtod has
 * them, but finite; real_read_f32 rounds once. */
bool integer_read(int64_t *value, const char *text, const char **end);
bool real_read(double *value, const char *text, const char **end);
bool real_read_f32(float *value, const char *text, const char **end);

/* The whole text as one number. */
bool integer_read_whole(int64_t *value, const char *text);
bool real_read_whole(double *value, const char *text);

#endif
