/* The scanners below the reader: each begins at *at and moves it behind what it took. On failure
 * *at is where the problem is and the text of the problem is returned; NULL: none. */
#ifndef HEADWISE_JSON_SCAN_H
#define HEADWISE_JSON_SCAN_H

#include "json/values.h"

/* From behind the opening quote to behind the closing one. */
const char *headwise_json_scan_text(const char **at, const char *end,
                                    struct headwise_json_text *text);

/* A number, Infinity, -Infinity or NaN. */
const char *headwise_json_scan_number(const char **at, const char *end,
                                      struct headwise_json_number *number);

/* Whether a word stands at at. */
bool headwise_json_has_word(const char *at, const char *end, const char *word);

/* Bytes of the character of two bytes or more that begins a UTF-8 text of n bytes; 0: none does. */
size_t headwise_json_measure_character(const char *text, size_t n);

#endif
