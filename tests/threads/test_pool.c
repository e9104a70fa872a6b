/* How a pool's helpers and its callers meet: every task once, phases in their order, workers of
 * their own, and nobody waits for a thread that has begun nothing. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "context/context.h"
#include "context/parallel.h"
#include "context/pool.h"
#include "guard.h"
#include "headwise/headwise.h"
#include "rng.h"
#include "runner.h"

static const int thread_counts[] = {1, 2, 3, 5, 8, 16};

static headwise_pool *make_pool(int n_threads) {
    headwise_pool *pool = NULL;
    const struct headwise_pool_options options = {.size = sizeof(options), .n_threads = n_threads};
    assert_int_equal(headwise_pool_create(&pool, &options), HEADWISE_OK);
    return pool;
}

static headwise_context *make_context(headwise_pool *pool, int n_threads) {
    headwise_context *context = NULL;
    const struct headwise_context_options options = {
        .size = sizeof(options), .n_threads = n_threads, .pool = pool};
    assert_int_equal(headwise_context_create(&context, &options), HEADWISE_OK);
    return context;
}

static void nap(void) {
    const struct timespec time = {0, 1000000};
    nanosleep(&time, NULL);
}

/* Tasks that all wait until each of them has begun: only as many threads can end them. */
enum { MOST_SECONDS = 60 };

struct meeting {
    atomic_int n_here, n_expected;
    atomic_bool gave_up;
};

static void meet(void *arg, int64_t index, int worker) {
    struct meeting *meeting = arg;
    time_t end = time(NULL) + MOST_SECONDS;
    (void)index;
    (void)worker;
    atomic_fetch_add(&meeting->n_here, 1);
    while (atomic_load(&meeting->n_here) < atomic_load(&meeting->n_expected)) {
        if (time(NULL) > end) {
            atomic_store(&meeting->gave_up, true);
            return;
        }
        nap();
    }
}

/* The first call of a pool: one whose thread sleeps in its tasks makes the pool doubt its helpers.
 */
static void helpers_take_part(enum headwise_isa unused) {
    (void)unused;
    for (int n = 2; n <= 4; n++) {
        headwise_pool *pool = make_pool(n);
        assert_int_equal(headwise_pool_threads(pool), n);
        headwise_context *context = make_context(pool, 0);
        assert_int_equal(headwise_context_describe(context)->n_threads, n);
        struct meeting meeting = {.n_expected = n};
        struct headwise_phase phases[] = {{n, meet, &meeting}};
        assert_int_equal(headwise_parallel_run(context, phases, 1, false), HEADWISE_OK);
        assert_false(atomic_load(&meeting.gave_up));
        headwise_context_destroy(context);
        headwise_pool_destroy(pool);
    }
}

/* Tasks that look whether their phase's turn has come and whether their worker is theirs alone. */
enum { MOST_PHASES = 6, MOST_WORKERS = 16 };

struct ledger {
    int64_t n_tasks[MOST_PHASES];
    atomic_int_least64_t n_ended[MOST_PHASES], sum[MOST_PHASES];
    atomic_bool busy[MOST_WORKERS];
    atomic_int n_wrong;
    int n_workers;
};

struct page {
    struct ledger *ledger;
    int phase;
};

static void enter(void *arg, int64_t index, int worker) {
    const struct page *page = arg;
    struct ledger *ledger = page->ledger;
    bool wrong =
        worker < 0 || worker >= ledger->n_workers || atomic_exchange(&ledger->busy[worker], true);
    for (int p = 0; p < page->phase; p++)
        wrong = wrong || atomic_load(&ledger->n_ended[p]) != ledger->n_tasks[p];
    if (wrong)
        atomic_fetch_add(&ledger->n_wrong, 1);
    for (volatile int i = 0; i < (int)(index % 7) * 50; i++)
        continue;
    atomic_store(&ledger->busy[worker], false);
    atomic_fetch_add(&ledger->sum[page->phase], index + 1);
    atomic_fetch_add(&ledger->n_ended[page->phase], 1);
}

