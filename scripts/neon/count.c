/* A qemu plugin that prints how many instructions the program executed, to stderr at its end.
 *
 * Debian's qemu-user packages no qemu-plugin.h: the few prototypes of its interface, version 1, are
 * declared here. */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_info;
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, enum qemu_plugin_op op,
                                              void *counter, uint64_t step);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*callback)(qemu_plugin_id_t id,
                                                            struct qemu_plugin_tb *tb));
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id,
                                    void (*callback)(qemu_plugin_id_t id, void *user), void *user);

#define EXPORT __attribute__((visibility("default")))
EXPORT extern const int qemu_plugin_version;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc,
                               char **argv);

const int qemu_plugin_version = 1;
static uint64_t n_executed;

static void count_block(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64, &n_executed,
                                             qemu_plugin_tb_n_insns(tb));
}

static void print_count(qemu_plugin_id_t id, void *user) {
    (void)id;
    (void)user;
    fprintf(stderr, "%" PRIu64 " instructions\n", n_executed);
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv) {
    (void)info;
    (void)argc;
    (void)argv;
    qemu_plugin_register_vcpu_tb_trans_cb(id, count_block);
    qemu_plugin_register_atexit_cb(id, print_count, NULL);
    return 0;
}
