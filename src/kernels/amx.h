/* Products of bytes by AMX, which the operating system gives a process that asks. */
#ifndef HEADWISE_AMX_H
#define HEADWISE_AMX_H

#include "kernels/dot.h"

/* As headwise_dot_vnni, with the same bits. The first matrix that is packed for it, or else the
 * first product of several rows, asks Linux for the tiles' registers, for the whole process, and
 * compares small products with exact sums; where either fails, this is headwise_dot_vnni for good.
 */
extern const struct headwise_dot headwise_dot_amx;

/* The kernel itself: needs the permission. With a state, tiles stay configured between calls: to
 * configure and to release them for each panel of a few rows took a fifth of an MLP's time. */
headwise_dot_fn headwise_multiply_amx;
void headwise_release_amx(struct headwise_dot_state *state);

#endif
