// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <executorch/extension/llm/runner/image.h>
#include <executorch/extension/module/module.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace extension {
namespace llm {

/// Applications derive from it to pass images to a program. This library has MultimodalPrefiller for that instead.
class ImagePrefiller {
 public:
  /// `module` must outlive this.
  explicit ImagePrefiller(::executorch::extension::Module* module) : module_(module) {}
  virtual ~ImagePrefiller() = default;

  /// Runs the program for an image from the position `start_pos`, which becomes the position after the image. Returns
  /// the logits of the next token.
  virtual ::executorch::runtime::Result<executorch::aten::Tensor> prefill(Image& image, int64_t& start_pos) = 0;
  virtual ::executorch::runtime::Error load() = 0;
  virtual bool is_method_loaded() = 0;

 protected:
  Module* module_;
};

}  // namespace llm
}  // namespace extension
}  // namespace executorch
