// SPDX-License-Identifier: BSD-3-Clause
// Insertion positions in a sorted sequence: bucketize and searchsorted, for tensors and numbers.
#include <optional>
#include <string_view>

#include "kernels/portable/cpu/pattern/arithmetic.h"
#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/elementwise.h"

namespace torch::executor::native {
namespace {

// The number of elements of the sorted `sequence` that are below `value` (or equal to it, with `right`). NaN counts as
// the largest value. `sorter` gives the order of an unsorted sequence, or is null.
template <typename C>
int64_t count_below(const char* sequence, size_t element_size, ConvertFn load, const int64_t* sorter, int64_t length,
                    C value, bool right) {
  int64_t low = 0, high = length;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    const int64_t at = sorter == nullptr ? middle : sorter[middle];
    C element;
    load(&element, sequence + static_cast<size_t>(at) * element_size, 1);
    const bool is_below = right ? !(element > value) && !(is_nan(element) && !is_nan(value)) : !(element >= value);
    (is_below ? low : high) = is_below ? middle + 1 : middle;
  }
  return low;
}

bool check_search(KernelRuntimeContext& ctx, const char* op, const Tensor& sequence,
                  const std::optional<Tensor>& sorter, bool out_int32, const Tensor& out) {
  const ScalarType expected = out_int32 ? ScalarType::Int : ScalarType::Long;
  ET_KERNEL_CHECK_MSG(ctx, out.scalar_type() == expected, InvalidArgument, false,
                      "%s: the result is %s; the output is %s", op, toString(expected), toString(out.scalar_type()));
  ET_KERNEL_CHECK_MSG(ctx,
                      executorch::runtime::tensor_is_default_dim_order(sequence) &&
                          executorch::runtime::tensor_is_default_dim_order(out),
                      InvalidArgument, false, "%s: the tensors must be in the default dim order", op);
  ET_KERNEL_CHECK_MSG(ctx, is_supported_dtype(sequence.scalar_type()), InvalidArgument, false,
                      "%s: sequences of dtype %s are not supported", op, toString(sequence.scalar_type()));
  if (!sorter) {
    return true;
  }
  ET_KERNEL_CHECK_MSG(ctx,
                      sorter->scalar_type() == ScalarType::Long && sorter->sizes() == sequence.sizes() &&
                          executorch::runtime::tensor_is_default_dim_order(*sorter),
                      InvalidArgument, false, "%s: the sorter must be int64 and have the sequence's shape", op);
  const int64_t length = sequence.dim() == 0 ? 1 : sequence.size(sequence.dim() - 1);
  for (int64_t i = 0; i < sorter->numel(); ++i) {
    const int64_t at = sorter->const_data_ptr<int64_t>()[i];
    ET_KERNEL_CHECK_MSG(ctx, at >= 0 && at < length, InvalidArgument, false,
                        "%s: %lld in the sorter is not a position of a sequence of %lld", op,
                        static_cast<long long>(at), static_cast<long long>(length));
  }
  return true;
}

// Searches each row of `sequence` for the values of the same row of `values`; a one-dimensional sequence is searched
// for all values.
void search(KernelRuntimeContext& ctx, const char* op, const Tensor& sequence, const std::optional<Tensor>& sorter,
            Operand operand, bool right, Tensor& out) {
  const Tensor* values = operand.tensor();
  ET_KERNEL_CHECK_MSG(ctx,
                      values == nullptr || (is_supported_dtype(values->scalar_type()) &&
                                            executorch::runtime::tensor_is_default_dim_order(*values)),
                      InvalidArgument, , "%s: the values must be real numbers in the default dim order", op);
  const int64_t length = sequence.dim() == 0 ? 1 : sequence.size(sequence.dim() - 1);
  const bool by_row = sequence.dim() > 1;
  const int64_t count = values == nullptr ? 1 : values->numel();
  const int64_t row = by_row && values != nullptr ? values->size(values->dim() - 1) : count;
  const ScalarType dtype = result_type({sequence, operand});
  ET_KERNEL_CHECK_MSG(ctx, is_supported_dtype(dtype), InvalidArgument, ,
                      "%s: the sequence and the values have no common dtype", op);
  with_arithmetic_type(arithmetic_type(dtype), [&](auto zero) {
    using C = decltype(zero);
    const ConvertFn load = load_fn(sequence.scalar_type(), compute_type_of<C>());
    const size_t size = static_cast<size_t>(sequence.element_size());
    for (int64_t i = 0; i < count; ++i) {
      C value;
      if (values == nullptr) {
        // As in PyTorch the number wraps around in the promoted dtype.
        uint64_t element = 0;
        store_scalar_as(operand.scalar(), dtype, &element);
        load_fn(dtype, compute_type_of<C>())(&value, &element, 1);
      } else {
        load_fn(values->scalar_type(), compute_type_of<C>())(
            &value, static_cast<const char*>(values->const_data_ptr()) + i * values->element_size(), 1);
      }
      const int64_t first = by_row ? i / row * length : 0;
      const int64_t* order = sorter ? sorter->const_data_ptr<int64_t>() + first : nullptr;
      const char* line = static_cast<const char*>(sequence.const_data_ptr()) + static_cast<size_t>(first) * size;
      const int64_t place = length == 0 ? 0 : count_below(line, size, load, order, length, value, right);
      if (out.scalar_type() == ScalarType::Int) {
        out.mutable_data_ptr<int32_t>()[i] = static_cast<int32_t>(place);
      } else {
        out.mutable_data_ptr<int64_t>()[i] = place;
      }
    }
  });
}

Tensor& bucketize(KernelRuntimeContext& ctx, const char* op, Operand values, const Tensor& boundaries, bool out_int32,
                  bool right, Tensor& out) {
  ET_KERNEL_CHECK_MSG(ctx, boundaries.dim() == 1, InvalidArgument, out,
                      "%s: the boundaries must have one dimension, they have %zd", op,
                      static_cast<ssize_t>(boundaries.dim()));
  if (check_search(ctx, op, boundaries, {}, out_int32, out) &&
      (values.tensor() == nullptr ? check_resize(ctx, op, out, nullptr, 0)
                                  : check_resize_like(ctx, op, out, *values.tensor()))) {
    search(ctx, op, boundaries, {}, values, right, out);
  }
  return out;
}

Tensor& searchsorted(KernelRuntimeContext& ctx, const char* op, const Tensor& sequence, Operand values, bool out_int32,
                     bool right, const std::optional<std::string_view>& side, const std::optional<Tensor>& sorter,
                     Tensor& out) {
  ET_KERNEL_CHECK_MSG(ctx, !side || ((*side == "left" && !right) || *side == "right"), InvalidArgument, out,
                      "%s: side is '%.*s'; expected 'left' (and right=False) or 'right'", op,
                      static_cast<int>(side ? side->size() : 0), side ? side->data() : "");
  const Tensor* tensor = values.tensor();
  bool fits = sequence.dim() == 1 || (sequence.dim() > 1 && tensor != nullptr && tensor->dim() == sequence.dim());
  for (ssize_t d = 0; fits && sequence.dim() > 1 && d < sequence.dim() - 1; ++d) {
    fits = tensor->size(d) == sequence.size(d);
  }
  ET_KERNEL_CHECK_MSG(ctx, fits, InvalidArgument, out,
                      "%s: the sequence must have one dimension, or all but the last size of the values", op);
  // The output may be the sequence, so its size is read after the output is resized.
  if ((tensor == nullptr ? check_resize(ctx, op, out, nullptr, 0) : check_resize_like(ctx, op, out, *tensor)) &&
      check_search(ctx, op, sequence, sorter, out_int32, out) && (!sorter || check_no_overlap(ctx, op, *sorter, out))) {
    search(ctx, op, sequence, sorter, values, right || (side && *side == "right"), out);
  }
  return out;
}

}  // namespace

