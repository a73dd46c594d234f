// SPDX-License-Identifier: BSD-3-Clause
// Calls llama.cpp in the emulator: llama_calls LIBRARIES MODEL TOKENS OUTPUT CALLS. A call computes the tokens of a
// file of int32 with an empty cache. Writes the logits of the first call's last token, and marks the other calls for
// the plugin that counts.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// What this file uses of llama.h, which the npm package does not have. A structure of more than 16 bytes is passed and
// returned by its address on 64-bit Arm, so a declaration may be larger than it; all parameters keep their defaults.
typedef struct {
  uint64_t words[64];
} Structure;
void ggml_backend_load_all_from_path(const char* folder);
void llama_backend_init(void);
Structure llama_model_default_params(void);
Structure llama_context_default_params(void);
void* llama_model_load_from_file(const char* path, Structure parameters);
void* llama_init_from_model(void* model, Structure parameters);
void llama_set_n_threads(void* context, int32_t threads, int32_t threads_of_batch);
const void* llama_model_get_vocab(const void* model);
int32_t llama_vocab_n_tokens(const void* vocabulary);
void* llama_get_memory(const void* context);
bool llama_memory_seq_rm(void* memory, int32_t sequence, int32_t begin, int32_t end);
Structure llama_batch_get_one(int32_t* tokens, int32_t count);
int32_t llama_decode(void* context, Structure batch);
float* llama_get_logits_ith(void* context, int32_t index);

enum { kMost = 512, kMark = 0x6D61726B };  // positions of a context with the default parameters; counter.c

static void require(bool good, const char* what) {
  if (!good) {
    fprintf(stderr, "%s failed\n", what);
    exit(1);
  }
}

int main(int count, char** arguments) {
  require(count == 6, "expected LIBRARIES MODEL TOKENS OUTPUT CALLS; llama_calls");
  int32_t tokens[kMost];
  FILE* file = fopen(arguments[3], "rb");
  require(file != NULL, arguments[3]);
  const int32_t size = (int32_t)fread(tokens, sizeof *tokens, kMost, file);
  fclose(file);
  require(size > 0, "reading tokens");

  ggml_backend_load_all_from_path(arguments[1]);
  llama_backend_init();
  void* model = llama_model_load_from_file(arguments[2], llama_model_default_params());
  require(model != NULL, arguments[2]);
  void* context = llama_init_from_model(model, llama_context_default_params());
  require(context != NULL, "llama_init_from_model");
  llama_set_n_threads(context, 1, 1);
  const int calls = atoi(arguments[5]);
  for (int call = 0; call < calls; ++call) {
    llama_memory_seq_rm(llama_get_memory(context), -1, 0, -1);
    require(llama_decode(context, llama_batch_get_one(tokens, size)) == 0, "llama_decode");
    if (call == 0) {
      const size_t words = (size_t)llama_vocab_n_tokens(llama_model_get_vocab(model));
      file = fopen(arguments[4], "wb");
      require(file != NULL, arguments[4]);
      require(fwrite(llama_get_logits_ith(context, -1), sizeof(float), words, file) == words, arguments[4]);
      fclose(file);
    }
    if (call == 0 || call == calls - 1) {
      lseek(-1, kMark, SEEK_SET);
    }
  }
  return 0;
}
