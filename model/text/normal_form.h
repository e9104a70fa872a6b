/* Unicode's normal forms, with origins, in time linear in the text whatever its marks. */
#ifndef HEADWISE_TEXT_NORMAL_FORM_H
#define HEADWISE_TEXT_NORMAL_FORM_H

#include "text/aligned.h"

/* A character of a decomposed text and how many of the source it stands for (0: beside another). */
struct headwise_form_item {
    uint32_t c;
    uint32_t taken;
    unsigned combining;
};

struct headwise_form_items {
    struct headwise_form_item *at;
    size_t n, capacity;
};

/* Marks that wait for others, reused from call to call; zero at the beginning. */
struct headwise_form_room {
    struct headwise_form_items run;    /* marks in a row, as they come */
    struct headwise_form_items sorted; /* in their order */
    struct headwise_form_items kept;   /* those that stay behind a character that composes */
};

void headwise_form_room_free(const struct headwise_allocator *memory,
                             struct headwise_form_room *room);

struct headwise_form {
    bool compat;       /* compatibility decomposition */
    bool compose;      /* then composition */
    bool drop_accents; /* without marks of class NONSPACING, not with compose */
    bool lower;        /* then lower case, not with compose; ASCII is already */
};

/* Writes source to target, which is empty, in that form. A failed allocation sets
 * target->failed. */
void headwise_normal_form(struct headwise_aligned *target, const struct headwise_aligned *source,
                          struct headwise_form form, struct headwise_form_room *room);

#endif
