/* Linear projections with weights packed once. */
#ifndef HEADWISE_PROJECT_H
#define HEADWISE_PROJECT_H

#include "headwise/mha.h"
#include "kernels.h"

/* A weight matrix in panels (kernels.h), n columns (outputs) of k rows (inputs), f32. */
struct headwise_matrix {
    float *panels;
    float *bias; /* padded to whole panels, zeros where there is none */
    int64_t k, n;
    size_t panels_bytes, bias_bytes;
};

/* Floats between the rows of an output that whole panels are written to. */
int64_t headwise_matrix_padded(const struct headwise_kernels *kernels, int64_t n);

/* Packs weights of the given form (k inputs, n outputs; either may be 0) and bias (NULL: none).
 * HEADWISE_ERR_NO_MEMORY: *matrix is zero. Else headwise_matrix_destroy frees it. */
enum headwise_status headwise_matrix_create(struct headwise_matrix *matrix,
                                            const struct headwise_kernels *kernels,
                                            const struct headwise_allocator *allocator,
                                            const void *weights, enum headwise_dtype dtype,
                                            enum headwise_layout layout, int64_t k, int64_t n,
                                            const float *bias);
void headwise_matrix_destroy(struct headwise_matrix *matrix,
                             const struct headwise_allocator *allocator);

/* Copies row t (0 ... k-1) of the weights, n floats: input t's weight in every output. */
void headwise_matrix_row(float *dst, const struct headwise_matrix *matrix,
                         const struct headwise_kernels *kernels, int64_t t);

/* One x (m rows of k floats, x_stride apart) against up to three matrices of the same k: one pass
 * over x. Output row r goes to y + r * y_stride, headwise_matrix_padded(n) floats of it. */
enum { HEADWISE_MAX_OUTPUTS = 3 };

struct headwise_projection {
    const struct headwise_kernels *kernels;
    const float *x;
    int64_t x_stride, m, k;
    int n_outputs;
    struct headwise_projection_output {
        const struct headwise_matrix *matrix;
        float *y;
        int64_t y_stride;
    } outputs[HEADWISE_MAX_OUTPUTS];
    int64_t n_panels; /* of all outputs together */
    int64_t block_rows, row_blocks, panel_groups, panels_per_group;
    float *scratch; /* headwise_projection_floats() for each worker */
};

/* Fills in how the work is cut, once everything above scratch is set. */
void headwise_projection_plan(struct headwise_projection *projection, int n_threads);

int64_t headwise_projection_tasks(const struct headwise_projection *projection);

/* Scratch of one worker, in floats. */
int64_t headwise_projection_floats(const struct headwise_kernels *kernels);

/* Task index of headwise_projection_tasks(). */
void headwise_projection_run(const struct headwise_projection *projection, int64_t index,
                             int worker);

#endif
