// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <executorch/extension/tensor/tensor_ptr.h>

// Builders of TensorPtr with the names and the argument order that PyTorch uses. `strides` are in elements and must be
// those of a dense tensor; the tensor owns its memory unless it is made from a blob.
namespace executorch {
namespace extension {

/// Collects the properties of a tensor over existing memory; made by `for_blob`.
class TensorPtrMaker final {
 public:
  TensorPtrMaker(const TensorPtrMaker&) = delete;
  TensorPtrMaker& operator=(const TensorPtrMaker&) = delete;
  TensorPtrMaker(TensorPtrMaker&&) = default;
  TensorPtrMaker& operator=(TensorPtrMaker&&) = default;

  /// dtype of the elements; Float unless set.
  TensorPtrMaker&& type(aten::ScalarType type) {
    type_ = type;
    return std::move(*this);
  }
  /// Dimensions from the outermost in memory to the innermost; contiguous unless set.
  TensorPtrMaker&& dim_order(std::vector<aten::DimOrderType> dim_order) {
    dim_order_ = std::move(dim_order);
    return std::move(*this);
  }
  TensorPtrMaker&& strides(std::vector<aten::StridesType> strides) {
    strides_ = std::move(strides);
    return std::move(*this);
  }
  TensorPtrMaker&& dynamism(aten::TensorShapeDynamism dynamism) {
    dynamism_ = dynamism;
    return std::move(*this);
  }
  /// Called once with the data when the last owner is destroyed.
  TensorPtrMaker&& deleter(std::function<void(void*)>&& deleter) {
    deleter_ = std::move(deleter);
    return std::move(*this);
  }
  /// The device of the data; the default is the CPU.
  TensorPtrMaker&& device(aten::Device device) {
    device_ = device;
    return std::move(*this);
  }

  TensorPtr make_tensor_ptr() && {
    return ::executorch::extension::make_tensor_ptr(std::move(sizes_), data_, std::move(dim_order_),
                                                    std::move(strides_), type_, dynamism_, std::move(deleter_),
                                                    device_);
  }
  operator TensorPtr() && { return std::move(*this).make_tensor_ptr(); }

 private:
  TensorPtrMaker(void* data, std::vector<aten::SizesType> sizes, aten::ScalarType type)
      : sizes_(std::move(sizes)), data_(data), type_(type) {}

  friend TensorPtrMaker for_blob(void* data, std::vector<aten::SizesType> sizes, aten::ScalarType type);

