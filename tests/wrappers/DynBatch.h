// Written by sdk.export for model.pte; do not edit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/platform/log.h>

// clang-format off
namespace model {

/// The program model.pte: 3,024 bytes, SHA-256
/// 1b284b1a261508823f6bbae77254b8478e7ba4cdb2fe97151fe4c3c02d1a4d5c.
///
/// forward(input_0: float32[0..32, 0..8]) -> float32[0..32, 0..4], with 4,096 bytes of planned memory.
///
/// Outputs refer to the module's memory, until the same method runs again. Wrong shapes and dtypes are InvalidArgument.
class DynBatch final {
 public:
  static constexpr const char* kFileName = "model.pte";
  static constexpr size_t kFileSize = 3024;
  static constexpr const char* kSha256 = "1b284b1a261508823f6bbae77254b8478e7ba4cdb2fe97151fe4c3c02d1a4d5c";

  explicit DynBatch(const std::string& path, executorch::extension::Module::LoadMode mode =
                                                 executorch::extension::Module::LoadMode::Mmap)
      : module_(path, mode) {}

  executorch::extension::Module& module() { return module_; }

  /// forward(input_0: float32[0..32, 0..8]) -> float32[0..32, 0..4]
  executorch::runtime::Result<executorch::aten::Tensor> forward(const executorch::extension::TensorPtr& input_0) {
    ET_CHECK_OK_OR_RETURN_ERROR(check(input_0, executorch::aten::ScalarType::Float, {{0, 32}, {0, 8}}, "input_0"));
    auto outputs = module_.execute("forward", std::vector<executorch::runtime::EValue>{executorch::runtime::EValue(*input_0)});
    if (!outputs.ok()) {
      return outputs.error();
    }
    return outputs.get()[0].toTensor();
  }

 private:
  /// The smallest and the largest size of a dimension.
  using Range = std::pair<int64_t, int64_t>;

  static executorch::runtime::Error check(const executorch::extension::TensorPtr& tensor,
                                          executorch::aten::ScalarType dtype, std::initializer_list<Range> sizes,
                                          const char* name) {
    ET_CHECK_OR_RETURN_ERROR(tensor != nullptr, InvalidArgument, "%s: expected a tensor, found null", name);
    ET_CHECK_OR_RETURN_ERROR(tensor->scalar_type() == dtype, InvalidArgument, "%s: expected dtype %d, found %d", name,
                             static_cast<int>(dtype), static_cast<int>(tensor->scalar_type()));
    ET_CHECK_OR_RETURN_ERROR(static_cast<size_t>(tensor->dim()) == sizes.size(), InvalidArgument,
                             "%s: expected %zu dimensions, found %d", name, sizes.size(),
                             static_cast<int>(tensor->dim()));
    int dimension = 0;
    for (const Range& range : sizes) {
      const auto size = static_cast<int64_t>(tensor->size(dimension));
      ET_CHECK_OR_RETURN_ERROR(range.first <= size && size <= range.second, InvalidArgument,
                               "%s: expected a size from %d to %d in dimension %d, found %d", name,
                               static_cast<int>(range.first), static_cast<int>(range.second), dimension,
                               static_cast<int>(size));
      ++dimension;
    }
    return executorch::runtime::Error::Ok;
  }

  executorch::extension::Module module_;
};

}  // namespace model
// clang-format on
