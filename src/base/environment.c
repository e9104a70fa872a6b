/* Reads environment variables: HEADWISE_ISA, HEADWISE_NUM_THREADS and OMP_NUM_THREADS. */
#include "base/environment.h"

#include <stdlib.h>
#include <string.h>

const char *headwise_environment(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

bool headwise_read_count(int *number, const char *text, int most, bool list) {
    static const char blanks[] = " \t";
    long value = 0;
    text += strspn(text, blanks);
    size_t digits = strspn(text, "0123456789");
    const char *rest = text + digits + strspn(text + digits, blanks);
    for (size_t i = 0; i < digits && value <= most; i++)
        value = value * 10 + (text[i] - '0');
    if (digits == 0 || value < 1 || value > most || (*rest != '\0' && !(list && *rest == ',')))
        return false;
    *number = (int)value;
    return true;
}
