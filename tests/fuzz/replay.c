/* Gives a fuzz target each file named on the command line, and beginnings of it, at most 2000. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* The bytes are in memory exactly as long, so that a checker sees a read beyond the end. */
static void run(const uint8_t *bytes, size_t size) {
    uint8_t *copy = malloc(size > 0 ? size : 1);
    if (!copy)
        abort();
    memcpy(copy, bytes, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

int main(int argc, char **argv) {
    static uint8_t bytes[65536];
    long n_runs = 0;
    for (int i = 1; i < argc; i++) {
        FILE *stream = fopen(argv[i], "rb");
        size_t size = stream ? fread(bytes, 1, sizeof bytes, stream) : 0;
        if (!stream || size == 0 || fclose(stream) != 0) {
            fprintf(stderr, "%s: cannot be read\n", argv[i]);
            return 1;
        }
        for (size_t n = 0; n < size; n += size / 2000 + 1, n_runs++)
            run(bytes, n);
        run(bytes, size);
        printf("[       OK ] %s\n", argv[i]);
    }
    printf("%ld executions\n", n_runs + argc - 1);
    return argc > 1 ? 0 : 1;
}
