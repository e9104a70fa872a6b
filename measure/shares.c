/* The shares of a call's time: the fastest of a few calls with timed kernels. */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */
#include "measure/shares.h"

#include "measure/clock.h"
#include "measure/timed.h"

const char *share_name(enum share_group group) {
    static const char *const names[SHARE_GROUPS] = {"projections", "scores",  "softmax",
                                                    "values",      "packing", "rows"};
    return names[group];
}

/* The shares of a timed call that took elapsed ticks, what the timing itself cost taken off. */
static struct shares add_up(struct timed_cost cost, uint64_t elapsed, int n_threads) {
    struct shares shares = {.rest = 1.0};
    double total = (double)elapsed * n_threads, ticks[SHARE_GROUPS] = {0};
    int n;
    const struct timed_meter *meters = timed_meters(&n);
    for (int i = 0; i < n; i++) {
        shares.exponentials += meters[i].exponentials;
        for (int g = 0; g < SHARE_GROUPS; g++) {
            ticks[g] += (double)meters[i].ticks[g] - (double)meters[i].calls[g] * cost.inside;
            total -= (double)meters[i].calls[g] * cost.outside;
        }
    }
    for (int g = 0; g < SHARE_GROUPS; g++) {
        shares.share[g] = ticks[g] > 0 ? ticks[g] / total : 0;
        shares.rest -= shares.share[g];
    }
    return shares;
}

enum headwise_status shares_measure(struct shares *shares, headwise_context *context,
                                    shares_run_fn *run, void *arg) {
    enum { MIN_CALLS = 3, MAX_CALLS = 200 };
    const double budget_s = 0.05;
    struct headwise_timing plain = headwise_timing_get(context);
    struct timed_cost cost = timed_cost_measure();
    struct timed_tables timed;
    enum headwise_status status = HEADWISE_OK;
    double first_s = seconds_now();
    timed_tables_make(&timed, plain);
    headwise_timing_set(context, timed.timing);
    for (int i = 0; i < MAX_CALLS && status == HEADWISE_OK; i++) {
        timed_reset();
        double begin_s = seconds_now();
        uint64_t begin = ticks_now();
        status = run(arg);
        uint64_t elapsed = ticks_now() - begin;
        double end_s = seconds_now();
        if (i == 0 || end_s - begin_s < shares->timed_s) {
            *shares = add_up(cost, elapsed, headwise_context_describe(context)->n_threads);
            shares->timed_s = end_s - begin_s;
        }
        if (i + 1 >= MIN_CALLS && end_s - first_s > budget_s)
            break;
    }
    headwise_timing_set(context, plain);
    return status;
}
