/* Scores of a head for the known kinds, from its whole map. */
#include <math.h>

#include "base/error.h"
#include "sight/sight.h"

struct headwise_sight_keys {
    int64_t n_separators, n_punctuations;
    int64_t *separators, *punctuations; /* places of such tokens */
    int64_t *repeated;                  /* [n]: the next place of the same id, in a circle */
    int64_t *words; /* [n][2]: the first place of its word, and the one behind */
};

/* Special tokens are of no word and repeat nothing. */
static bool is_text(const headwise_sight *sight, int64_t i) {
    return !sight->tokens[i].is_special;
}

static void link_repeated(struct headwise_sight_keys *keys, const headwise_sight *sight) {
    int64_t n = sight->info.n_tokens;
    for (int64_t i = 0; i < n; i++) {
        int64_t next = i;
        do
            next = (next + 1) % n;
        while (next != i && (sight->ids[next] != sight->ids[i] || !is_text(sight, next)));
        keys->repeated[i] = is_text(sight, i) ? next : i;
    }
}

static void find_words(struct headwise_sight_keys *keys, const headwise_sight *sight) {
    int64_t n = sight->info.n_tokens;
    for (int64_t begin = 0, end; begin < n; begin = end) {
        for (end = begin + 1; end < n && sight->tokens[end].word == sight->tokens[begin].word;)
            end++;
        for (int64_t i = begin; i < end; i++) {
            keys->words[2 * i] = begin;
            keys->words[2 * i + 1] = end;
        }
    }
}

enum headwise_status headwise_sight_list_keys(struct headwise_sight_keys **keys,
                                              struct headwise_sight_room *room,
                                              const headwise_sight *sight) {
    int64_t n = sight->info.n_tokens;
    struct headwise_sight_keys *made = headwise_sight_take(room, 1, sizeof *made);
    int64_t *places = headwise_sight_take(room, 5 * n, sizeof *places);
    if (!made || !places)
        return headwise_model_no_memory("sight_create");
    made->separators = places;
    made->punctuations = places + n;
    made->repeated = places + 2 * n;
    made->words = places + 3 * n;
    for (int64_t i = 0; i < n; i++) {
        if (i > 0 && sight->tokens[i].is_special)
            made->separators[made->n_separators++] = i;
        if (sight->tokens[i].is_punctuation)
            made->punctuations[made->n_punctuations++] = i;
    }
    link_repeated(made, sight);
    find_words(made, sight);
    *keys = made;
    return HEADWISE_OK;
}

/* Sum over the listed keys but one. */
static double sum_listed(const float *row, const int64_t *list, int64_t n, int64_t but,
                         bool *found) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        if (list[i] != but) {
            sum += (double)row[list[i]];
            *found = true;
        }
    }
    return sum;
}

static double sum_repeated(const float *row, const int64_t *next, int64_t i, bool *found) {
    double sum = 0;
    for (int64_t j = next[i]; j != i; j = next[j]) {
        sum += (double)row[j];
        *found = true;
    }
    return sum;
}

static double sum_word(const float *row, const int64_t *word, int64_t i, bool *found) {
    double sum = 0;
    for (int64_t j = word[0]; j < word[1]; j++) {
        if (j != i) {
            sum += (double)row[j];
            *found = true;
        }
    }
    return sum;
}

/* What row i, a token of the text, says; has[kind] where it has such a key. */
static void score_row(double *scores, bool *has, const struct headwise_sight_keys *keys,
                      const float *row, int64_t i, int64_t n) {
    for (int k = 0; k < HEADWISE_KINDS; k++)
        has[k] = false;
    has[HEADWISE_KIND_SELF] = has[HEADWISE_KIND_FIRST] = true;
    has[HEADWISE_KIND_PREVIOUS] = i > 0;
    has[HEADWISE_KIND_NEXT] = i + 1 < n;
    scores[HEADWISE_KIND_SELF] = (double)row[i];
    scores[HEADWISE_KIND_FIRST] = (double)row[0];
    scores[HEADWISE_KIND_PREVIOUS] = i > 0 ? (double)row[i - 1] : 0;
    scores[HEADWISE_KIND_NEXT] = i + 1 < n ? (double)row[i + 1] : 0;
    scores[HEADWISE_KIND_SEPARATOR] =
        sum_listed(row, keys->separators, keys->n_separators, i, &has[HEADWISE_KIND_SEPARATOR]);
    scores[HEADWISE_KIND_PUNCTUATION] = sum_listed(row, keys->punctuations, keys->n_punctuations, i,
                                                   &has[HEADWISE_KIND_PUNCTUATION]);
    scores[HEADWISE_KIND_REPEATED] =
        sum_repeated(row, keys->repeated, i, &has[HEADWISE_KIND_REPEATED]);
    scores[HEADWISE_KIND_WORD] = sum_word(row, keys->words + 2 * i, i, &has[HEADWISE_KIND_WORD]);
}

void headwise_sight_score(struct headwise_sight_head *head, const struct headwise_sight_keys *keys,
                          const headwise_sight *sight, const float *map, const float *entropy) {
    int64_t n = sight->info.n_tokens, counts[HEADWISE_KINDS] = {0};
    double sums[HEADWISE_KINDS] = {0}, scores[HEADWISE_KINDS], separator = 0;
    bool has[HEADWISE_KINDS], any = false;
    for (int64_t i = 0; i < n; i++) {
        const float *row = map + i * n;
        separator += sum_listed(row, keys->separators, keys->n_separators, -1, &any);
        if (!is_text(sight, i))
            continue;
        score_row(scores, has, keys, row, i, n);
        has[HEADWISE_KIND_BROAD] = n > 1;
        scores[HEADWISE_KIND_BROAD] = n > 1 ? (double)entropy[i] / log((double)n) : 0;
        for (int k = 0; k < HEADWISE_KINDS; k++) {
            sums[k] += has[k] ? scores[k] : 0;
            counts[k] += has[k];
        }
    }
    head->separator = separator / (double)n;
    for (int k = 0; k < HEADWISE_KINDS; k++)
        head->kinds[k] = counts[k] > 0 ? sums[k] / (double)counts[k] : (double)NAN;
}
