/* Gives memory between unreadable pages, and frees it all after a test case. */
#define _DEFAULT_SOURCE
#include "guard.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cmocka_headers.h"

struct block {
    struct block *next;
    unsigned char *map; /* NULL: plain memory, at data */
    size_t map_bytes;
    unsigned char *data;
    size_t size_bytes;
};

static struct block *blocks;

static void die(const char *what) {
    perror(what);
    abort();
}

static struct block *add_block(void) {
    struct block *block = calloc(1, sizeof(*block));
    if (block == NULL)
        die("tests: calloc");
    block->next = blocks;
    blocks = block;
    return block;
}

static struct block *map_block(size_t size_bytes, size_t shift_bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t middle = (size_bytes + shift_bytes + page - 1) / page * page;
    struct block *block = add_block();
    block->map_bytes = middle + 2 * page;
    block->map = mmap(NULL, block->map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block->map == MAP_FAILED)
        die("tests: mmap");
    if (middle > 0 && mprotect(block->map + page, middle, PROT_READ | PROT_WRITE) != 0)
        die("tests: mprotect");
    memset(block->map + page, GUARD_BYTE, middle);
    block->size_bytes = size_bytes;
    return block;
}

/* Bytes that every buffer keeps away from its page's end: 0, or HEADWISE_TEST_SLACK. */
static size_t slack_bytes(void) {
    const char *text = getenv("HEADWISE_TEST_SLACK");
    return text == NULL ? 0 : (size_t)strtoul(text, NULL, 10);
}

void *guard_alloc(size_t size_bytes, size_t shift_bytes) {
    shift_bytes += slack_bytes();
    struct block *block = map_block(size_bytes, shift_bytes);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    block->data = block->map + block->map_bytes - page - shift_bytes - size_bytes;
    return block->data;
}

void *guard_alloc_begin(size_t size_bytes, size_t shift_bytes) {
    struct block *block = map_block(size_bytes, shift_bytes);
    block->data = block->map + sysconf(_SC_PAGESIZE) + shift_bytes;
    return block->data;
}

float *guard_floats(size_t n) {
    return guard_alloc(n * sizeof(float), 0);
}

void *guard_plain(size_t n, size_t size) {
    struct block *block = add_block();
    block->data = calloc(n > 0 ? n : 1, size);
    if (block->data == NULL)
        die("tests: calloc");
    return block->data;
}

static size_t first_change(const unsigned char *p, size_t n) {
    size_t i = 0;
    while (i < n && p[i] == GUARD_BYTE)
        i++;
    return i;
}

void guard_check(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (const struct block *block = blocks; block != NULL; block = block->next) {
        if (block->map == NULL)
            continue;
        const unsigned char *begin = block->map + page;
        const unsigned char *end = block->map + block->map_bytes - page;
        const unsigned char *data_end = block->data + block->size_bytes;
        size_t before = (size_t)(block->data - begin);
        size_t after = (size_t)(end - data_end);
        size_t i = first_change(begin, before);
        if (i < before)
            fail_msg("a byte %zu before a buffer of %zu bytes was written", before - i,
                     block->size_bytes);
        i = first_change(data_end, after);
        if (i < after)
            fail_msg("byte %zu after a buffer of %zu bytes was written", i, block->size_bytes);
    }
}

void guard_release(void) {
    while (blocks != NULL) {
        struct block *next = blocks->next;
        if (blocks->map != NULL)
            munmap(blocks->map, blocks->map_bytes);
        else
            free(blocks->data);
        free(blocks);
        blocks = next;
    }
}

void guard_reset(void) {
    guard_check();
    guard_release();
}

void guard_expect_untouched(const void *memory, size_t size_bytes, const char *what) {
    size_t i = first_change(memory, size_bytes);
    if (i < size_bytes)
        fail_msg("%s: byte %zu of %zu was written", what, i, size_bytes);
}
