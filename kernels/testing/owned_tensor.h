// SPDX-License-Identifier: BSD-3-Clause
// Tensors that own their memory, for calls of kernels in tests.
#pragma once

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

namespace kernel_testing {

using executorch::aten::BFloat16;
using executorch::aten::Half;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::aten::TensorImpl;

struct DtypeName {
  const char* name;
  ScalarType dtype;
  double tolerance;  // relative
};

constexpr DtypeName kDtypes[] = {
    {"float32", ScalarType::Float, 2e-6}, {"float64", ScalarType::Double, 1e-13},
    {"float16", ScalarType::Half, 2e-3},  {"bfloat16", ScalarType::BFloat16, 1e-2},
    {"uint8", ScalarType::Byte, 0},       {"int8", ScalarType::Char, 0},
    {"int16", ScalarType::Short, 0},      {"int32", ScalarType::Int, 0},
    {"int64", ScalarType::Long, 0},       {"bool", ScalarType::Bool, 0},
};

inline const DtypeName* find_dtype(const std::string& name) {
  for (const DtypeName& dtype : kDtypes) {
    if (name == dtype.name) {
      return &dtype;
    }
  }
  std::fprintf(stderr, "'%s' is not a dtype of a file of cases\n", name.c_str());
  std::abort();
}

template <typename F>
void with_type(ScalarType dtype, F&& f) {
  switch (dtype) {
    case ScalarType::Float:
      return f(float{});
    case ScalarType::Double:
      return f(double{});
    case ScalarType::Half:
      return f(Half{});
    case ScalarType::BFloat16:
      return f(BFloat16{});
    case ScalarType::Byte:
      return f(uint8_t{});
    case ScalarType::Char:
      return f(int8_t{});
    case ScalarType::Short:
      return f(int16_t{});
    case ScalarType::Int:
      return f(int32_t{});
    case ScalarType::Long:
      return f(int64_t{});
    default:
      return f(bool{});
  }
}

// A tensor that owns its memory. Its sizes are upper bounds, so operators may resize it.
struct OwnedTensor {
  std::vector<int32_t> sizes;
  std::vector<uint8_t> dim_order;
  std::vector<int32_t> strides;
  std::vector<char> data;
  std::unique_ptr<TensorImpl> impl;
  double tolerance = 0;

  Tensor tensor() const { return Tensor(impl.get()); }

  // Makes the tensor of `sizes` and `dim_order`; every byte of its memory is `fill`.
  void allocate(ScalarType dtype, char fill) {
    const size_t rank = sizes.size();
    strides.resize(rank);
    size_t stride = 1;
    for (size_t i = rank; i-- > 0;) {
      strides[dim_order[i]] = static_cast<int32_t>(stride);
      stride *= static_cast<size_t>(std::max(sizes[dim_order[i]], 1));
    }
    size_t numel = 1;
    for (const int32_t size : sizes) {
      numel *= static_cast<size_t>(size);
    }
    data.assign(numel * executorch::runtime::elementSize(dtype), fill);
    impl = std::make_unique<TensorImpl>(dtype, static_cast<ssize_t>(rank), sizes.data(), data.data(), dim_order.data(),
                                        strides.data(), executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND);
  }

  // The offset in memory, in elements, of the element that is number `linear` in row-major order.
  size_t offset_of(size_t linear) const {
    size_t offset = 0;
    for (size_t d = sizes.size(); d-- > 0;) {
      const auto size = static_cast<size_t>(sizes[d]);
      offset += linear % size * static_cast<size_t>(strides[d]);
      linear /= size;
    }
    return offset;
  }
};

template <typename T>
std::vector<T> parse_list(const std::string& text) {
  std::vector<T> values;
  std::stringstream stream(text == "-" ? "" : text);
  for (std::string item; std::getline(stream, item, ',');) {
    values.push_back(static_cast<T>(std::stoi(item)));
  }
  return values;
}

template <typename T>
T parse_value(const std::string& text) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(std::stoll(text));
  } else if constexpr (std::is_same_v<T, double>) {
    return std::strtod(text.c_str(), nullptr);
  } else {
    return static_cast<T>(std::strtof(text.c_str(), nullptr));
  }
}

}  // namespace kernel_testing
