// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>

namespace executorch {
namespace extension {
namespace llm {

/// Changes logits before a token is sampled from them, for example to rule out tokens with -inf.
class LogitProcessor {
 public:
  virtual ~LogitProcessor() = default;
  /// `logits`: float32 [1, vocabulary], a copy that may be changed in place. An error ends the generation.
  virtual ::executorch::runtime::Error process(::executorch::aten::Tensor logits) = 0;
};

}  // namespace llm
}  // namespace extension
}  // namespace executorch