static int run_ledger(const headwise_context *context, struct test_rng *rng) {
    struct ledger ledger = {.n_workers = headwise_context_describe(context)->n_threads};
    struct page pages[MOST_PHASES];
    struct headwise_phase phases[MOST_PHASES];
    for (int p = 0; p < MOST_PHASES; p++) {
        ledger.n_tasks[p] = test_rng_below(rng, 4) == 0 ? 0 : 1 + test_rng_below(rng, 40);
        pages[p] = (struct page){&ledger, p};
        phases[p] = (struct headwise_phase){ledger.n_tasks[p], enter, &pages[p]};
    }
    enum headwise_status status = headwise_parallel_run(context, phases, MOST_PHASES, false);
    int n_wrong = atomic_load(&ledger.n_wrong) + (status != HEADWISE_OK);
    for (int p = 0; p < MOST_PHASES; p++)
        n_wrong += atomic_load(&ledger.sum[p]) != ledger.n_tasks[p] * (ledger.n_tasks[p] + 1) / 2;
    return n_wrong;
}

struct caller {
    pthread_t thread;
    headwise_pool *pool;
    int number, n_rounds, n_threads, n_wrong;
};

static void *call_often(void *arg) {
    struct caller *caller = arg;
    struct test_rng rng = test_rng_make(300 + (uint64_t)caller->number);
    headwise_context *context = NULL;
    const struct headwise_context_options options = {
        .size = sizeof(options), .n_threads = caller->n_threads, .pool = caller->pool};
    caller->n_wrong = headwise_context_create(&context, &options) != HEADWISE_OK;
    for (int i = 0; i < caller->n_rounds && caller->n_wrong == 0; i++)
        caller->n_wrong = run_ledger(context, &rng);
    headwise_context_destroy(context);
    return NULL;
}

/* One to four callers, some of whose contexts have fewer threads than the pool. */
static void every_task_once_and_in_order(enum headwise_isa unused) {
    const int n_rounds = (int)(2000 / test_share());
    (void)unused;
    for (size_t t = 0; t < TEST_COUNT(thread_counts); t++)
        for (int n_callers = 1; n_callers <= 4; n_callers += 3) {
            struct caller callers[4];
            headwise_pool *pool = make_pool(thread_counts[t]);
            for (int c = 0; c < n_callers; c++) {
                callers[c] = (struct caller){.pool = pool,
                                             .number = c,
                                             .n_rounds = n_rounds / n_callers / 4,
                                             .n_threads = c % 2 ? 2 : 0};
                assert_int_equal(pthread_create(&callers[c].thread, NULL, call_often, &callers[c]),
                                 0);
            }
            for (int c = 0; c < n_callers; c++) {
                pthread_join(callers[c].thread, NULL);
                assert_int_equal(callers[c].n_wrong, 0);
            }
            headwise_pool_destroy(pool);
        }
}

/* More tasks than a ticket counts: a phase in several stretches. */
static void a_phase_may_have_millions_of_tasks(enum headwise_isa unused) {
    enum { N = (1 << 20) + 12345 };
    struct ledger ledger = {.n_workers = 3};
    struct page pages[2] = {{&ledger, 0}, {&ledger, 1}};
    headwise_pool *pool = make_pool(3);
    headwise_context *context = make_context(pool, 0);
    (void)unused;
    ledger.n_tasks[0] = N;
    ledger.n_tasks[1] = 5;
    struct headwise_phase phases[] = {{N, enter, &pages[0]}, {5, enter, &pages[1]}};
    assert_int_equal(headwise_parallel_run(context, phases, 2, false), HEADWISE_OK);
    assert_int_equal(atomic_load(&ledger.n_wrong), 0);
    assert_int_equal(atomic_load(&ledger.sum[0]), (int64_t)N * (N + 1) / 2);
    assert_int_equal(atomic_load(&ledger.n_ended[1]), 5);
    headwise_context_destroy(context);
    headwise_pool_destroy(pool);
}

