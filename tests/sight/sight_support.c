/* Opens encoders for tests of what their heads do. */
#include "sight_support.h"

#include <stdio.h>

#include "cmocka_headers.h"

const char *sight_folders;
const struct headwise_text sight_sentence = {"A man is eating foods. the man is a dog .", 41};
const struct headwise_text sight_second = {"two dogs run.", 13};

struct sight_run sight_open_in(enum headwise_isa isa, const char *in, const char *folder,
                               int n_threads) {
    struct sight_run run = {0};
    char path[1000];
    const struct headwise_context_options options = {
        .size = sizeof options, .isa = isa, .n_threads = n_threads};
    assert_int_equal(headwise_context_create(&run.context, &options), HEADWISE_OK);
    snprintf(path, sizeof path, "%s/%s", in, folder);
    if (headwise_encoder_open(&run.encoder, run.context, path, NULL))
        fail_msg("%s", headwise_model_last_error());
    return run;
}

struct sight_run sight_open(enum headwise_isa isa, const char *folder, int n_threads) {
    return sight_open_in(isa, sight_folders, folder, n_threads);
}

void sight_look(struct sight_run *run, const struct headwise_sight_call *call) {
    if (headwise_sight_create(&run->sight, run->context, run->encoder, call))
        fail_msg("%s", headwise_model_last_error());
    run->info = headwise_sight_describe(run->sight);
}

void sight_close(struct sight_run *run) {
    headwise_sight_destroy(run->sight);
    headwise_encoder_destroy(run->encoder);
    headwise_context_destroy(run->context);
}
