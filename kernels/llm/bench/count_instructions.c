/* SPDX-License-Identifier: BSD-3-Clause
 * A plugin of QEMU's user mode that prints how many instructions a program executed. Its few declarations are of version
 * 1 of the interface (QEMU 4.2 to 9.1), because Debian's packages have no header of it. */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

struct block;
enum { ADD_U64 = 0 };

typedef void (*translated)(uint64_t plugin, struct block* block);
typedef void (*ended)(uint64_t plugin, void* data);

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t plugin, translated call);
void qemu_plugin_register_vcpu_tb_exec_inline(struct block* block, int operation, void* to, uint64_t number);
void qemu_plugin_register_atexit_cb(uint64_t plugin, ended call, void* data);
size_t qemu_plugin_tb_n_insns(const struct block* block);

EXPORT int qemu_plugin_version = 1;
static uint64_t instructions;

static void add_block(uint64_t plugin, struct block* block) {
  (void)plugin;
  qemu_plugin_register_vcpu_tb_exec_inline(block, ADD_U64, &instructions, qemu_plugin_tb_n_insns(block));
}

static void print(uint64_t plugin, void* data) {
  (void)plugin;
  (void)data;
  fprintf(stderr, "%" PRIu64 " instructions\n", instructions);
}

EXPORT int qemu_plugin_install(uint64_t plugin, const void* info, int argc, char** argv) {
  (void)info;
  (void)argc;
  (void)argv;
  qemu_plugin_register_vcpu_tb_trans_cb(plugin, add_block);
  qemu_plugin_register_atexit_cb(plugin, print, NULL);
  return 0;
}
