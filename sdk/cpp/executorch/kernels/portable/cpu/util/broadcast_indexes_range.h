// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Positions in memory of the elements of a result and of the operands that are broadcast to it, for custom kernels:
 *
 *     for (const auto [out_index, a_index, b_index] : BroadcastIndexesRange<2>(out, a, b)) {
 *       out_data[out_index] = a_data[a_index] + b_data[b_index];
 *     }
 *
 * Elements are visited in the order of the sizes. The index of the result counts the elements, so the result must be
 * contiguous. With `support_noncontiguous_output`, it is a position in memory, like those of the operands.
 */
#pragma once

#include <array>
#include <cstddef>
#include <iterator>
#include <tuple>
#include <type_traits>

#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {
namespace internal {

template <size_t kNumInputs, bool support_noncontiguous_output = false>
class BroadcastIndexesIterator {
 public:
  using difference_type = ssize_t;
  using value_type = std::array<ssize_t, kNumInputs + 1>;
  using reference = const value_type&;
  using pointer = const value_type*;
  using iterator_category = std::forward_iterator_tag;
  /// Chooses the constructor of the position after the last element.
  struct make_end_t {
    explicit constexpr make_end_t() = default;
  };

  BroadcastIndexesIterator() = default;
  /// Aborts if an operand has more dimensions than the result.
  template <typename... Args>
  explicit BroadcastIndexesIterator(const Tensor& output, const Args&... args)
      : sizes_(output.sizes()), strides_{steps(output, output), steps(output, args)...} {
    static_assert(sizeof...(args) == kNumInputs && (std::is_same_v<Args, Tensor> && ...),
                  "give the result and kNumInputs tensors");
  }
  template <typename... Args>
  BroadcastIndexesIterator(make_end_t /*end*/, const Tensor& output, const Args&... /*args*/)
      : position_(static_cast<ssize_t>(output.numel())) {}

  bool operator==(const BroadcastIndexesIterator& other) const { return position_ == other.position_; }
  bool operator!=(const BroadcastIndexesIterator& other) const { return !(*this == other); }
  reference operator*() const { return current_; }
  pointer operator->() const { return &current_; }
  BroadcastIndexesIterator& operator++() {
    ++position_;
    for (size_t d = sizes_.size(); d-- > 0;) {
      const bool is_last = ++indexes_[d] == static_cast<ssize_t>(sizes_[d]);
      for (size_t i = 0; i <= kNumInputs; ++i) {
        current_[i] += is_last ? (1 - indexes_[d]) * strides_[i][d] : strides_[i][d];
      }
      if (!is_last) {
        break;
      }
      indexes_[d] = 0;
    }
    if constexpr (!support_noncontiguous_output) {
      current_[0] = position_;
    }
    return *this;
  }
  BroadcastIndexesIterator operator++(int) {
    const auto before = *this;
    ++*this;
    return before;
  }
  difference_type operator-(const BroadcastIndexesIterator& other) const { return position_ - other.position_; }

 private:
  using Steps = std::array<ssize_t, kTensorDimensionLimit>;

  /// The step in memory for the next index, for each dimension of the result.
  static Steps steps(const Tensor& output, const Tensor& t) {
    ET_CHECK_MSG(t.dim() <= output.dim(), "a tensor of %zd dimensions is broadcast to %zd",
                 static_cast<ssize_t>(t.dim()), static_cast<ssize_t>(output.dim()));
    Steps result = {};
    const auto added = static_cast<size_t>(output.dim() - t.dim());
    for (size_t d = 0; d < static_cast<size_t>(t.dim()); ++d) {
      result[added + d] = t.sizes()[d] == 1 ? 0 : static_cast<ssize_t>(t.strides()[d]);
    }
    return result;
  }

  ssize_t position_ = 0;
  value_type current_ = {};
  Steps indexes_ = {};
  ::executorch::aten::ArrayRef<::executorch::aten::SizesType> sizes_;
  std::array<Steps, kNumInputs + 1> strides_ = {};
};

}  // namespace internal

/// The positions of a result and of kNumInputs operands, for a loop.
template <size_t kNumInputs, bool support_noncontiguous_output = false>
class BroadcastIndexesRange {
 public:
  using iterator = internal::BroadcastIndexesIterator<kNumInputs, support_noncontiguous_output>;

  /// Refers to the tensors, which must outlive the range.
  template <typename... Args>
  explicit BroadcastIndexesRange(const Tensor& output, const Args&... args) : tensors_{&output, (&args)...} {}
  iterator begin() const {
    return std::apply([](const auto*... each) { return iterator(*each...); }, tensors_);
  }
  iterator end() const {
    return std::apply([](const auto*... each) { return iterator(typename iterator::make_end_t(), *each...); },
                      tensors_);
  }

 private:
  std::array<const Tensor*, kNumInputs + 1> tensors_;
};

}  // namespace executor
}  // namespace torch
