/* Builds a double array out of sorted keys, without recursion. */
#include "text/trie.h"

#include <stdlib.h>
#include <string.h>

/* Keys first..last that share a beginning of depth bytes, which node stands for. */
struct range {
    size_t first, last, depth;
    uint32_t node;
};

struct builder {
    struct headwise_trie *trie;
    const struct headwise_trie_key *keys;
    struct range *stack;
    size_t n_stack, stack_capacity;
    size_t first_free; /* no node before is free */
};

static int compare_keys(const void *a, const void *b) {
    const struct headwise_trie_key *x = a, *y = b;
    size_t size = x->text.size_bytes < y->text.size_bytes ? x->text.size_bytes : y->text.size_bytes;
    int order = size > 0 ? memcmp(x->text.bytes, y->text.bytes, size) : 0;
    if (order == 0)
        order =
            (x->text.size_bytes > y->text.size_bytes) - (x->text.size_bytes < y->text.size_bytes);
    return order ? order : (x->value > y->value) - (x->value < y->value);
}

static bool have_nodes(struct headwise_trie *trie, size_t n) {
    if (n <= trie->n_nodes)
        return true;
    if (n > UINT32_MAX / 2 ||
        !headwise_memory_grow(trie->memory, &trie->nodes, &trie->capacity, n, sizeof *trie->nodes))
        return false;
    for (size_t i = trie->n_nodes; i < n; i++)
        trie->nodes[i] = (struct headwise_trie_node){0, 0, -1};
    trie->n_nodes = n;
    return true;
}

static bool push(struct builder *b, struct range range) {
    if (!headwise_memory_grow(b->trie->memory, &b->stack, &b->stack_capacity, b->n_stack + 1,
                              sizeof *b->stack))
        return false;
    b->stack[b->n_stack++] = range;
    return true;
}

/* A base where the nodes of all labels are free. Where 64 places in a row do not fit, what lies
 * before is given up, so that building stays linear. */
static bool find_base(struct builder *b, const unsigned char *labels, size_t n, size_t *base) {
    struct headwise_trie *trie = b->trie;
    size_t tries = 0, at = b->first_free;
    for (;; at++) {
        if (!have_nodes(trie, at + 512))
            return false;
        if (trie->nodes[at].check || at < labels[0] || at == labels[0])
            continue;
        size_t candidate = at - labels[0], i = 1;
        while (i < n && !trie->nodes[candidate + labels[i]].check)
            i++;
        if (i == n) {
            *base = candidate;
            return true;
        }
        if (++tries == 64)
            b->first_free = at + 1;
        else if (tries > 64)
            b->first_free++;
    }
}

/* Splits a range by its next byte into children. */
static bool expand(struct builder *b, struct range range) {
    unsigned char labels[256];
    size_t starts[257], n = 0, base;
    for (size_t i = range.first; i < range.last; i++) {
        if (b->keys[i].text.size_bytes == range.depth) { /* sorted first */
            b->trie->nodes[range.node].value = b->keys[i].value;
            continue;
        }
        unsigned char label = (unsigned char)b->keys[i].text.bytes[range.depth];
        if (n == 0 || labels[n - 1] != label) {
            labels[n] = label;
            starts[n++] = i;
        }
    }
    if (n == 0)
        return true;
    starts[n] = range.last;
    if (!find_base(b, labels, n, &base))
        return false;
    b->trie->nodes[range.node].base = (uint32_t)base;
    for (size_t i = 0; i < n; i++)
        b->trie->nodes[base + labels[i]].check = range.node + 1;
    while (b->first_free < b->trie->n_nodes && b->trie->nodes[b->first_free].check)
        b->first_free++;
    for (size_t i = 0; i < n; i++) {
        struct range child = {starts[i], starts[i + 1], range.depth + 1,
                              (uint32_t)(base + labels[i])};
        if (!push(b, child))
            return false;
    }
    return true;
}

bool headwise_trie_build(struct headwise_trie *trie, struct headwise_trie_key *keys, size_t n) {
    if (n > 0)
        qsort(keys, n, sizeof *keys, compare_keys);
    struct builder b = {.trie = trie, .keys = keys, .first_free = 1};
    bool good = have_nodes(trie, 512) && push(&b, (struct range){0, n, 0, 0});
    while (good && b.n_stack > 0)
        good = expand(&b, b.stack[--b.n_stack]);
    headwise_memory_give(trie->memory, b.stack, b.stack_capacity, sizeof *b.stack);
    return good;
}

void headwise_trie_free(struct headwise_trie *trie) {
    headwise_memory_give(trie->memory, trie->nodes, trie->capacity, sizeof *trie->nodes);
    *trie = (struct headwise_trie){.memory = trie->memory};
}

int32_t headwise_trie_longest(const struct headwise_trie *trie, uint32_t node, const char *bytes,
                              size_t size, size_t *length) {
    int32_t value = -1;
    for (size_t i = 0; i < size; i++) {
        node = headwise_trie_step(trie, node, (unsigned char)bytes[i]);
        if (node == 0)
            break;
        if (trie->nodes[node].value >= 0) {
            value = trie->nodes[node].value;
            *length = i + 1;
        }
    }
    return value;
}