/* A helper that is stuck in one caller's task holds up no other call. */
struct stuck_call {
    headwise_context *context;
    struct meeting meeting;
};

static void *call_and_meet(void *arg) {
    struct stuck_call *call = arg;
    struct headwise_phase phase = {2, meet, &call->meeting};
    (void)headwise_parallel_run(call->context, &phase, 1, false);
    return NULL;
}

static void a_stuck_helper_holds_up_no_other_call(enum headwise_isa unused) {
    pthread_t thread;
    headwise_pool *pool = make_pool(2);
    struct stuck_call stuck = {make_context(pool, 0), {.n_expected = 3}}; /* 2 are not enough */
    headwise_context *context = make_context(pool, 0);
    struct test_rng rng = test_rng_make(301);
    (void)unused;
    assert_int_equal(pthread_create(&thread, NULL, call_and_meet, &stuck), 0);
    while (atomic_load(&stuck.meeting.n_here) < 2)
        nap();
    for (int i = 0; i < 100; i++)
        assert_int_equal(run_ledger(context, &rng), 0);
    assert_int_equal(atomic_load(&stuck.meeting.n_here), 2); /* still inside */
    atomic_store(&stuck.meeting.n_expected, 2);
    pthread_join(thread, NULL);
    assert_false(atomic_load(&stuck.meeting.gave_up));
    headwise_context_destroy(stuck.context);
    headwise_context_destroy(context);
    headwise_pool_destroy(pool);
}

/* Once a task has raised the flag, tasks that have begun end and no other begins. */
struct raiser {
    int flag;
    atomic_int n_run;
};

static void raise_flag(void *arg, int64_t index, int worker) {
    struct raiser *raiser = arg;
    (void)worker;
    atomic_fetch_add(&raiser->n_run, 1);
    if (index == 20)
        __atomic_store_n(&raiser->flag, 1, __ATOMIC_RELAXED);
}

static void a_flag_stops_the_tasks(enum headwise_isa unused) {
    struct raiser raiser = {0};
    headwise_pool *pool = make_pool(3);
    headwise_context *context = NULL;
    const struct headwise_context_options options = {
        .size = sizeof(options), .pool = pool, .cancel_flag = &raiser.flag};
    struct headwise_phase phases[] = {{1000000, raise_flag, &raiser}, {10, raise_flag, &raiser}};
    (void)unused;
    assert_int_equal(headwise_context_create(&context, &options), HEADWISE_OK);
    for (int round = 0; round < 20; round++) {
        __atomic_store_n(&raiser.flag, 0, __ATOMIC_RELAXED);
        atomic_store(&raiser.n_run, 0);
        assert_int_equal(headwise_parallel_run(context, phases, 2, false), HEADWISE_ERR_CANCELLED);
        assert_true(atomic_load(&raiser.n_run) >= 21 - 3 && atomic_load(&raiser.n_run) < 1000000);
    }
    headwise_context_destroy(context);
    headwise_pool_destroy(pool);
}

/* Pools come and go, idle, at work or asleep. */
static void pools_end_at_any_time(enum headwise_isa unused) {
    struct test_rng rng = test_rng_make(302);
    (void)unused;
    for (int i = 0; i < 100; i++) {
        headwise_pool *pool = make_pool(1 + i % 6);
        headwise_context *context = make_context(pool, 0);
        for (int n = 0; n < i % 3; n++)
            assert_int_equal(run_ledger(context, &rng), 0);
        if (i % 10 == 9)
            nap(); /* helpers sleep by now */
        headwise_context_destroy(context);
        headwise_pool_destroy(pool);
    }
    headwise_pool_destroy(NULL);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(helpers_take_part),
        TEST_CASE(every_task_once_and_in_order),
        TEST_CASE(a_phase_may_have_millions_of_tasks),
        TEST_CASE(a_stuck_helper_holds_up_no_other_call),
        TEST_CASE(a_flag_stops_the_tasks),
        TEST_CASE(pools_end_at_any_time),
    };
    return test_run_once(cases, TEST_COUNT(cases));
}
