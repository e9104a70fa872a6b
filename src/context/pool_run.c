/* How callers and helpers of a pool meet, and when callers ask for help. */
#include "base/float_mode.h"
#include "context/pool.h"
#include "context/pool_state.h"
#include "context/threads.h"

/* What a helper or a caller spins for at most, 50 us: a sleeping thread is at work 10 to 60 us
 * after it was woken. */
#define SPIN_NS INT64_C(50000)

/* To wake a helper takes two threads 30 to 50 us of time on a processor. A call that its own thread
 * ends within SHORT_NS does not wake any, unless calls follow one another so closely that helpers
 * stay awake: calls of 0.13 ms, 1 ms apart, took about half as much of a processor's time again. */
#define SHORT_NS INT64_C(200000)

/* A thread wakes two others at most, and those two more each: one that woke many would be late at
 * its own tasks. */
enum { MOST_WAKES = 2, PAUSES = 32 };

/* A call with helpers that took longer than its own thread would have needed has met a thread that
 * had begun a task and lost its processor. Nobody else can do that task: it may be half written to
 * outputs, and the thread will go on writing whenever it runs again. So such calls must be rare:
 * the next FEWEST_ALONE do without helpers, and twice as many each time it happens again within
 * GOOD_CALLS calls, but for no longer than ALONE_NS. On two cores with one other program this makes
 * one call in some thousands wait for such a thread, instead of one in thirty. */
enum { FEWEST_ALONE = 32, MOST_ALONE = 4096, GOOD_CALLS = 256 };
#define ALONE_NS INT64_C(1000000000)

static int load(const atomic_int *number) {
    return atomic_load_explicit(number, memory_order_relaxed);
}

static void store(atomic_int *number, int value) {
    atomic_store_explicit(number, value, memory_order_relaxed);
}

/* Threads more that may work now. */
static int free_threads(headwise_pool *pool) {
    return pool->n_threads - load(&pool->n_calls) - load(&pool->n_helping);
}

/* Wakes helpers for n tasks, but for those who are awake and look for some. */
static void wake_helpers(headwise_pool *pool, int64_t n) {
    int sleeping = atomic_load(&pool->n_sleeping);
    if (sleeping <= 0)
        return;
    int awake = pool->n_helpers - sleeping - load(&pool->n_helping);
    n = headwise_min(n, free_threads(pool)) - headwise_max(awake, 0);
    n = headwise_min(headwise_min(n, sleeping), MOST_WAKES);
    if (n <= 0)
        return;
    atomic_fetch_add(&pool->bell, 1);
    atomic_fetch_sub(&pool->n_sleeping, headwise_futex_wake(&pool->bell, (int)n));
}

static bool may_wake(struct headwise_slot *slot) {
    int64_t from = atomic_load_explicit(&slot->wake_from, memory_order_relaxed);
    if (from > 0 && headwise_clock_ns() < from)
        return false;
    if (from > 0)
        atomic_store_explicit(&slot->wake_from, 0, memory_order_relaxed);
    return true;
}

/* A call that turns out to be long wakes helpers in the midst of a stretch. */
static void wake_for(headwise_pool *pool, struct headwise_slot *slot, enum headwise_turn turn,
                     int worker) {
    bool waits = worker == 0 && atomic_load_explicit(&slot->wake_from, memory_order_relaxed) > 0;
    if ((turn == HEADWISE_TURN_OPENED || waits) && may_wake(slot))
        wake_helpers(pool, (int64_t)headwise_ticket_left(atomic_load(&slot->ticket)));
}

/* Runs tasks from the one in hand until others have the rest. */
static int64_t run_tasks(headwise_pool *pool, struct headwise_slot *slot, enum headwise_turn turn,
                         int64_t index, int worker) {
    int64_t n = 0;
    while (turn != HEADWISE_TURN_NONE) {
        wake_for(pool, slot, turn, worker);
        headwise_work_task(slot->work, &slot->work->phases[slot->phase], index, worker);
        n++;
        bool leave = worker > 0 && free_threads(pool) < 0;
        turn = headwise_slot_next(slot, leave, &index);
    }
    return n;
}

