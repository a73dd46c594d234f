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

/// The program model.pte: 5,088 bytes, SHA-256
/// 0aa4f7e315b44f978e054caf248c8f4a16c474b184aaeeb2fdfe94a4017e4d7c.
///
/// decode(input_0: float32[2, 4], input_1: float32[2, 4]) -> float32[2, 4], with 160 bytes of planned memory.
/// forward(input_0: float32[2, 4]) -> float32[2, 4], with 128 bytes of planned memory.
/// get_max_seq_len() -> int, with 0 bytes of planned memory.
/// get_scale() -> double, with 0 bytes of planned memory.
/// use_kv() -> bool, with 0 bytes of planned memory.
/// get_tensor() -> float32[4], with 0 bytes of planned memory.
/// get_list() -> int, int, int, with 0 bytes of planned memory.
/// get_two() -> int, double, with 0 bytes of planned memory.
///
/// Outputs refer to the module's memory, until the same method runs again. Wrong shapes and dtypes are InvalidArgument.
class MultiMethod final {
 public:
  static constexpr const char* kFileName = "model.pte";
  static constexpr size_t kFileSize = 5088;
  static constexpr const char* kSha256 = "0aa4f7e315b44f978e054caf248c8f4a16c474b184aaeeb2fdfe94a4017e4d7c";

  explicit MultiMethod(const std::string& path, executorch::extension::Module::LoadMode mode =
                                                 executorch::extension::Module::LoadMode::Mmap)
      : module_(path, mode) {}

  executorch::extension::Module& module() { return module_; }

  /// decode(input_0: float32[2, 4], input_1: float32[2, 4]) -> float32[2, 4]
  executorch::runtime::Result<executorch::aten::Tensor> decode(const executorch::extension::TensorPtr& input_0, const executorch::extension::TensorPtr& input_1) {
    ET_CHECK_OK_OR_RETURN_ERROR(check(input_0, executorch::aten::ScalarType::Float, {{2, 2}, {4, 4}}, "input_0"));
    ET_CHECK_OK_OR_RETURN_ERROR(check(input_1, executorch::aten::ScalarType::Float, {{2, 2}, {4, 4}}, "input_1"));
    auto outputs = module_.execute("decode", std::vector<executorch::runtime::EValue>{executorch::runtime::EValue(*input_0), executorch::runtime::EValue(*input_1)});
    if (!outputs.ok()) {
      return outputs.error();
    }
    return outputs.get()[0].toTensor();
  }

  /// forward(input_0: float32[2, 4]) -> float32[2, 4]
  executorch::runtime::Result<executorch::aten::Tensor> forward(const executorch::extension::TensorPtr& input_0) {
    ET_CHECK_OK_OR_RETURN_ERROR(check(input_0, executorch::aten::ScalarType::Float, {{2, 2}, {4, 4}}, "input_0"));
    auto outputs = module_.execute("forward", std::vector<executorch::runtime::EValue>{executorch::runtime::EValue(*input_0)});
    if (!outputs.ok()) {
      return outputs.error();
    }
    return outputs.get()[0].toTensor();
  }

  /// get_max_seq_len() -> int
  executorch::runtime::Result<int64_t> get_max_seq_len() {
    auto outputs = module_.execute("get_max_seq_len", std::vector<executorch::runtime::EValue>{});
    if (!outputs.ok()) {
      return outputs.error();
    }
    return outputs.get()[0].toInt();
  }

  /// get_scale() -> double
  executorch::runtime::Result<double> get_scale() {
    auto outputs = module_.execute("get_scale", std::vector<executorch::runtime::EValue>{});
    if (!outputs.ok()) {
      return outputs.error();
    }
    return outputs.get()[0].toDouble();
  }

  /// use_kv() -> bool
  executorch::runtime::Result<bool> use_kv() {
    auto outputs = module_.execute("use_kv", std::vector<executorch::runtime::EValue>{});
    if (!outputs.ok()) {
      return outputs.error();
    }
    return outputs.get()[0].toBool();
  }

  /// get_tensor() -> float32[4]
  executorch::runtime::Result<executorch::aten::Tensor> get_tensor() {
    auto outputs = module_.execute("get_tensor", std::vector<executorch::runtime::EValue>{});
    if (!outputs.ok()) {
      return outputs.error();
    }
    return outputs.get()[0].toTensor();
  }

  /// The outputs of get_list().
  struct GetListOutput {
    int64_t output_0;  ///< int
    int64_t output_1;  ///< int
    int64_t output_2;  ///< int
  };

  /// get_list() -> int, int, int
  executorch::runtime::Result<GetListOutput> get_list() {
    auto outputs = module_.execute("get_list", std::vector<executorch::runtime::EValue>{});
    if (!outputs.ok()) {
      return outputs.error();
    }
    return GetListOutput{outputs.get()[0].toInt(), outputs.get()[1].toInt(), outputs.get()[2].toInt()};
  }

  /// The outputs of get_two().
  struct GetTwoOutput {
    int64_t output_0;  ///< int
    double output_1;  ///< double
  };

  /// get_two() -> int, double
  executorch::runtime::Result<GetTwoOutput> get_two() {
    auto outputs = module_.execute("get_two", std::vector<executorch::runtime::EValue>{});
    if (!outputs.ok()) {
      return outputs.error();
    }
    return GetTwoOutput{outputs.get()[0].toInt(), outputs.get()[1].toDouble()};
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
