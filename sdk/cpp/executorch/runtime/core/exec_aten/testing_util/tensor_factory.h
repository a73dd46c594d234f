// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Makes tensors for tests and keeps everything they point to. A tensor is valid as long as its factory.
 *
 *     TensorFactory<ScalarType::Float> tf;
 *     Tensor a = tf.make({2, 2}, {1.0, 2.0, 3.0, 4.0});
 *     Tensor out = tf.zeros({2, 2});
 */
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <type_traits>
#include <vector>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/platform/assert.h>

namespace executorch {
namespace runtime {
namespace testing {
namespace internal {

/// Product of the sizes.
inline size_t sizes_to_numel(const std::vector<int32_t>& sizes) {
  return static_cast<size_t>(aten::compute_numel(sizes.data(), static_cast<ssize_t>(sizes.size())));
}

/// 0, 1, ..., dims-1.
inline std::vector<uint8_t> contiguous_dim_order(size_t dims) {
  std::vector<uint8_t> dim_order(dims);
  std::iota(dim_order.begin(), dim_order.end(), uint8_t(0));
  return dim_order;
}

/// 0, 2, 3, 1 or 0, 2, 3, 4, 1; aborts for another rank.
inline std::vector<uint8_t> channels_last_dim_order(size_t dims) {
  ET_CHECK_MSG(dims == 4 || dims == 5, "channels-last tensors have rank 4 or 5, found %" ET_PRIsize_t, dims);
  return dims == 4 ? std::vector<uint8_t>{0, 2, 3, 1} : std::vector<uint8_t>{0, 2, 3, 4, 1};
}

inline std::vector<aten::StridesType> strides_from_dim_order(const std::vector<int32_t>& sizes,
                                                             const std::vector<uint8_t>& dim_order) {
  std::vector<aten::StridesType> strides(sizes.size());
  const Error error = dim_order_to_stride(sizes.data(), dim_order.data(), sizes.size(), strides.data());
  ET_CHECK_MSG(error == Error::Ok, "the test gave an invalid dim order");
  return strides;
}

// std::vector<bool> has no data(): Bool tensors are filled from bytes.
template <typename T>
using vector_element = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

}  // namespace internal

template <aten::ScalarType DTYPE>
class TensorFactory {
 public:
  /// C++ type of the elements.
  using true_ctype = typename ScalarTypeToCppType<DTYPE>::type;
  /// Type of the elements in a std::vector: that type, but uint8_t for Bool.
  using ctype = internal::vector_element<true_ctype>;

  TensorFactory() = default;

  /**
   * @param data As many values as the sizes need, in the order of memory.
   * @param strides Strides of a dense tensor; contiguous when empty.
   */
  aten::Tensor make(const std::vector<int32_t>& sizes, const std::vector<ctype>& data,
                    const std::vector<aten::StridesType> strides = {},
                    TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    std::vector<uint8_t> dim_order = internal::contiguous_dim_order(sizes.size());
    if (!strides.empty()) {
      ET_CHECK_MSG(strides.size() == sizes.size(),
                   "the test gave %" ET_PRIsize_t " strides for %" ET_PRIsize_t " sizes", strides.size(), sizes.size());
      const Error error = stride_to_dim_order(strides.data(), strides.size(), dim_order.data());
      ET_CHECK_MSG(error == Error::Ok, "the test gave invalid strides");
      ET_CHECK_MSG(internal::strides_from_dim_order(sizes, dim_order) == strides,
                   "the test gave strides of a tensor that is not dense");
    }
    return make_with_dimorder(sizes, data, dim_order, dynamism);
  }

  /// Same with a dim order; contiguous when empty.
  aten::Tensor make_with_dimorder(const std::vector<int32_t>& sizes, const std::vector<ctype>& data,
                                  const std::vector<uint8_t> dim_order = {},
                                  TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    ET_CHECK_MSG(internal::sizes_to_numel(sizes) == data.size(),
                 "the sizes need %" ET_PRIsize_t " elements, the test gave %" ET_PRIsize_t,
                 internal::sizes_to_numel(sizes), data.size());
    memory_.push_back(std::make_unique<TensorMemory>(
        sizes, data, dim_order.empty() ? internal::contiguous_dim_order(sizes.size()) : dim_order, dynamism));
    return aten::Tensor(&memory_.back()->impl_);
  }

  /// `data` is in the order of channels-last memory.
  aten::Tensor make_channels_last(const std::vector<int32_t>& sizes, const std::vector<ctype>& data,
                                  const std::vector<uint8_t> dim_order = {},
                                  TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    return make_with_dimorder(
        sizes, data, dim_order.empty() ? internal::channels_last_dim_order(sizes.size()) : dim_order, dynamism);
  }

