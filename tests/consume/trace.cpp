// SPDX-License-Identifier: BSD-3-Clause
// An application that traces its program. It needs a runtime that is compiled with EXECUTORCH_ENABLE_EVENT_TRACER.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <utility>

#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

using executorch::etdump::ETDumpGen;
using executorch::etdump::ETDumpResult;
using executorch::extension::Module;

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s add.pte\n", argv[0]);
    return 2;
  }
  static uint8_t memory[1 << 14];
  auto owner = std::make_unique<ETDumpGen>(executorch::runtime::Span<uint8_t>(memory, sizeof(memory)));
  ETDumpGen& etdump = *owner;
  Module module(argv[1], Module::LoadMode::File, std::move(owner));
  const auto input = executorch::extension::ones({2, 3});
  if (!module.forward({input, input}).ok()) {
    return 1;
  }
  const ETDumpResult trace = etdump.get_etdump_data();
  if (trace.buf == nullptr || trace.size == 0 || etdump.get_num_blocks() != 2) {
    std::fprintf(stderr, "the runtime has traced nothing\n");
    return 1;
  }
  std::printf("the ETDump has %zu bytes\n", trace.size);
  return 0;
}
