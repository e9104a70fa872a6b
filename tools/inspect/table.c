/* Prints the findings as tables. */
#include "inspect/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/message.h"
#include "common/text.h"

enum { MOST_COLUMNS = 16, ALIKE_PAIRS = 8 };

struct printer {
    const struct findings *findings;
    struct arena *arena;
    bool is_utf8;
};

/* A bar for each bin, the highest one full. */
static void print_profile(const struct printer *p, const double *profile) {
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char ascii[] = " .:-=+*%#";
    double most = 0;
    for (int i = 0; i < p->findings->n_bins; i++)
        most = profile[i] > most ? profile[i] : most;
    for (int i = 0; i < p->findings->n_bins; i++) {
        double level = most > 0 ? 8 * profile[i] / most : 0;
        int n = level > 0 ? (int)lround(level) : 0;
        n = n == 0 && level > 0.08 ? 1 : n; /* a hundredth of the highest is still seen */
        if (p->is_utf8)
            printf("%s", blocks[n]);
        else
            putchar(ascii[n]);
    }
}

static void print_rank(int64_t rank, int64_t most) {
    char text[48];
    if (rank < 0)
        snprintf(text, sizeof text, "-");
    else
        snprintf(text, sizeof text, "%lld/%lld", (long long)rank, (long long)most);
    printf(" %7s", text);
}

static void print_heads(const struct printer *p) {
    const struct findings *f = p->findings;
    const struct bin *bins = f->bins;
    printf("\n            largest            mean weight on      "
           "          of the output         rank\n"
           "head  kv entropy weight  dist.  self first prev. next  dist.  norm share  cost"
           "  logits output  weight by distance\n");
    for (int64_t h = 0; h < f->n_heads; h++) {
        const struct head_findings *head = &f->heads[h];
        printf("%4lld %3lld %7.3f %6.3f %6.1f %5.3f %5.3f %5.3f %5.3f %5.1f %6.3g %5.1f%% %4.1f%%",
               (long long)head->number, (long long)head->kv_head, head->entropy, head->largest,
               head->distance, head->self, head->first, head->previous, head->next,
               head->mean_distance, head->norm, 100 * head->share, 100 * head->cost);
        print_rank(head->logit_rank, head->most_logits);
        print_rank(head->output_rank, head->most_outputs);
        printf("  ");
        print_profile(p, head->profile);
        printf("\n");
    }
    printf("weight by distance: ");
    for (int i = 0; i < f->n_bins; i++) {
        int64_t low = bins[i].low, high = bins[i].high;
        if (low == high)
            printf("%s%lld", i ? ", " : "", (long long)(low < 0 ? -low : low));
        else
            printf("%s%lld-%lld", i ? ", " : "", (long long)(low < 0 ? -high : low),
                   (long long)(low < 0 ? -low : high));
        if (high < 0)
            printf(" ahead");
    }
    printf(" tokens %s\n", f->bins[0].low < 0 ? "behind" : "back");
}

/* "12:dog" */
static const char *label(const struct printer *p, const char *const *tokens, int64_t i) {
    const char *text =
        arena_text(p->arena, "%lld%s%s", (long long)i, tokens ? ":" : "", tokens ? tokens[i] : "");
    return text ? text : "?";
}

static void print_pair(const struct printer *p, const struct pair *pair, bool has_query) {
    const struct findings *f = p->findings;
    if (has_query) {
        text_print(label(p, f->query_tokens, pair->query), 0);
        printf(p->is_utf8 ? " → " : " -> ");
    }
    text_print(label(p, f->key_tokens, pair->key), 0);
    printf(" %.3f", (double)pair->weight);
}

static void print_pairs(const struct printer *p) {
    const struct findings *f = p->findings;
    bool has_any = false;
    for (int64_t h = 0; h < f->n_heads; h++)
        has_any = has_any || f->heads[h].n_pairs > 0;
    if (!has_any)
        return;
    printf("\nstrongest pairs%s\n",
           f->is_self ? ", apart from the token itself and the first one" : ", apart from key 0");
    for (int64_t h = 0; h < f->n_heads; h++) {
        printf("%4lld", (long long)f->heads[h].number);
        for (int i = 0; i < f->heads[h].n_pairs; i++) {
            printf(i ? ",  " : "  ");
            print_pair(p, &f->heads[h].pairs[i], true);
        }
        printf("\n");
    }
}

