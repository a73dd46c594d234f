// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "json.h"
#include "work.h"

namespace tokenizers::detail {

/// The special tokens around a sequence.
struct PostProcessor {
  std::vector<uint64_t> before;
  std::vector<uint64_t> after;
};

/// "post_processor" of a tokenizer.json, for single sequences; nothing for null. Repeated parts of a template are
/// charged to `work`.
Error make_post_processor(const JsonValue& json, Work& work, PostProcessor& post_processor);

}  // namespace tokenizers::detail
