/* A call's place in a pool, where its caller and its helpers take tasks from. It belongs to the
 * pool and outlives the call: a helper that was interrupted before it took a task may look at it at
 * any later time, finds another ticket there, and takes nothing. */
#ifndef HEADWISE_SLOT_H
#define HEADWISE_SLOT_H

#include <stdalign.h>

#include "base/alloc.h"
#include "context/work.h"

/* The ticket says all that decides who may do what, in one word:
 *   bits  0-19  tasks of the current stretch that nobody has begun
 *   bits 20-30  tasks that were begun and have not ended
 *   bits 31-63  the stretch's number, counted over all calls of the slot
 * A stretch is a phase, or a million tasks of one. Nothing left and nothing begun: the call is
 * over. Whoever ends the last task of a stretch opens the next one. The number comes round after
 * 2^33 stretches, more than an hour of nothing but calls of 0.5 us each: a thread that took a task
 * by an outdated ticket would have to have slept between two instructions for so long. */
struct headwise_slot {
    alignas(HEADWISE_ALIGNMENT) _Atomic uint64_t ticket;
    alignas(HEADWISE_ALIGNMENT) atomic_bool taken; /* by a call */
    atomic_bool caller_sleeps;
    _Atomic uint32_t door;     /* the caller's sleep ends when it changes */
    atomic_int n_workers;      /* of the current call */
    atomic_int n_borrowed;     /* workers that helpers are */
    _Atomic int64_t wake_from; /* when helpers that sleep may be woken for the call; 0: now */
    atomic_bool *in_use;       /* [workers], worker 0 is the caller: a helper's while it is set */

    /* Written by whoever opens a stretch, read by those who hold one of its tasks. */
    struct headwise_work *work;
    int phase;
    int64_t first, count; /* tasks of the phase */
};

enum headwise_turn {
    HEADWISE_TURN_NONE,  /* no task */
    HEADWISE_TURN_TASK,  /* a task */
    HEADWISE_TURN_OPENED /* the first task of a new stretch, of count tasks */
};

static inline uint64_t headwise_ticket_left(uint64_t ticket) {
    return ticket & (((uint64_t)1 << 20) - 1);
}

static inline uint64_t headwise_ticket_begun(uint64_t ticket) {
    return ticket >> 20 & (((uint64_t)1 << 11) - 1);
}

static inline bool headwise_ticket_is_over(uint64_t ticket) {
    return (ticket & (((uint64_t)1 << 31) - 1)) == 0;
}

/* Opens the first stretch of work, which has a task, and takes its first task. */
void headwise_slot_begin(struct headwise_slot *slot, struct headwise_work *work, int64_t *index);

/* Takes a task of the stretch that was seen; false where it is another or has none left. */
bool headwise_slot_claim(struct headwise_slot *slot, uint64_t seen, int64_t *index);

/* Ends the task in hand and takes another one, unless leave is set: then only where it has opened a
 * stretch. Where it returns NONE, the call may be over and nothing of it may be touched. */
enum headwise_turn headwise_slot_next(struct headwise_slot *slot, bool leave, int64_t *index);

/* The caller's wait for tasks that others have begun: spins for spin_ns at most, then sleeps. True
 * with a task, false when the call is over. */
bool headwise_slot_wait(struct headwise_slot *slot, int64_t spin_ns, int64_t *index);

/* A helper's wait, as this worker, for the stretch that follows: spins for spin_ns at most. True
 * with a task; false when the call is over, or the time. */
bool headwise_slot_stay(struct headwise_slot *slot, int64_t spin_ns, int worker, int64_t *index);

/* Whether there are a task and a worker for one helper more. */
static inline bool headwise_slot_needs_help(struct headwise_slot *slot) {
    return headwise_ticket_left(atomic_load(&slot->ticket)) > 0 &&
           atomic_load(&slot->n_borrowed) < atomic_load(&slot->n_workers) - 1;
}

/* A worker that nobody is, beginning the search at `from`; 0 where there is none. */
int headwise_slot_borrow(struct headwise_slot *slot, int from);
void headwise_slot_return(struct headwise_slot *slot, int worker);

#endif