  /// Returns the values of the contiguous `input` in channels-last memory.
  aten::Tensor channels_last_like(const aten::Tensor& input,
                                  TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    ET_CHECK_MSG(tensor_is_default_dim_order(input), "channels_last_like() needs a contiguous tensor");
    const std::vector<int32_t> sizes = sizes_of(input);
    const std::vector<uint8_t> dim_order = internal::channels_last_dim_order(sizes.size());
    const std::vector<aten::StridesType> strides = internal::strides_from_dim_order(sizes, dim_order);
    std::vector<ctype> data(static_cast<size_t>(input.numel()));
    std::vector<size_t> coordinate(sizes.size());
    for (size_t i = 0; i < data.size(); ++i) {
      indexToCoordinate(input, i, coordinate.data());
      size_t position = 0;
      for (size_t d = 0; d < sizes.size(); ++d) {
        position += coordinate[d] * static_cast<size_t>(strides[d]);
      }
      data[position] = input.template const_data_ptr<ctype>()[i];
    }
    return make_with_dimorder(sizes, data, dim_order, dynamism);
  }

  aten::Tensor full(const std::vector<int32_t>& sizes, ctype value,
                    TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    return make(sizes, std::vector<ctype>(internal::sizes_to_numel(sizes), value), {}, dynamism);
  }
  aten::Tensor full_channels_last(const std::vector<int32_t>& sizes, ctype value,
                                  TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    return make_channels_last(sizes, std::vector<ctype>(internal::sizes_to_numel(sizes), value), {}, dynamism);
  }
  aten::Tensor zeros(const std::vector<int32_t>& sizes, TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    return full(sizes, ctype(0), dynamism);
  }
  aten::Tensor zeros_channels_last(const std::vector<int32_t>& sizes,
                                   TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    return full_channels_last(sizes, ctype(0), dynamism);
  }
  aten::Tensor ones(const std::vector<int32_t>& sizes, TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    return full(sizes, ctype(1), dynamism);
  }

  /// Sizes and dim order of `input`, whose dtype may differ.
  aten::Tensor full_like(const aten::Tensor& input, ctype value,
                         TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    return make_with_dimorder(sizes_of(input), std::vector<ctype>(static_cast<size_t>(input.numel()), value),
                              std::vector<uint8_t>(input.dim_order().begin(), input.dim_order().end()), dynamism);
  }
  aten::Tensor zeros_like(const aten::Tensor& input, TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    return full_like(input, ctype(0), dynamism);
  }
  aten::Tensor ones_like(const aten::Tensor& input, TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    return full_like(input, ctype(1), dynamism);
  }

 private:
  static std::vector<int32_t> sizes_of(const aten::Tensor& input) {
    return std::vector<int32_t>(input.sizes().begin(), input.sizes().end());
  }

  // What a TensorImpl points to.
  struct TensorMemory {
    TensorMemory(const std::vector<int32_t>& sizes, const std::vector<ctype>& data,
                 const std::vector<uint8_t>& dim_order, TensorShapeDynamism dynamism)
        : sizes_(sizes),
          data_(data),
          dim_order_(dim_order),
          strides_(internal::strides_from_dim_order(sizes, dim_order)),
          impl_(DTYPE, static_cast<ssize_t>(sizes_.size()), sizes_.data(), data_.data(), dim_order_.data(),
                strides_.data(), dynamism) {}

    std::vector<int32_t> sizes_;
    std::vector<ctype> data_;
    std::vector<uint8_t> dim_order_;
    std::vector<aten::StridesType> strides_;
    aten::TensorImpl impl_;
  };

  std::vector<std::unique_ptr<TensorMemory>> memory_;
};

/// Makes lists of tensors for tests and keeps them.
template <aten::ScalarType DTYPE>
class TensorListFactory final {
 public:
  TensorListFactory() = default;

  /// A tensor of zeros for each template, with its sizes.
  aten::TensorList zeros_like(const std::vector<aten::Tensor>& templates) {
    lists_.push_back(std::make_unique<std::vector<aten::Tensor>>());
    std::vector<aten::Tensor>& list = *lists_.back();
    for (const aten::Tensor& t : templates) {
      list.push_back(tensors_.zeros_like(t));
    }
    return aten::TensorList(list.data(), list.size());
  }

 private:
  TensorFactory<DTYPE> tensors_;
  std::vector<std::unique_ptr<std::vector<aten::Tensor>>> lists_;
};

}  // namespace testing
}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
namespace testing {
using ::executorch::runtime::testing::TensorFactory;
using ::executorch::runtime::testing::TensorListFactory;
}  // namespace testing
}  // namespace executor
}  // namespace torch
