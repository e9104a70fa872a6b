/* Runs a call's work on a pool's threads. */
#ifndef HEADWISE_SRC_POOL_H
#define HEADWISE_SRC_POOL_H

#include "context/work.h"
#include "headwise/pool.h"

/* Runs all of work, which has a task, with whichever helpers are free; n_workers is at most
 * headwise_pool_threads(). The calling thread works from the first task to the last one and waits
 * for no thread but one that has begun a task. */
void headwise_pool_run(headwise_pool *pool, struct headwise_work *work);

#endif
