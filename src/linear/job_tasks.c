/* The tasks of linear layers and MLPs: by rows, or by columns. */
#include "linear/job.h"

/* Rows per task where rows end in a phase of their own. */
enum { END_ROWS = 8 };

static float *place_of(const struct headwise_linear_place *place, int worker) {
    return place->data + worker * place->worker_floats;
}

static struct headwise_projection projection_of(const struct headwise_linear_job *job,
                                                const float *x, int64_t x_stride, int64_t m,
                                                int64_t k) {
    return (struct headwise_projection){
        .kernels = job->kernels,
        .dot = job->dot,
        .x = x,
        .x_stride = x_stride,
        .m = m,
        .k = k,
        .scratch = job->product_scratch,
        .held = job->held,
    };
}

static void add_output(struct headwise_projection *projection, const struct headwise_matrix *matrix,
                       float *y, int64_t y_stride) {
    projection->outputs[projection->n_outputs++] =
        (struct headwise_projection_output){matrix, y, y_stride};
}

static int64_t count_panels(const struct headwise_linear_job *job,
                            const struct headwise_matrix *matrix) {
    return headwise_ceil_div(matrix->n, job->kernels->nr);
}

/* The projection from m input rows, row `first` on, to what is hidden, where a worker has it. */
static struct headwise_projection hidden_projection(const struct headwise_linear_job *job,
                                                    int64_t first, int64_t m, int worker) {
    const float *x = job->x + first * job->x_stride;
    int64_t x_stride = job->x_stride;
    if (job->input.kernel) {
        float *normed = place_of(&job->normed, worker);
        headwise_norm_run(&job->input, normed, job->normed.stride, x, x_stride, m);
        x = normed;
        x_stride = job->normed.stride;
    }
    struct headwise_projection projection = projection_of(job, x, x_stride, m, job->up->k);
    add_output(&projection, job->up, place_of(&job->hidden, worker), job->hidden.stride);
    if (job->gate)
        add_output(&projection, job->gate, place_of(&job->gates, worker), job->gates.stride);
    return projection;
}

/* The projection from hidden rows, or from x where nothing is hidden, to the output. */
static struct headwise_projection out_projection(const struct headwise_linear_job *job,
                                                 int64_t first, int64_t m, int worker) {
    const float *x = job->x + first * job->x_stride;
    int64_t x_stride = job->x_stride;
    if (job->up) {
        x = place_of(&job->hidden, worker);
        x_stride = job->hidden.stride;
    } else if (job->input.kernel) {
        float *normed = place_of(&job->normed, worker);
        headwise_norm_run(&job->input, normed, job->normed.stride, x, x_stride, m);
        x = normed;
        x_stride = job->normed.stride;
    }
    struct headwise_projection projection = projection_of(job, x, x_stride, m, job->down->k);
    if (job->direct)
        add_output(&projection, job->down, job->end.y.data + first * job->end.y.stride,
                   job->end.y.stride);
    else
        add_output(&projection, job->down, place_of(&job->out, worker), job->out.stride);
    return projection;
}

/* Hidden rows of m inputs: columns of the panels first ... last - 1. */
static void run_hidden(const struct headwise_linear_job *job,
                       const struct headwise_projection *projection, int64_t m, int64_t first,
                       int64_t last, int worker) {
    int64_t nr = job->kernels->nr, panels = count_panels(job, job->up);
    headwise_projection_part(projection, 0, m, first, last, worker);
    if (job->gate)
        headwise_projection_part(projection, 0, m, panels + first, panels + last, worker);
    int64_t c = first * nr, n = headwise_min(last * nr, job->up->n) - c;
    float *hidden = projection->outputs[0].y + c;
    const float *x = job->gate ? projection->outputs[1].y + c : hidden;
    if (job->gate || job->hidden_activation != HEADWISE_ACTIVATION_NONE)
        job->kernels->activate[job->hidden_activation](
            hidden, job->hidden.stride, x, job->hidden.stride, job->gate ? hidden : NULL,
            job->hidden.stride, m, n);
}

