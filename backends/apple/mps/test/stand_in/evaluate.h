// SPDX-License-Identifier: BSD-3-Clause
// The operations of the stand-in of MPSGraph, on arrays of double. Each result is rounded to its data type. What
// MPSGraph refuses, such as operands of different data types, is an exception.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace stand_in {

using Sizes = std::vector<long>;

/// `type` is an MPSDataType. Elements are in the order of the sizes.
struct Array {
  uint32_t type = 0;
  Sizes sizes;
  std::vector<double> data;
};
using Operands = std::vector<const Array*>;

constexpr uint32_t kFloat = 0x10000000, kSigned = 0x20000000, kBool = 0x80000000u | 8;

size_t count_of(const Sizes& sizes);
double rounded(double value, uint32_t type);
Array zeros(uint32_t type, const Sizes& sizes);
Array from_bytes(const void* bytes, size_t size, uint32_t type, const Sizes& sizes);
void to_bytes(const Array& array, void* bytes, size_t size);

Array unary(const std::string& name, const Array& x);
Array binary(const std::string& name, const Array& a, const Array& b);
Array select(const Array& condition, const Array& a, const Array& b);
Array matrix_product(const Array& a, const Array& b);
Array softmax(const Array& x, long axis);
/// `kind` is "max", "sum", "mean" or "variance". Reduced dimensions have the size 1.
Array reduce(const std::string& kind, const Array& x, const Sizes& axes);
Array cast(const Array& x, uint32_t type);
Array reshape(const Array& x, const Sizes& sizes);
Array transpose(const Array& x, long a, long b);
Array broadcast(const Array& x, const Sizes& sizes);
Array concatenate(const Operands& parts, long axis);
Array slice(const Array& x, const Sizes& starts, const Sizes& ends, const Sizes& strides);
Array pad(const Array& x, const Sizes& before, const Sizes& after, double value);
Array pixel_shuffle(const Array& x, long block);
Array gather(const Array& x, const Array& index, long axis);
Array scatter(const Array& x, const Array& updates, const Array& index, long axis);
Array scatter_along(const Array& x, const Array& updates, const Array& index, long axis);
Array dequantize(const Array& x, const Array& scales);

/// Each list has a value for y, then one for x; paddings are left, right, top, bottom.
struct Window {
  Sizes kernel, strides, dilations, paddings;
  long groups = 1;
  bool ceil_mode = false, counts_padding = false;
};
/// Weights are OIHW.
Array convolve(const Array& x, const Array& weight, const Window& window);
/// `what` is "max", "place" (of the maximum in a plane) or "average".
Array pool(const std::string& what, const Array& x, const Window& window);

}  // namespace stand_in
