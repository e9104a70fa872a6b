/* The groups of kernels that the shares of a call's time are told by. */
#ifndef MEASURE_GROUPS_H
#define MEASURE_GROUPS_H

/* The first word of a kernel's group in the reports. */
enum share_group {
    SHARE_PROJECTIONS, /* project, of panels of every type, and dot: products of bytes */
    SHARE_SCORES,      /* scores, of panels of every type and of rows in their own place */
    SHARE_SOFTMAX,     /* softmax, merge, finish */
    SHARE_VALUES,      /* values, of panels of every type */
    SHARE_PACKING,     /* pack_rows, pack_transposed, pack_columns, interleave; widening of panels;
                        * rounding of rows to integers for products of bytes */
    SHARE_ROWS,        /* norm_rms, norm_layer, activate, add */
    SHARE_GROUPS
};

#endif
