/* Threads, their clocks, their sleep, and what a fork leaves of them. */
#define _GNU_SOURCE /* pthread_setname_np */
#include "context/threads.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Tasks need less than 16 KB; thread-local variables of the program come out of the stack too. */
enum { STACK_BYTES = 256 * 1024 };

/* Where the stack is too small for this program's thread-local variables, the default size is. */
static bool start_thread(pthread_t *id, void *(*run)(void *arg), void *arg) {
    pthread_attr_t attributes;
    bool has_attributes = pthread_attr_init(&attributes) == 0;
    bool sized = has_attributes && pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0;
    bool started = (sized && pthread_create(id, &attributes, run, arg) == 0) ||
                   pthread_create(id, NULL, run, arg) == 0;
    if (has_attributes)
        pthread_attr_destroy(&attributes);
    return started;
}

int headwise_threads_start(void *ids, int n, void *(*run)(void *arg), void *args, size_t arg_size) {
    pthread_t *threads = ids;
    sigset_t all, callers;
    int started = 0;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &callers) != 0)
        return 0;
    while (started < n && start_thread(&threads[started], run, (char *)args + started * arg_size)) {
        pthread_setname_np(threads[started], "headwise");
        started++;
    }
    pthread_sigmask(SIG_SETMASK, &callers, NULL);
    return started;
}

void headwise_threads_join(void *ids, int n) {
    pthread_t *threads = ids;
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}

size_t headwise_thread_bytes(void) {
    return sizeof(pthread_t);
}

static void *wait_for_gate(void *gate) {
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

/* They all live until the gate opens. */
int headwise_threads_try(int n) {
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_t threads[64];
    int tried = n < 64 ? n : 64, started;
    pthread_mutex_lock(&gate);
    started = headwise_threads_start(threads, tried, wait_for_gate, &gate, 0);
    pthread_mutex_unlock(&gate);
    headwise_threads_join(threads, started);
    pthread_mutex_destroy(&gate);
    return started < tried ? started : n;
}

bool headwise_futex_wait(_Atomic uint32_t *word, uint32_t expected) {
    return syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0) == 0;
}

int headwise_futex_wake(_Atomic uint32_t *word, int n) {
    long woken = syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
    return woken > 0 ? (int)woken : 0;
}

static int64_t read_clock(clockid_t clock) {
    struct timespec now;
    return clock_gettime(clock, &now) == 0 ? now.tv_sec * INT64_C(1000000000) + now.tv_nsec : 0;
}

int64_t headwise_clock_ns(void) {
    return read_clock(CLOCK_MONOTONIC);
}

int64_t headwise_thread_clock_ns(void) {
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

static _Thread_local bool had_threads;  /* when this thread forked */
static _Atomic unsigned n_forks;        /* of this process's ancestors since the library's start */
static atomic_bool forked_from_threads; /* in one of these forks */

/* A folder for each thread lies in /proc/self/task; without /proc there may be several. */
static void before_fork(void) {
    struct stat tasks;
    had_threads = stat("/proc/self/task", &tasks) != 0 || tasks.st_nlink != 3;
}

static void in_child(void) {
    atomic_fetch_add_explicit(&n_forks, 1, memory_order_relaxed);
    if (had_threads)
        atomic_store_explicit(&forked_from_threads, true, memory_order_relaxed);
}

/* From the start, not from the first context on: the parent of a fork may have run other parallel
 * code and never have called this library. */
__attribute__((constructor)) static void watch_forks(void) {
    pthread_atfork(before_fork, NULL, in_child);
}

unsigned headwise_forks(void) {
    return atomic_load_explicit(&n_forks, memory_order_relaxed);
}

bool headwise_forked_from_threads(void) {
    return atomic_load_explicit(&forked_from_threads, memory_order_relaxed);
}
