/* Text in a picture. */
#ifndef HEADWISE_TOOLS_SVG_TEXT_H
#define HEADWISE_TOOLS_SVG_TEXT_H

#include <stdint.h>
#include <stdio.h>

/* Prints at most n characters of text as XML: what XML cannot hold becomes a dot. */
void svg_print_text(FILE *out, const char *text, int n);

/* Prints the first letters of a token without the spaces around it, unless it is nothing else. */
void svg_print_token(FILE *out, const char *token);

/* Pixels that the longest of n names takes at this size of letters: a Latin letter is about 0.6 of
 * its size wide, others 1. */
double svg_names_width(const char *const *names, int64_t n, double size);

#endif
