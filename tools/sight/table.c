/* Prints what was found about a model's heads. */
#include <math.h>
#include <stdio.h>

#include "sight/report.h"

/* A row for each head. */
static void print_heads(const struct sight_report *report) {
    const struct headwise_sight_info *info = report->info;
    printf("%s: %lld layers, %lld heads; %lld tokens\n"
           "  head  entropy   dist.   self  prev.   next  first   sep.    norm  resid.  change  "
           "twin (corr.)\n",
           report->title, (long long)info->n_layers, (long long)info->n_heads,
           (long long)info->n_tokens);
    for (int64_t h = 0; h < info->n_heads; h++) {
        const struct headwise_sight_head *head = &info->heads[h];
        char name[48], change[16] = "-", twin[64] = "-";
        snprintf(name, sizeof name, "%lld.%lld", (long long)head->layer, (long long)head->head);
        if (!isnan(head->change))
            snprintf(change, sizeof change, "%.2f %%", 100 * head->change);
        if (head->twin >= 0)
            snprintf(twin, sizeof twin, "%lld.%lld (%.2f)",
                     (long long)info->heads[head->twin].layer,
                     (long long)info->heads[head->twin].head, head->correlation);
        printf("%6s %8.3f %7.2f %6.3f %6.3f %6.3f %6.3f %6.3f %7.3f %5.1f %% %7s  %s\n", name,
               head->entropy, head->distance, head->self, head->previous, head->next, head->first,
               head->separator, head->norm, 100 * head->residual, change, twin);
    }
}

/* For each kind the heads with the largest mean scores over the texts. */
static void print_kinds(const struct sight_report *report) {
    enum { SHOWN = 4 };
    printf("over %lld texts, heads with the highest scores (mean +- spread):\n",
           (long long)report->n_texts);
    for (int k = 0; k < HEADWISE_KINDS; k++) {
        double below = INFINITY;
        int64_t last = -1;
        printf("  %-12s", headwise_head_kind_name((enum headwise_head_kind)k));
        for (int shown = 0; shown < SHOWN; shown++) {
            int64_t best = -1;
            for (int64_t h = 0; h < report->info->n_heads; h++) {
                double mean = report->means[h * HEADWISE_KINDS + k];
                bool is_after = mean < below || (mean == below && h > last);
                if (is_after && (best < 0 || mean > report->means[best * HEADWISE_KINDS + k]))
                    best = h;
            }
            if (best < 0)
                break;
            last = best;
            below = report->means[best * HEADWISE_KINDS + k];
            printf("  %lld.%lld %.2f +- %.2f", (long long)report->info->heads[best].layer,
                   (long long)report->info->heads[best].head, below,
                   report->spreads[best * HEADWISE_KINDS + k]);
        }
        putchar('\n');
    }
}

void sight_table_print(const struct sight_report *report) {
    print_heads(report);
    if (report->n_texts > 0)
        print_kinds(report);
}
