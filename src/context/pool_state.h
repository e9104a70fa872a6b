/* A pool's inside. */
#ifndef HEADWISE_POOL_STATE_H
#define HEADWISE_POOL_STATE_H

#include "context/slot.h"
#include "headwise/pool.h"

struct headwise_helper {
    headwise_pool *pool;
    int number;
};

struct headwise_pool {
    struct headwise_allocator allocator;
    size_t total_bytes; /* of the one piece of memory that this struct begins */
    int n_threads;      /* that work at once */
    int n_helpers, n_slots;
    unsigned forks; /* headwise_forks() where the helpers live */
    struct headwise_slot *slots;
    struct headwise_helper *helpers;
    void *ids;

    alignas(HEADWISE_ALIGNMENT) atomic_int n_calls; /* with a slot or without */
    atomic_int n_open;                              /* slots that are taken */
    atomic_int n_helping;
    alignas(HEADWISE_ALIGNMENT) _Atomic uint32_t bell; /* sleeping helpers wait for a change */
    atomic_int n_sleeping;
    atomic_bool ends;

    alignas(HEADWISE_ALIGNMENT) _Atomic int64_t last_end; /* of a call, in ns */
    atomic_bool calls_are_close; /* the last one began less than SPIN_NS after one's end */
    _Atomic int64_t typical_ns;  /* that a call's own thread needs for it alone: a moving mean */
    atomic_int alone_left;       /* calls that still are to do without helpers */
    atomic_int alone_step;       /* as many as the last time */
    atomic_int good_calls;       /* since the last time */
    _Atomic int64_t alone_until;
};

/* Waits for calls that can do with help, and helps, until the pool ends. arg is a helper. */
void *headwise_helper_run(void *arg);

#endif