  std::vector<aten::SizesType> sizes_;
  std::vector<aten::StridesType> strides_;
  std::vector<aten::DimOrderType> dim_order_;
  std::function<void(void*)> deleter_;
  void* data_;
  aten::ScalarType type_;
  aten::TensorShapeDynamism dynamism_ = aten::TensorShapeDynamism::DYNAMIC_BOUND;
  aten::Device device_ = aten::Device(aten::DeviceType::CPU);
};

/// Starts a tensor over `data`, which is not owned unless a deleter is set.
inline TensorPtrMaker for_blob(void* data, std::vector<aten::SizesType> sizes,
                               aten::ScalarType type = aten::ScalarType::Float) {
  return TensorPtrMaker(data, std::move(sizes), type);
}

/// A contiguous tensor over `data`, which is not owned.
inline TensorPtr from_blob(void* data, std::vector<aten::SizesType> sizes,
                           aten::ScalarType type = aten::ScalarType::Float,
                           aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return for_blob(data, std::move(sizes), type).dynamism(dynamism).make_tensor_ptr();
}
inline TensorPtr from_blob(void* data, std::vector<aten::SizesType> sizes, std::vector<aten::StridesType> strides,
                           aten::ScalarType type = aten::ScalarType::Float,
                           aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return for_blob(data, std::move(sizes), type).strides(std::move(strides)).dynamism(dynamism).make_tensor_ptr();
}
/// A tensor that calls `deleter` with `data` when the last owner is destroyed.
inline TensorPtr from_blob(void* data, std::vector<aten::SizesType> sizes, aten::ScalarType type,
                           std::function<void(void*)>&& deleter,
                           aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return for_blob(data, std::move(sizes), type).deleter(std::move(deleter)).dynamism(dynamism).make_tensor_ptr();
}
inline TensorPtr from_blob(void* data, std::vector<aten::SizesType> sizes, std::vector<aten::StridesType> strides,
                           aten::ScalarType type, std::function<void(void*)>&& deleter,
                           aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return for_blob(data, std::move(sizes), type)
      .strides(std::move(strides))
      .deleter(std::move(deleter))
      .dynamism(dynamism)
      .make_tensor_ptr();
}

namespace internal {
/// Calls `make(sizes, strides, type)` with those of `other`, or with `type` if it is given. Null, after a log
/// line, if `other` is null.
template <typename Make>
TensorPtr make_like(const TensorPtr& other, aten::ScalarType type, Make&& make) {
  if (!check_not_null(other)) {
    return nullptr;
  }
  return make(std::vector<aten::SizesType>(other->sizes().begin(), other->sizes().end()),
              std::vector<aten::StridesType>(other->strides().begin(), other->strides().end()),
              type == aten::ScalarType::Undefined ? other->scalar_type() : type);
}
}  // namespace internal

// The `_like` forms take sizes, strides and, unless `type` is given, the dtype of `other`. A null `other` gives null.

/// A tensor with uninitialised elements.
TensorPtr empty_strided(std::vector<aten::SizesType> sizes, std::vector<aten::StridesType> strides,
                        aten::ScalarType type = aten::ScalarType::Float,
                        aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND);

/// The same, contiguous.
inline TensorPtr empty(std::vector<aten::SizesType> sizes, aten::ScalarType type = aten::ScalarType::Float,
                       aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return empty_strided(std::move(sizes), {}, type, dynamism);
}

/// The same, with the sizes and strides of `other`.
inline TensorPtr empty_like(const TensorPtr& other, aten::ScalarType type = aten::ScalarType::Undefined,
                            aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return internal::make_like(other, type, [&](auto sizes, auto strides, auto dtype) {
    return empty_strided(std::move(sizes), std::move(strides), dtype, dynamism);
  });
}

/// A tensor with every element `fill_value`.
TensorPtr full_strided(std::vector<aten::SizesType> sizes, std::vector<aten::StridesType> strides,
                       aten::Scalar fill_value, aten::ScalarType type = aten::ScalarType::Float,
                       aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND);

/// The same, contiguous.
inline TensorPtr full(std::vector<aten::SizesType> sizes, aten::Scalar fill_value,
                      aten::ScalarType type = aten::ScalarType::Float,
                      aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return full_strided(std::move(sizes), {}, fill_value, type, dynamism);
}

/// The same, with the sizes and strides of `other`.
inline TensorPtr full_like(const TensorPtr& other, aten::Scalar fill_value,
                           aten::ScalarType type = aten::ScalarType::Undefined,
                           aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return internal::make_like(other, type, [&](auto sizes, auto strides, auto dtype) {
    return full_strided(std::move(sizes), std::move(strides), fill_value, dtype, dynamism);
  });
}

/// A tensor without dimensions that holds `value`.
inline TensorPtr scalar_tensor(aten::Scalar value, aten::ScalarType type = aten::ScalarType::Float) {
  return full({}, value, type);
}

/// A tensor with every element one.
inline TensorPtr ones_strided(std::vector<aten::SizesType> sizes, std::vector<aten::StridesType> strides,
                              aten::ScalarType type = aten::ScalarType::Float,
                              aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return full_strided(std::move(sizes), std::move(strides), 1, type, dynamism);
}

/// The same, contiguous.
inline TensorPtr ones(std::vector<aten::SizesType> sizes, aten::ScalarType type = aten::ScalarType::Float,
                      aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return ones_strided(std::move(sizes), {}, type, dynamism);
}

/// The same, with the sizes and strides of `other`.
inline TensorPtr ones_like(const TensorPtr& other, aten::ScalarType type = aten::ScalarType::Undefined,
                           aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return internal::make_like(other, type, [&](auto sizes, auto strides, auto dtype) {
    return ones_strided(std::move(sizes), std::move(strides), dtype, dynamism);
  });
}

/// A tensor with every element zero.
inline TensorPtr zeros_strided(std::vector<aten::SizesType> sizes, std::vector<aten::StridesType> strides,
                               aten::ScalarType type = aten::ScalarType::Float,
                               aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return full_strided(std::move(sizes), std::move(strides), 0, type, dynamism);
}

/// The same, contiguous.
inline TensorPtr zeros(std::vector<aten::SizesType> sizes, aten::ScalarType type = aten::ScalarType::Float,
                       aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return zeros_strided(std::move(sizes), {}, type, dynamism);
}

/// The same, with the sizes and strides of `other`.
inline TensorPtr zeros_like(const TensorPtr& other, aten::ScalarType type = aten::ScalarType::Undefined,
                            aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return internal::make_like(other, type, [&](auto sizes, auto strides, auto dtype) {
    return zeros_strided(std::move(sizes), std::move(strides), dtype, dynamism);
  });
}

/// A tensor with elements uniform in [0, 1): multiples of 2^-11 for Half, 2^-8 for BFloat16, 2^-24 for Float and 2^-53
/// for Double. Integers are 0.
TensorPtr rand_strided(std::vector<aten::SizesType> sizes, std::vector<aten::StridesType> strides,
                       aten::ScalarType type = aten::ScalarType::Float,
                       aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND);

/// The same, contiguous.
inline TensorPtr rand(std::vector<aten::SizesType> sizes, aten::ScalarType type = aten::ScalarType::Float,
                      aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return rand_strided(std::move(sizes), {}, type, dynamism);
}

/// The same, with the sizes and strides of `other`.
inline TensorPtr rand_like(const TensorPtr& other, aten::ScalarType type = aten::ScalarType::Undefined,
                           aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return internal::make_like(other, type, [&](auto sizes, auto strides, auto dtype) {
    return rand_strided(std::move(sizes), std::move(strides), dtype, dynamism);
  });
}

/// A tensor with elements from the standard normal distribution.
TensorPtr randn_strided(std::vector<aten::SizesType> sizes, std::vector<aten::StridesType> strides,
                        aten::ScalarType type = aten::ScalarType::Float,
                        aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND);

/// The same, contiguous.
inline TensorPtr randn(std::vector<aten::SizesType> sizes, aten::ScalarType type = aten::ScalarType::Float,
                       aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return randn_strided(std::move(sizes), {}, type, dynamism);
}

/// The same, with the sizes and strides of `other`.
inline TensorPtr randn_like(const TensorPtr& other, aten::ScalarType type = aten::ScalarType::Undefined,
                            aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return internal::make_like(other, type, [&](auto sizes, auto strides, auto dtype) {
    return randn_strided(std::move(sizes), std::move(strides), dtype, dynamism);
  });
}

/// A tensor with integer elements uniform in [low, high). Null, after a log line, if `low` or `high` - 1 is beyond the
/// range of the dtype. As in PyTorch, a floating-point type rounds integers that have more digits than it.
TensorPtr randint_strided(int64_t low, int64_t high, std::vector<aten::SizesType> sizes,
                          std::vector<aten::StridesType> strides, aten::ScalarType type = aten::ScalarType::Int,
                          aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND);

/// The same, contiguous.
inline TensorPtr randint(int64_t low, int64_t high, std::vector<aten::SizesType> sizes,
                         aten::ScalarType type = aten::ScalarType::Int,
                         aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return randint_strided(low, high, std::move(sizes), {}, type, dynamism);
}

/// The same, with the sizes and strides of `other`.
inline TensorPtr randint_like(const TensorPtr& other, int64_t low, int64_t high,
                              aten::ScalarType type = aten::ScalarType::Undefined,
                              aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return internal::make_like(other, type, [&](auto sizes, auto strides, auto dtype) {
    return randint_strided(low, high, std::move(sizes), std::move(strides), dtype, dynamism);
  });
}

}  // namespace extension
}  // namespace executorch