static bool help_slot(struct headwise_helper *helper, struct headwise_slot *slot, bool *woken) {
    headwise_pool *pool = helper->pool;
    uint64_t seen = atomic_load(&slot->ticket);
    int64_t index;
    if (headwise_ticket_left(seen) == 0)
        return false;
    int worker = headwise_slot_borrow(slot, helper->number);
    if (worker == 0)
        return false;
    bool claimed = headwise_slot_claim(slot, seen, &index);
    if (claimed) {
        if (*woken)
            wake_helpers(pool, (int64_t)headwise_ticket_left(atomic_load(&slot->ticket)));
        *woken = false;
        do
            run_tasks(pool, slot, HEADWISE_TURN_TASK, index, worker);
        while (free_threads(pool) >= 0 && headwise_slot_stay(slot, SPIN_NS, worker, &index));
    }
    headwise_slot_return(slot, worker);
    return claimed;
}

/* Helps whoever has tasks; false where nobody has, or enough threads work. */
static bool help(struct headwise_helper *helper, bool *woken) {
    headwise_pool *pool = helper->pool;
    bool helped = false;
    atomic_fetch_add(&pool->n_helping, 1);
    for (int s = 0; s < pool->n_slots && free_threads(pool) >= 0; s++)
        helped |= help_slot(helper, &pool->slots[(helper->number + s) % pool->n_slots], woken);
    atomic_fetch_sub(&pool->n_helping, 1);
    return helped;
}

static bool has_tasks(headwise_pool *pool) {
    if (atomic_load(&pool->n_open) == 0 || free_threads(pool) <= 0)
        return false;
    for (int s = 0; s < pool->n_slots; s++) {
        if (headwise_slot_needs_help(&pool->slots[s]))
            return true;
    }
    return false;
}

/* Spins until there are tasks; false where it is time to sleep. */
static bool spin(headwise_pool *pool) {
    int64_t begun = headwise_clock_ns();
    do {
        for (int i = 0; i < PAUSES; i++) {
            if (has_tasks(pool) || atomic_load(&pool->ends))
                return true;
            headwise_spin_pause();
        }
    } while ((atomic_load(&pool->n_open) > 0 ||
              atomic_load_explicit(&pool->calls_are_close, memory_order_relaxed)) &&
             headwise_clock_ns() - begun < SPIN_NS);
    return false;
}

/* Whoever ends the sleep has counted the helper as awake; where nobody did, it does so itself. */
static void sleep_until_called(headwise_pool *pool) {
    uint32_t bell = atomic_load(&pool->bell);
    atomic_fetch_add(&pool->n_sleeping, 1);
    if (has_tasks(pool) || atomic_load(&pool->ends) || !headwise_futex_wait(&pool->bell, bell))
        atomic_fetch_sub(&pool->n_sleeping, 1);
}

void *headwise_helper_run(void *arg) {
    struct headwise_helper *helper = arg;
    headwise_pool *pool = helper->pool;
    bool woken = false;
    headwise_float_enter();
    while (!atomic_load(&pool->ends)) {
        if (help(helper, &woken) || spin(pool))
            continue;
        sleep_until_called(pool);
        woken = true;
    }
    return NULL;
}

/* Whether a call that begins now is to have helpers. */
static bool wants_help(headwise_pool *pool, int64_t now) {
    if (load(&pool->alone_left) <= 0)
        return true;
    if (now < atomic_load_explicit(&pool->alone_until, memory_order_relaxed)) {
        atomic_fetch_sub_explicit(&pool->alone_left, 1, memory_order_relaxed);
        return false;
    }
    store(&pool->alone_left, 0);
    return true;
}

/* Learns from a call that took elapsed, and would have taken its own thread about alone_ns. */
static void learn(headwise_pool *pool, int64_t now, int64_t elapsed, double alone_ns) {
    int64_t typical = atomic_load_explicit(&pool->typical_ns, memory_order_relaxed);
    atomic_store_explicit(&pool->typical_ns, typical + ((int64_t)alone_ns - typical) / 8,
                          memory_order_relaxed);
    if ((double)elapsed < 1.5 * alone_ns + (double)SPIN_NS) {
        if (load(&pool->good_calls) < GOOD_CALLS)
            atomic_fetch_add_explicit(&pool->good_calls, 1, memory_order_relaxed);
        return;
    }
    bool again = load(&pool->good_calls) < GOOD_CALLS;
    int64_t twice = headwise_min(2 * (int64_t)load(&pool->alone_step), MOST_ALONE);
    int step = again && twice > FEWEST_ALONE ? (int)twice : FEWEST_ALONE;
    store(&pool->good_calls, 0);
    store(&pool->alone_step, step);
    atomic_store_explicit(&pool->alone_until, now + ALONE_NS, memory_order_relaxed);
    store(&pool->alone_left, step);
}

static struct headwise_slot *take_slot(headwise_pool *pool) {
    for (int s = 0; s < pool->n_slots; s++) {
        struct headwise_slot *slot = &pool->slots[s];
        if (!atomic_load_explicit(&slot->taken, memory_order_relaxed) &&
            !atomic_exchange_explicit(&slot->taken, true, memory_order_acquire))
            return slot;
    }
    return NULL;
}

static int64_t count_tasks(const struct headwise_work *work) {
    int64_t n = 0;
    for (int p = 0; p < work->n_phases; p++)
        n += work->phases[p].n_tasks;
    return n;
}

static void run_helped(headwise_pool *pool, struct headwise_slot *slot, struct headwise_work *work,
                       int64_t begun) {
    int64_t index, own = 0, own_ns = headwise_thread_clock_ns();
    enum headwise_turn turn = HEADWISE_TURN_OPENED;
    bool wakes = atomic_load_explicit(&pool->calls_are_close, memory_order_relaxed) ||
                 atomic_load_explicit(&pool->typical_ns, memory_order_relaxed) > SHORT_NS;
    atomic_store_explicit(&slot->wake_from, wakes ? 0 : begun + SHORT_NS, memory_order_relaxed);
    atomic_fetch_add(&pool->n_open, 1);
    headwise_slot_begin(slot, work, &index);
    do {
        own += run_tasks(pool, slot, turn, index, 0);
        turn = HEADWISE_TURN_TASK;
    } while (headwise_slot_wait(slot, SPIN_NS, &index));
    atomic_fetch_sub(&pool->n_open, 1);
    int64_t now = headwise_clock_ns();
    if (!headwise_work_stopped(work))
        learn(pool, now, now - begun,
              (double)(headwise_thread_clock_ns() - own_ns) * (double)count_tasks(work) /
                  (double)own);
    atomic_store_explicit(&slot->taken, false, memory_order_release);
    atomic_store_explicit(&pool->last_end, now, memory_order_relaxed);
}

void headwise_pool_run(headwise_pool *pool, struct headwise_work *work) {
    struct headwise_slot *slot = NULL;
    int64_t now = headwise_clock_ns();
    int64_t gap = now - atomic_load_explicit(&pool->last_end, memory_order_relaxed);
    atomic_fetch_add(&pool->n_calls, 1);
    atomic_store_explicit(&pool->calls_are_close, gap < SPIN_NS, memory_order_relaxed);
    if (pool->n_helpers > 0 && pool->forks == headwise_forks() && wants_help(pool, now))
        slot = take_slot(pool);
    if (slot)
        run_helped(pool, slot, work, now);
    else
        headwise_work_alone(work);
    atomic_fetch_sub(&pool->n_calls, 1);
}
