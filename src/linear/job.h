/* Calls of linear layers and MLPs at work: rows through one matrix, or through up to three. */
#ifndef HEADWISE_LINEAR_JOB_H
#define HEADWISE_LINEAR_JOB_H

#include "context/context.h"
#include "linear/project.h"
#include "rows/end.h"

/* Rows in scratch, of each worker or of all together. */
struct headwise_linear_place {
    int64_t at; /* offset in the scratch, in floats */
    float *data;
    int64_t stride;        /* floats between rows */
    int64_t worker_floats; /* between the places of two workers; 0: they share one */
};

/* What a worker has begun in a call that is cut by columns. */
struct headwise_linear_share {
    _Alignas(HEADWISE_ALIGNMENT) struct headwise_projection hidden;
    struct headwise_projection out;
    bool hidden_ready, out_ready; /* they are set, and what they read is normalized */
};

/* One call. The upper half is what it is to do; headwise_linear_job_run() fills in the rest.
 *
 * By rows: a task takes a block of rows all the way, whose hidden rows stay in the L2 cache. By
 * columns, where rows are few and threads several: tasks take columns of the hidden rows, then
 * columns of the output, then, where there is a norm, rows. Every worker normalizes all inputs for
 * itself, which costs less than one phase more. */
struct headwise_linear_job {
    const struct headwise_matrix *up, *gate; /* each or NULL: none; without up nothing is hidden */
    const struct headwise_matrix *down;
    enum headwise_activation hidden_activation, activation;
    const float *x;
    int64_t x_stride, n_rows;
    const struct headwise_row_norm *input_norm, *output_norm; /* or NULL */
    struct headwise_row_end end;                              /* all but kernels and norm */

    const struct headwise_kernels *kernels;
    const struct headwise_dot *dot;
    struct headwise_norm_ready input;
    bool by_columns;
    bool direct;                       /* products go to y itself */
    bool ends_apart;                   /* by columns: rows end in a phase of their own */
    int64_t block_rows;                /* most rows of a task */
    int64_t hidden_groups, out_groups; /* of panels, by columns */
    struct headwise_linear_place normed, hidden, gates, out;
    float *product_scratch;     /* headwise_projection_floats() for each worker */
    struct headwise_held *held; /* for each worker */
    struct headwise_linear_share *shares;
};

/* What a checked call, whose strides are filled in, asks for, without matrices. */
struct headwise_linear_job headwise_linear_job_of(const struct headwise_linear_call *call);

enum headwise_status headwise_linear_job_run(headwise_context *context,
                                             struct headwise_linear_job *job);

/* Writes the phases that carry out a job to phases, and returns their number. */
int headwise_linear_job_phases(struct headwise_linear_job *job, struct headwise_phase *phases);

#endif
