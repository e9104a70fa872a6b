/* A tile of rows meets one block of keys: scores, masks, softmax, values. */
#ifndef HEADWISE_BLOCK_H
#define HEADWISE_BLOCK_H

#include "attention/operands.h"

/* Begins key block number index. False: no row sees any of its keys, and nothing is left to do.
 * Rows that see none of them keep their bits in any case. */
bool headwise_block_open(struct headwise_block *block, const struct headwise_tile *tile,
                         int64_t index);

/* Adds the block to the state of rows r0 ... r1-1, at most plan->pass_rows. */
void headwise_block_pass(struct headwise_block *block, int64_t r0, int64_t r1);

#endif
