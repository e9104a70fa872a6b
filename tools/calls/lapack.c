/* Opens LAPACKE's library and finds the functions in it. */
#define _POSIX_C_SOURCE 200809L
#include "calls/lapack.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char library_name[] = "liblapacke.so.3";

static struct lapack found;
static bool is_found;
static char problem[512];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Copies the address as POSIX has it: C knows no conversion of a pointer to a function. */
static bool find(void *function, void *library, const char *name) {
    void *address = dlsym(library, name);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

static void open_library(void) {
    void *library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    is_found = library && find(&found.dgesdd, library, "LAPACKE_dgesdd") &&
               find(&found.dgeqrf, library, "LAPACKE_dgeqrf");
    if (is_found)
        return;
    const char *why = dlerror();
    snprintf(problem, sizeof problem,
             "ranks need the library LAPACKE, Debian's package liblapacke: %s",
             why ? why : library_name);
}

const struct lapack *lapack_get(void) {
    pthread_once(&once, open_library);
    return is_found ? &found : NULL;
}

const char *lapack_problem(void) {
    return problem;
}
