/* Calls over a cache: the queries' keys are appended before they ask. */
#ifndef BENCH_CACHED_H
#define BENCH_CACHED_H

#include "call.h"

/* Gives an open operator or layer a cache that holds the keys before its queries; with a window a
 * ring with room for a chunk. False: the library's last error says why. */
bool bench_cached_open(struct bench_call *call, const struct bench_shape *s);

/* All queries, a chunk at a time; then the cache is as it was. */
enum headwise_status bench_cached_run(struct bench_call *call);

#endif