static void print_links(const struct printer *p) {
    const struct findings *f = p->findings;
    for (int64_t l = 0; l < f->n_links; l++) {
        printf("\nwhat token ");
        text_print(label(p, f->query_tokens, f->link_queries[l]), 0);
        printf(" looks at\n");
        for (int64_t h = 0; h < f->n_heads; h++) {
            const struct pair *links = f->links + (l * f->n_heads + h) * LINKS_PER_TOKEN;
            printf("%4lld", (long long)f->heads[h].number);
            for (int i = 0; i < LINKS_PER_TOKEN && links[i].key >= 0; i++) {
                printf(i ? ",  " : "  ");
                print_pair(p, &links[i], false);
            }
            printf("%s\n", links[0].key < 0 ? "  no key" : "");
        }
    }
}

/* Below the diagonal the maps' correlation, above it the contributions' cosine. */
static void print_matrix(const struct printer *p) {
    const struct findings *f = p->findings;
    printf("\nhow alike heads are: correlation of maps below the diagonal, cosine of contributions "
           "above\n    ");
    for (int64_t h = 0; h < f->n_heads; h++)
        printf(" %5lld", (long long)f->heads[h].number);
    printf("\n");
    for (int64_t g = 0; g < f->n_heads; g++) {
        printf("%4lld", (long long)f->heads[g].number);
        for (int64_t h = 0; h < f->n_heads; h++) {
            const double *matrix = h < g ? f->correlation : f->cosines;
            if (g == h)
                printf("     %s", p->is_utf8 ? "·" : ".");
            else
                printf(" %5.2f", matrix[g * f->n_heads + h]);
        }
        printf("\n");
    }
}

/* The largest ones, for layers whose matrix is too wide for a terminal. */
static void print_alike(const struct findings *f, const double *matrix, const char *what) {
    struct pair found[ALIKE_PAIRS];
    int n = 0;
    for (int64_t g = 0; g < f->n_heads; g++) {
        for (int64_t h = g + 1; h < f->n_heads; h++) {
            struct pair pair = {g, h, (float)matrix[g * f->n_heads + h]};
            int at = n < ALIKE_PAIRS ? n++ : ALIKE_PAIRS;
            while (at > 0 && pair.weight > found[at - 1].weight) {
                if (at < ALIKE_PAIRS)
                    found[at] = found[at - 1];
                at--;
            }
            if (at < ALIKE_PAIRS)
                found[at] = pair;
        }
    }
    printf("\nmost alike by %s:", what);
    for (int i = 0; i < n; i++)
        printf("%s %lld and %lld %.2f", i ? "," : "", (long long)f->heads[found[i].query].number,
               (long long)f->heads[found[i].key].number, (double)found[i].weight);
    printf("\n");
}

static void print_ablation(const struct printer *p) {
    const struct findings *f = p->findings;
    if (!f->has_order) {
        printf("\nthe output is not finite: no head can be weighed\n");
        return;
    }
    printf("\nwithout heads, in the order that changes the output least (norm of the change / norm "
           "of the output %.3g)\n"
           "  off  alone  with those above\n",
           f->output_norm);
    for (int64_t i = 0; i < f->n_heads; i++) {
        const struct head_findings *head = &f->heads[f->order[i]];
        int64_t twin = f->twins[f->order[i]];
        printf("%5lld %5.1f%% %6.1f%%", (long long)head->number, 100 * head->alone,
               100 * f->order_change[i]);
        if (twin >= 0)
            printf("  like head %lld (cosine %.2f)", (long long)f->heads[twin].number,
                   f->cosines[f->order[i] * f->n_heads + twin]);
        printf("\n");
    }
}

int table_print(const struct findings *f, struct arena *arena, bool is_utf8) {
    const struct printer printer = {f, arena, is_utf8};
    if (f->batch > 1)
        printf("means over %lld batch entries; pairs, links, ranks and maps of entry %lld\n",
               (long long)f->batch, (long long)f->entry);
    print_heads(&printer);
    print_pairs(&printer);
    print_links(&printer);
    if (f->n_heads > 1 && f->n_heads <= MOST_COLUMNS) {
        print_matrix(&printer);
    } else if (f->n_heads > 1) {
        print_alike(f, f->correlation, "correlation of maps");
        print_alike(f, f->cosines, "cosine of contributions");
    }
    print_ablation(&printer);
    return EXIT_GOOD;
}
