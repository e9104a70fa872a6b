/* headwise inspect of a whole model where headwise-model was not built: it says so. */
#include "commands/inspect_model.h"
#include "common/message.h"

int inspect_model_run(const struct inspect_model *model) {
    (void)model;
    return fail("this headwise was built without headwise-model, which needs libutf8proc and "
                "libpcre2");
}