/* The output before residual and norm, likewise. */
static void run_out(const struct headwise_linear_job *job,
                    const struct headwise_projection *projection, int64_t m, int64_t first,
                    int64_t last, int worker) {
    const struct headwise_projection_output *out = &projection->outputs[0];
    int64_t c = first * job->kernels->nr;
    int64_t n = headwise_min(last * job->kernels->nr, job->down->n) - c;
    headwise_projection_part(projection, 0, m, first, last, worker);
    if (job->activation != HEADWISE_ACTIVATION_NONE)
        job->kernels->activate[job->activation](out->y + c, out->y_stride, out->y + c,
                                                out->y_stride, NULL, 0, m, n);
}

static void rows_task(void *arg, int64_t index, int worker) {
    const struct headwise_linear_job *job = arg;
    int64_t first = index * job->block_rows;
    int64_t m = headwise_min(job->block_rows, job->n_rows - first);
    struct headwise_projection projection;
    if (job->up) {
        projection = hidden_projection(job, first, m, worker);
        job->held[worker].projection = NULL;
        run_hidden(job, &projection, m, 0, count_panels(job, job->up), worker);
    }
    projection = out_projection(job, first, m, worker);
    job->held[worker].projection = NULL;
    run_out(job, &projection, m, 0, count_panels(job, job->down), worker);
    headwise_row_end_run(&job->end, projection.outputs[0].y, projection.outputs[0].y_stride, first,
                         m);
}

static void hidden_task(void *arg, int64_t index, int worker) {
    const struct headwise_linear_job *job = arg;
    struct headwise_linear_share *share = &job->shares[worker];
    int64_t groups = job->hidden_groups, panels = count_panels(job, job->up);
    if (!share->hidden_ready)
        share->hidden = hidden_projection(job, 0, job->n_rows, worker);
    share->hidden_ready = true;
    run_hidden(job, &share->hidden, job->n_rows, index * panels / groups,
               (index + 1) * panels / groups, worker);
}

static void out_task(void *arg, int64_t index, int worker) {
    const struct headwise_linear_job *job = arg;
    struct headwise_linear_share *share = &job->shares[worker];
    int64_t groups = job->out_groups, panels = count_panels(job, job->down);
    int64_t first = index * panels / groups, last = (index + 1) * panels / groups;
    if (!share->out_ready)
        share->out = out_projection(job, 0, job->n_rows, worker);
    share->out_ready = true;
    run_out(job, &share->out, job->n_rows, first, last, worker);
    if (job->ends_apart)
        return;
    int64_t c = first * job->kernels->nr;
    int64_t n = headwise_min(last * job->kernels->nr, job->down->n) - c;
    const struct headwise_row_end end = headwise_row_end_columns(&job->end, c, n);
    headwise_row_end_run(&end, share->out.outputs[0].y + c, share->out.outputs[0].y_stride, 0,
                         job->n_rows);
}

static void end_task(void *arg, int64_t index, int worker) {
    const struct headwise_linear_job *job = arg;
    int64_t first = index * END_ROWS, stride = job->direct ? job->end.y.stride : job->out.stride;
    float *out = job->direct ? job->end.y.data : job->out.data;
    (void)worker;
    headwise_row_end_run(&job->end, out + first * stride, stride, first,
                         headwise_min(END_ROWS, job->n_rows - first));
}

int headwise_linear_job_phases(struct headwise_linear_job *job, struct headwise_phase *phases) {
    int n = 0;
    if (!job->by_columns) {
        int64_t blocks = headwise_ceil_div(job->n_rows, job->block_rows);
        phases[n++] = (struct headwise_phase){blocks, rows_task, job};
        return n;
    }
    if (job->up)
        phases[n++] = (struct headwise_phase){job->hidden_groups, hidden_task, job};
    phases[n++] = (struct headwise_phase){job->out_groups, out_task, job};
    if (job->ends_apart) {
        int64_t blocks = headwise_ceil_div(job->n_rows, END_ROWS);
        phases[n++] = (struct headwise_phase){blocks, end_task, job};
    }
    return n;
}
