/* How many threads a call may use where nobody says it. */
#ifndef HEADWISE_BUDGET_H
#define HEADWISE_BUDGET_H

#include "headwise/context.h"

enum { HEADWISE_MOST_THREADS = 1024 };

/* *n = headwise_default_threads(). HEADWISE_ERR_INVALID: HEADWISE_NUM_THREADS is no number from 1
 * to HEADWISE_MOST_THREADS; name begins the error text. */
enum headwise_status headwise_thread_budget(int *n, const char *name);

#endif
