// SPDX-License-Identifier: BSD-3-Clause
// The engine of builds without grammars.
#include <executorch/extension/llm/grammar/grammar_engine.h>

#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {

runtime::Result<std::unique_ptr<GrammarEngine>> GrammarEngine::create(const std::vector<std::string>&,
                                                                      const std::vector<int32_t>&, GrammarTime) {
  ET_LOG(Error, "this library was built without grammars: build it with EXECUTORCH_BUILD_LLM_GRAMMAR=ON");
  return runtime::Error::NotSupported;
}

}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch
