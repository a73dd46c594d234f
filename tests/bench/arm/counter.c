// SPDX-License-Identifier: BSD-3-Clause
// A plugin of QEMU's user mode (API 1, QEMU 6 to 8) that counts how often each translated block runs. When the program
// exits, it writes a line for each block that ran: address, count, symbol or -, and the code of its instructions. QEMU
// also ends a block at the end of a page, and where its buffer is full; counting.py joins the parts.
// If the program calls lseek(-1, kMark, 0) twice, only the code between the calls counts. The calls only set errno.
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The declarations of qemu-plugin.h that this file uses: Debian's package does not install the header.
typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* block);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb* block);
struct qemu_plugin_insn* qemu_plugin_tb_get_insn(const struct qemu_plugin_tb* block, size_t index);
const void* qemu_plugin_insn_data(const struct qemu_plugin_insn* instruction);
const char* qemu_plugin_insn_symbol(const struct qemu_plugin_insn* instruction);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, void (*f)(qemu_plugin_id_t, struct qemu_plugin_tb*));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb* block, enum qemu_plugin_op op, void* counter,
                                              uint64_t value);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t id,
                                          void (*f)(qemu_plugin_id_t, unsigned, int64_t, uint64_t, uint64_t, uint64_t,
                                                    uint64_t, uint64_t, uint64_t, uint64_t, uint64_t));
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*f)(qemu_plugin_id_t, void*), void* data);

#define EXPORTED __attribute__((visibility("default")))
EXPORTED int qemu_plugin_version = 1;

enum { kBuckets = 1 << 16, kLseek = 62, kMark = 0x6D61726B };  // the number of lseek on 64-bit Arm

typedef struct Block {
  uint64_t count;
  uint64_t before;  // the first mark
  uint64_t after;   // the second one
  uint64_t address;
  const char* symbol;
  struct Block* next;
  size_t size;
  uint32_t code[];
} Block;

static Block* buckets[kBuckets];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char* output;
static int marks;

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb* unit) {
  (void)id;
  const uint64_t address = qemu_plugin_tb_vaddr(unit);
  const size_t size = qemu_plugin_tb_n_insns(unit);
  Block* made = calloc(1, sizeof(Block) + size * sizeof(uint32_t));
  if (made == NULL) {
    abort();
  }
  made->address = address;
  made->size = size;
  for (size_t i = 0; i < size; ++i) {
    memcpy(&made->code[i], qemu_plugin_insn_data(qemu_plugin_tb_get_insn(unit, i)), sizeof(uint32_t));
  }
  // QEMU translates a block again when it drops code or when a debug or floating-point state differs.
  Block** bucket = &buckets[(address >> 2) % kBuckets];
  pthread_mutex_lock(&lock);
  Block* found = *bucket;
  while (found != NULL && (found->address != address || found->size != size ||
                           memcmp(found->code, made->code, size * sizeof(uint32_t)) != 0)) {
    found = found->next;
  }
  if (found == NULL) {
    made->symbol = qemu_plugin_insn_symbol(qemu_plugin_tb_get_insn(unit, 0));
    made->next = *bucket;
    *bucket = found = made;
  } else {
    free(made);
  }
  pthread_mutex_unlock(&lock);
  qemu_plugin_register_vcpu_tb_exec_inline(unit, QEMU_PLUGIN_INLINE_ADD_U64, &found->count, 1);
}

static void called(qemu_plugin_id_t id, unsigned processor, int64_t number, uint64_t a, uint64_t b, uint64_t c,
                   uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h) {
  (void)id, (void)processor, (void)a, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
  if (number != kLseek || b != kMark) {
    return;
  }
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < kBuckets; ++i) {
    for (Block* block = buckets[i]; block != NULL; block = block->next) {
      *(marks == 0 ? &block->before : &block->after) = block->count;
    }
  }
  ++marks;
  pthread_mutex_unlock(&lock);
}

static void ended(qemu_plugin_id_t id, void* data) {
  (void)id;
  (void)data;
  FILE* file = fopen(output, "w");
  if (file == NULL) {
    perror(output);
    return;
  }
  for (size_t i = 0; i < kBuckets; ++i) {
    for (const Block* block = buckets[i]; block != NULL; block = block->next) {
      const uint64_t count = (marks > 1 ? block->after : block->count) - block->before;
      if (count == 0) {
        continue;
      }
      fprintf(file, "%" PRIx64 " %" PRIu64 " %s", block->address, count, block->symbol ? block->symbol : "-");
      for (size_t j = 0; j < block->size; ++j) {
        fprintf(file, " %08x", block->code[j]);
      }
      fputc('\n', file);
    }
  }
  fclose(file);
}

EXPORTED int qemu_plugin_install(qemu_plugin_id_t id, const void* info, int count, char** arguments) {
  (void)info;
  for (int i = 0; i < count; ++i) {
    if (strncmp(arguments[i], "out=", 4) == 0) {
      output = strdup(arguments[i] + 4);
    }
  }
  if (output == NULL) {
    fprintf(stderr, "expected the argument out=FILE\n");
    return 1;
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_vcpu_syscall_cb(id, called);
  qemu_plugin_register_atexit_cb(id, ended, NULL);
  return 0;
}
