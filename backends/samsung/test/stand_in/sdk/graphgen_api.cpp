// SPDX-License-Identifier: BSD-3-Clause
// Replaces the SDK's library graphgen_api: a network is the number of its chip and the bytes of the graph.
#include <graphgen_c.h>

#include <string>

namespace {

struct Compiler {
  int chip = 0;
  std::string network;
  NNCBuffer buffer = {nullptr, 0};
};

}  // namespace

void* graphgen_create() {
  return new Compiler;
}
void graphgen_release(void* compiler) {
  delete static_cast<Compiler*>(compiler);
}
GraphGenResult graphgen_initialize_context(void* compiler, int chip) {
  static_cast<Compiler*>(compiler)->chip = chip;
  return chip == 9955 ? GraphGenResult::SUCCESS : GraphGenResult::FAILED;
}
GraphGenResult graphgen_generate(void* compiler, const uint8_t* graph, size_t size, NNCBuffer** network) {
  auto& made = *static_cast<Compiler*>(compiler);
  made.network = std::to_string(made.chip) + "\n" + std::string(reinterpret_cast<const char*>(graph), size);
  made.buffer = {reinterpret_cast<uint8_t*>(made.network.data()), static_cast<int64_t>(made.network.size())};
  *network = &made.buffer;
  return GraphGenResult::SUCCESS;
}
void graphgen_release_buffer(void* compiler, NNCBuffer*) {
  static_cast<Compiler*>(compiler)->network.clear();
}
