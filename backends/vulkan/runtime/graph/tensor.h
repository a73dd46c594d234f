// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <serialization/vulkan_graph_generated.h>

#include "gpu/gpu.h"

namespace executorch {
namespace backends {
namespace vulkan {

using fb_vulkan::VkDataType;
using Sizes = std::vector<int64_t>;

/// The format of elements in GPU memory. Integers and bool have 32 bits, which every device supports.
enum class Kind : uint8_t { Float, Half, Int };

constexpr uint64_t bytes_of(Kind kind) {
  return kind == Kind::Half ? 2 : 4;
}
const char* name_of(Kind kind);
const char* name_of(VkDataType dtype);
constexpr bool is_floating(VkDataType dtype) {
  return dtype == VkDataType::FLOAT16 || dtype == VkDataType::FLOAT32 || dtype == VkDataType::FLOAT64;
}
/// Bytes of an element in the program.
uint64_t stored_bytes(VkDataType dtype);

/// The most elements of a tensor, also with 1 for sizes of 0: kernels count with 32 bits, and products of two such
/// numbers fit 64.
constexpr int64_t kMostElements = int64_t{1} << 30;

/// The product of sizes, at most 2^62.
int64_t count_of(const Sizes& sizes);
/// Whether these are sizes of a tensor with at most kMostElements elements.
bool fit_tensor(const Sizes& sizes);

/// Such as [2, 3].
std::string text_of(const Sizes& sizes);

/// A tensor of the graph: contiguous elements in the order of its sizes, whatever layout the payload proposes.
struct Tensor {
  VkDataType dtype = VkDataType::FLOAT32;
  Kind kind = Kind::Float;
  Sizes sizes;
  Sizes max_sizes;
  int64_t capacity = 0;  ///< elements
  int constant = -1;     ///< index of the constant that it is; -1 if it is computed
  int memory = -1;       ///< memory object that it shares; -1 for its own
  /// Whether an operator changes it in place, so that its memory must not be shared with other graphs.
  bool is_state = false;
  std::shared_ptr<gpu::Buffer> buffer;

  int rank() const { return static_cast<int>(sizes.size()); }
  /// Size of a dimension, negative ones counted from the end; 1 outside of the rank.
  int64_t size(int dim) const {
    dim = dim < 0 ? dim + rank() : dim;
    return dim < 0 || dim >= rank() ? 1 : sizes[static_cast<size_t>(dim)];
  }
  int64_t count() const { return count_of(sizes); }
};

struct Value {
  enum class Type : uint8_t { Null, Int, Double, Bool, Tensor, Ints, Doubles, Bools, Values, String, SymInt };
  Type type = Type::Null;
  int64_t integer = 0;  ///< also of Bool and SymInt
  double real = 0;
  std::vector<int64_t> integers;  ///< also of Bools and Values
  std::vector<double> reals;
  std::string text;
  std::unique_ptr<Tensor> tensor;
};

const char* name_of(Value::Type type);

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
