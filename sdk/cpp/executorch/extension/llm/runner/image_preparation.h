// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <executorch/extension/llm/runner/image.h>
#include <executorch/extension/llm/runner/image_resize.h>
#include <executorch/extension/module/module.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {

/// The steps of a model's image processor for pictures of any size. A program describes them in its method
/// `get_image_processor`: JSON, whose entries python/sdk/extension/llm/export/image_processor.py explains.
class ImagePreparation {
 public:
  struct Prepared {
    std::string text;           // contains token() once for each picture, in order
    std::vector<Image> images;  // of the size that the program takes
  };

  /// Null if the program does not describe the steps. InvalidProgram, after a log line, if it describes them wrongly.
  static runtime::Result<std::optional<ImagePreparation>> of(Module& module);
  /// Parses the JSON.
  static runtime::Result<ImagePreparation> parse(const std::string& json);

  /// The text that marks a picture in a conversation, and the text of the token for one position of a picture.
  const std::string& place() const { return place_; }
  const std::string& token() const { return token_; }
  /// The side of a patch in pixels, and that of a unit in patches; 0 for models that take whole pictures.
  int32_t patch() const { return patch_; }
  int32_t merge() const { return merge_; }

  /// Applies the steps to a picture. InvalidArgument, after a log line, for a picture that cannot be scaled.
  runtime::Result<Prepared> prepare(const Image& image) const;
  /// The whole picture at the size that the program takes, not cut into tiles. Errors: as prepare().
  runtime::Result<Image> whole(const Image& image) const;

 private:
  runtime::Result<Image> to_longest_edge(const Image& image) const;
  runtime::Result<Image> to_shortest_edge(const Image& image) const;
  runtime::Result<Image> to_multiple(const Image& image) const;
  runtime::Result<Image> to_tiles(const Image& image) const;
  runtime::Result<Image> to_units(const Image& image) const;
  runtime::Error check() const;

  int32_t width_ = 0;
  int32_t height_ = 0;
  int32_t shortest_edge_ = 0;  // 0: both sides are scaled
  int32_t longest_edge_ = 0;
  int32_t patch_ = 0;
  int32_t merge_ = 0;
  int32_t least_pixels_ = 0;
  int32_t most_pixels_ = 0;
  Resample resample_ = Resample::kBilinear;
  std::string place_, token_, before_, after_, tile_, row_end_, after_tiles_;
};

}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch
