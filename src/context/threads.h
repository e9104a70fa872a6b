/* What the library asks of the system's threads: the only place that knows them. */
#ifndef HEADWISE_THREADS_H
#define HEADWISE_THREADS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__) || defined(__i386__)
#define HEADWISE_SPIN_PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define HEADWISE_SPIN_PAUSE() __asm__ volatile("isb" : : : "memory") /* yield ends at once */
#else
#define HEADWISE_SPIN_PAUSE() __asm__ volatile("" : : : "memory")
#endif

/* Starts up to n threads in run(arg of that thread), arg_size bytes from one arg to the next.
 * Signals of the program are not delivered to them. Returns how many could be made: the first
 * ones. ids has room for n handles of headwise_thread_bytes() bytes. */
int headwise_threads_start(void *ids, int n, void *(*run)(void *arg), void *args, size_t arg_size);
void headwise_threads_join(void *ids, int n);
size_t headwise_thread_bytes(void);

/* How many of n threads could be made at once, by making them; they are gone again. */
int headwise_threads_try(int n);

/* Sleeps while *word is expected. True where another thread has ended the sleep, false where there
 * was none or something else ended it: to be asked again. */
bool headwise_futex_wait(_Atomic uint32_t *word, uint32_t expected);

/* Ends the sleep of at most n threads; returns of how many. */
int headwise_futex_wake(_Atomic uint32_t *word, int n);

/* Nanoseconds on the clock of the machine, and of the calling thread's time on a processor. */
int64_t headwise_clock_ns(void);
int64_t headwise_thread_clock_ns(void);

/* Lets the processor rest for some 10 to 50 ns while a thread spins. */
static inline void headwise_spin_pause(void) {
    HEADWISE_SPIN_PAUSE();
}

/* How many forks lie between the start of the library and this process. */
unsigned headwise_forks(void);

/* Whether this process is the child of a fork of one that had several threads. OpenMP's team may
 * have been among them, and OpenMP does not know that it is gone. */
bool headwise_forked_from_threads(void);

#endif
