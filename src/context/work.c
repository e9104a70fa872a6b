/* Runs a call's work on the calling thread alone. */
#include "context/work.h"

void headwise_work_alone(struct headwise_work *work) {
    for (int p = 0; p < work->n_phases; p++) {
        for (int64_t i = 0; i < work->phases[p].n_tasks && !headwise_work_stopped(work); i++)
            headwise_work_task(work, &work->phases[p], i, 0);
    }
}
