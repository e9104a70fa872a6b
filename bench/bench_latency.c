/* Prints a table: how long small calls take, alone and beside other programs, by whom they run. */
#define _GNU_SOURCE /* prctl */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "latency.h"

struct surroundings {
    const char *name;
    int n_callers, n_burners;
    bool paced;
};

static const struct surroundings surroundings[] = {
    {"quiet", 1, 0, false},     {"1 burner", 1, 1, false},  {"2 burners", 1, 2, false},
    {"1 ms apart", 1, 0, true}, {"2 callers", 2, 0, false}, {"4 callers", 4, 0, false},
    {"8 callers", 8, 0, false},
};

enum { N_SURROUNDINGS = sizeof surroundings / sizeof surroundings[0], MOST_BURNERS = 2 };

struct settings {
    double seconds;
    int rounds, n_threads;
    const char *only; /* a part of the name of surroundings */
};

static const char usage[] =
    "usage: bench_latency [--seconds S] [--rounds N] [--threads N] [--only NAME]\n"
    "  --seconds S  of each case in each round (0.5)\n"
    "  --rounds N   the best of N rounds counts: column by column, cores with the calls/s (3)\n"
    "  --threads N  of OpenMP's team and of the pool (all processors)\n"
    "  --only NAME  surroundings whose name has NAME in it: \"quiet\", \"burner\", \"callers\"\n";

/* Processes that keep a processor busy until this one ends them, or ends. */
static void start_burners(pid_t *burners, int n) {
    for (int i = 0; i < n; i++) {
        pid_t parent = getpid();
        burners[i] = fork();
        if (burners[i] != 0)
            continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (volatile unsigned spins = 0; getppid() == parent;)
            for (int s = 0; s < 1000000; s++)
                spins++;
        _exit(0);
    }
}

static void stop_burners(const pid_t *burners, int n) {
    for (int i = 0; i < n; i++) {
        if (burners[i] > 0) {
            kill(burners[i], SIGKILL);
            waitpid(burners[i], NULL, 0);
        }
    }
}

static void keep_best(struct latency *best, const struct latency *latency, bool first) {
    if (first) {
        *best = *latency;
        return;
    }
    best->p50 = latency->p50 < best->p50 ? latency->p50 : best->p50;
    best->p99 = latency->p99 < best->p99 ? latency->p99 : best->p99;
    best->p999 = latency->p999 < best->p999 ? latency->p999 : best->p999;
    if (latency->calls_per_s > best->calls_per_s) {
        best->calls_per_s = latency->calls_per_s;
        best->cores = latency->cores;
    }
}

typedef struct latency results[LATENCY_CALLS][N_SURROUNDINGS][LATENCY_THREADS];

static bool is_wanted(const struct settings *settings, int s) {
    return !settings->only || strstr(surroundings[s].name, settings->only);
}

/* All cases once, those that are compared right after one another. */
static bool run_round(results best, const struct settings *settings, bool first) {
    for (int s = 0; s < N_SURROUNDINGS; s++) {
        pid_t burners[MOST_BURNERS];
        bool good = true;
        if (!is_wanted(settings, s))
            continue;
        start_burners(burners, surroundings[s].n_burners);
        for (int call = 0; call < LATENCY_CALLS && good; call++)
            for (int t = 0; t < LATENCY_THREADS && good; t++) {
                const struct latency_case c = {(enum latency_call)call, (enum latency_threads)t,
                                               settings->n_threads,     surroundings[s].n_callers,
                                               surroundings[s].paced,   settings->seconds};
                struct latency latency;
                good = latency_measure(&latency, &c);
                if (good)
                    keep_best(&best[call][s][t], &latency, first);
            }
        stop_burners(burners, surroundings[s].n_burners);
        if (!good)
            return false;
    }
    return true;
}

static void print_table(results best, const struct settings *settings) {
    static const char *const calls[] = {"layer of width 256, 4 heads, 32 rows",
                                        "one token, width 1024, 16 heads on 4, 1024 keys cached"};
    static const char *const threads[] = {"serial", "OpenMP", "pool"};
    for (int call = 0; call < LATENCY_CALLS; call++) {
        printf("%s\n\n", calls[call]);
        printf("| surroundings | threads | p50 us | p99 us | p99.9 us | calls/s | cores |\n");
        printf("|---|---|---:|---:|---:|---:|---:|\n");
        for (int s = 0; s < N_SURROUNDINGS; s++)
            for (int t = 0; is_wanted(settings, s) && t < LATENCY_THREADS; t++) {
                const struct latency *l = &best[call][s][t];
                printf("| %s | %s | %.0f | %.0f | %.0f | %.0f | %.2f |\n", surroundings[s].name,
                       threads[t], l->p50, l->p99, l->p999, l->calls_per_s, l->cores);
            }
        printf("\n");
    }
}

static bool read_settings(struct settings *settings, int argc, char **argv) {
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--seconds") == 0)
            settings->seconds = atof(value);
        else if (strcmp(argv[i], "--rounds") == 0)
            settings->rounds = atoi(value);
        else if (strcmp(argv[i], "--threads") == 0)
            settings->n_threads = atoi(value);
        else if (strcmp(argv[i], "--only") == 0)
            settings->only = value;
        else
            return false;
    }
    return settings->seconds > 0 && settings->rounds > 0 && settings->n_threads > 0;
}

int main(int argc, char **argv) {
    static results best;
    struct settings settings = {
        .seconds = 0.5, .rounds = 3, .n_threads = headwise_default_threads()};
    if (!read_settings(&settings, argc, argv)) {
        fputs(usage, stderr);
        return 2;
    }
    for (int round = 0; round < settings.rounds; round++) {
        if (!run_round(best, &settings, round == 0))
            return 1;
    }
    printf("%d threads, the best of %d rounds of %.3g s\n\n", settings.n_threads, settings.rounds,
           settings.seconds);
    print_table(best, &settings);
    return 0;
}