Tensor& bucketize_Tensor_out(KernelRuntimeContext& ctx, const Tensor& in, const Tensor& boundaries, bool out_int32,
                             bool right, Tensor& out) {
  return bucketize(ctx, "bucketize.Tensor_out", in, boundaries, out_int32, right, out);
}

Tensor& bucketize_Scalar_out(KernelRuntimeContext& ctx, const Scalar& in, const Tensor& boundaries, bool out_int32,
                             bool right, Tensor& out) {
  return bucketize(ctx, "bucketize.Scalar_out", in, boundaries, out_int32, right, out);
}

Tensor& searchsorted_Tensor_out(KernelRuntimeContext& ctx, const Tensor& sequence, const Tensor& in, bool out_int32,
                                bool right, std::optional<std::string_view> side, const std::optional<Tensor>& sorter,
                                Tensor& out) {
  return searchsorted(ctx, "searchsorted.Tensor_out", sequence, in, out_int32, right, side, sorter, out);
}

Tensor& searchsorted_Scalar_out(KernelRuntimeContext& ctx, const Tensor& sequence, const Scalar& in, bool out_int32,
                                bool right, std::optional<std::string_view> side, const std::optional<Tensor>& sorter,
                                Tensor& out) {
  return searchsorted(ctx, "searchsorted.Scalar_out", sequence, in, out_int32, right, side, sorter, out);
}

}  // namespace torch::executor::native
