/* How tasks are taken and ended, one by one, by one atomic operation each. */
#include "context/slot.h"

#include "context/threads.h"

#define ONE_BEGUN ((uint64_t)1 << 20)
#define ONE_STRETCH ((uint64_t)1 << 31)
#define MOST_TASKS (ONE_BEGUN - 1)

/* Finds the tasks that follow; false where there are none. */
static bool find_stretch(struct headwise_slot *slot) {
    const struct headwise_work *work = slot->work;
    int64_t done = slot->first + slot->count;
    if (headwise_work_stopped(work))
        return false;
    while (slot->phase < work->n_phases && done >= work->phases[slot->phase].n_tasks) {
        slot->phase++;
        done = 0;
    }
    if (slot->phase == work->n_phases)
        return false;
    slot->first = done;
    slot->count = headwise_min(work->phases[slot->phase].n_tasks - done, (int64_t)MOST_TASKS);
    return true;
}

/* Nobody holds a task or can take one but the caller of this function. */
static enum headwise_turn open_stretch(struct headwise_slot *slot, uint64_t ticket,
                                       int64_t *index) {
    bool found = find_stretch(slot);
    uint64_t opened = (ticket / ONE_STRETCH + 1) * ONE_STRETCH;
    if (found) {
        *index = slot->first;
        opened += ONE_BEGUN + (uint64_t)slot->count - 1;
    }
    atomic_store(&slot->ticket, opened);
    if (atomic_load(&slot->caller_sleeps)) {
        atomic_fetch_add(&slot->door, 1);
        headwise_futex_wake(&slot->door, 1);
    }
    return found ? HEADWISE_TURN_OPENED : HEADWISE_TURN_NONE;
}

void headwise_slot_begin(struct headwise_slot *slot, struct headwise_work *work, int64_t *index) {
    slot->work = work;
    slot->phase = 0;
    slot->first = slot->count = 0;
    atomic_store(&slot->n_workers, work->n_workers);
    open_stretch(slot, atomic_load(&slot->ticket), index);
}

bool headwise_slot_claim(struct headwise_slot *slot, uint64_t seen, int64_t *index) {
    uint64_t ticket = seen;
    do {
        uint64_t left = headwise_ticket_left(ticket);
        if (left == 0 || ticket / ONE_STRETCH != seen / ONE_STRETCH)
            return false;
    } while (!atomic_compare_exchange_weak(&slot->ticket, &ticket, ticket + ONE_BEGUN - 1));
    *index = slot->first + slot->count - (int64_t)headwise_ticket_left(ticket);
    return true;
}

enum headwise_turn headwise_slot_next(struct headwise_slot *slot, bool leave, int64_t *index) {
    uint64_t ticket = atomic_load(&slot->ticket), after;
    do {
        uint64_t left = headwise_ticket_left(ticket);
        if (left == 0 && headwise_ticket_begun(ticket) == 1)
            return open_stretch(slot, ticket, index);
        after = left > 0 && !leave ? ticket - 1 : ticket - ONE_BEGUN;
    } while (!atomic_compare_exchange_weak(&slot->ticket, &ticket, after));
    if (after == ticket - ONE_BEGUN)
        return HEADWISE_TURN_NONE;
    *index = slot->first + slot->count - (int64_t)headwise_ticket_left(ticket);
    return HEADWISE_TURN_TASK;
}

static void sleep_at_door(struct headwise_slot *slot) {
    uint32_t door = atomic_load(&slot->door);
    atomic_store(&slot->caller_sleeps, true);
    uint64_t ticket = atomic_load(&slot->ticket);
    if (!headwise_ticket_is_over(ticket) && headwise_ticket_left(ticket) == 0)
        headwise_futex_wait(&slot->door, door);
    atomic_store(&slot->caller_sleeps, false);
}

/* Pauses between two looks at the clock. */
enum { PAUSES = 32 };

bool headwise_slot_wait(struct headwise_slot *slot, int64_t spin_ns, int64_t *index) {
    int64_t until = 0;
    for (int pauses = 1;; pauses++) {
        uint64_t ticket = atomic_load(&slot->ticket);
        if (headwise_ticket_is_over(ticket))
            return false;
        if (headwise_ticket_left(ticket) > 0 && headwise_slot_claim(slot, ticket, index))
            return true;
        headwise_spin_pause();
        if (pauses % PAUSES != 0)
            continue;
        int64_t now = headwise_clock_ns();
        if (until == 0)
            until = now + spin_ns;
        else if (now >= until)
            sleep_at_door(slot);
    }
}

/* The ticket may be one of the slot's next call already, which may have fewer workers: their number
 * is that of the ticket where the ticket still is the same when the task is claimed. */
bool headwise_slot_stay(struct headwise_slot *slot, int64_t spin_ns, int worker, int64_t *index) {
    int64_t until = 0;
    for (int pauses = 1;; pauses++) {
        uint64_t ticket = atomic_load(&slot->ticket);
        if (headwise_ticket_is_over(ticket) || worker >= atomic_load(&slot->n_workers))
            return false;
        if (headwise_ticket_left(ticket) > 0 && headwise_slot_claim(slot, ticket, index))
            return true;
        headwise_spin_pause();
        if (pauses % PAUSES != 0)
            continue;
        int64_t now = headwise_clock_ns();
        if (until == 0)
            until = now + spin_ns;
        else if (now >= until)
            return false;
    }
}

int headwise_slot_borrow(struct headwise_slot *slot, int from) {
    int n = atomic_load(&slot->n_workers) - 1;
    for (int i = 0; i < n; i++) {
        int worker = 1 + (from + i) % n;
        if (!atomic_load_explicit(&slot->in_use[worker], memory_order_relaxed) &&
            !atomic_exchange_explicit(&slot->in_use[worker], true, memory_order_acquire)) {
            atomic_fetch_add(&slot->n_borrowed, 1);
            return worker;
        }
    }
    return 0;
}

void headwise_slot_return(struct headwise_slot *slot, int worker) {
    atomic_store_explicit(&slot->in_use[worker], false, memory_order_release);
    atomic_fetch_sub(&slot->n_borrowed, 1);
}
