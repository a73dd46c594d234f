// SPDX-License-Identifier: BSD-3-Clause
// bincount.out, _unique2.out, unique_dim.out and unique_consecutive.out. The latter three return the distinct values of
// a tensor, or the distinct slices along a dimension, the index of each element among them, and their counts. Values
// are sorted; NaN is larger than any number and differs from every other NaN.
#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <tuple>

#include "kernels/portable/cpu/math/visit_dtype.h"
#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/compute_type.h"
#include "kernels/portable/cpu/pattern/strided_view.h"

namespace torch::executor::native {
namespace {

using Results = std::tuple<Tensor&, Tensor&, Tensor&>;

// Views a tensor as a list of slices along a dimension, or of single elements in row-major order.
template <typename T>
class Slices {
 public:
  Slices(const StridedView& view, std::optional<size_t> dim) : data_(reinterpret_cast<const T*>(view.data)) {
    inner_ = view;
    count_ = view.numel();
    if (dim.has_value()) {
      count_ = view.sizes[*dim];
      step_ = view.strides[*dim];
      inner_.erase(*dim);
      width_ = inner_.numel();
    }
    along_dim_ = dim.has_value();
  }

  int64_t count() const { return count_; }

  // Negative if slice `a` sorts before slice `b`, positive if after, 0 if they compare equal.
  int order(int64_t a, int64_t b) const {
    for (int64_t k = 0; k < width_; ++k) {
      const T x = at(a, k), y = at(b, k);
      const bool x_is_nan = x != x, y_is_nan = y != y;
      if (x < y || (y_is_nan && !x_is_nan)) {
        return -1;
      }
      if (y < x || (x_is_nan && !y_is_nan)) {
        return 1;
      }
    }
    return 0;
  }

  bool equal(int64_t a, int64_t b) const {
    for (int64_t k = 0; k < width_; ++k) {
      if (!(at(a, k) == at(b, k))) {
        return false;
      }
    }
    return true;
  }

 private:
  T at(int64_t slice, int64_t k) const { return along_dim_ ? data_[slice * step_ + offset(k)] : data_[offset(slice)]; }

  // The offset of element number `linear` in row-major order.
  int64_t offset(int64_t linear) const {
    int64_t result = 0;
    for (size_t d = inner_.dims; d-- > 0;) {
      result += linear % inner_.sizes[d] * inner_.strides[d];
      linear /= inner_.sizes[d];
    }
    return result;
  }

  const T* data_;
  StridedView inner_;
  int64_t count_;
  int64_t width_ = 1;
  int64_t step_ = 0;
  bool along_dim_;
};

template <typename Visitor>
void visit_any_real(KernelRuntimeContext& ctx, const char* op, ScalarType dtype, const Visitor& visitor) {
  switch (dtype) {
    case ScalarType::Bool:
      return visit_selected<uint8_t, is_selected(ScalarType::Bool)>(ctx, op, dtype, visitor);
    case ScalarType::UInt16:
      return visit_selected<uint16_t, is_selected(ScalarType::UInt16)>(ctx, op, dtype, visitor);
    case ScalarType::UInt32:
      return visit_selected<uint32_t, is_selected(ScalarType::UInt32)>(ctx, op, dtype, visitor);
    case ScalarType::UInt64:
      return visit_selected<uint64_t, is_selected(ScalarType::UInt64)>(ctx, op, dtype, visitor);
    default:
      return visit_real(ctx, op, dtype, visitor);
  }
}

struct Request {
  std::optional<int64_t> dim;
  bool sort;
  bool inverse;
  bool counts;
};

// Groups equal slices. Writes a permutation of the slices to `order`, and the number of each slice's group to `group`;
// both have an element for each slice.
template <typename T>
int64_t group_slices(const Slices<T>& slices, bool sort, int64_t* order, int64_t* group) {
  for (int64_t i = 0; i < slices.count(); ++i) {
    order[i] = i;
  }
  if (sort) {
    std::sort(order, order + slices.count(), [&](int64_t a, int64_t b) {
      const int sign = slices.order(a, b);
      return sign < 0 || (sign == 0 && a < b);
    });
  }
  int64_t groups = 0;
  for (int64_t i = 0; i < slices.count(); ++i) {
    groups += i == 0 || !slices.equal(order[i - 1], order[i]) ? 1 : 0;
    group[i] = groups - 1;
  }
  return groups;
}

Results unique(KernelRuntimeContext& ctx, const char* op, const Tensor& in, const Request& request, Tensor& values,
               Tensor& inverse, Tensor& counts) {
  const Results result(values, inverse, counts);
  ET_KERNEL_CHECK_MSG(ctx, inverse.scalar_type() == ScalarType::Long && counts.scalar_type() == ScalarType::Long,
                      InvalidArgument, result, "%s: places and counts are int64; the outputs are %s and %s", op,
                      toString(inverse.scalar_type()), toString(counts.scalar_type()));
  std::optional<size_t> dim;
  if (request.dim.has_value()) {
    size_t d = 0;
    if (!check_dim(ctx, op, *request.dim, in.dim(), &d)) {
      return result;
    }
    if (in.dim() > 0) {
      dim = d;
    }
  }
  if (!check_same_dtype(ctx, op, in, values) || !check_no_overlap(ctx, op, in, values) ||
      !check_no_overlap(ctx, op, in, inverse) || !check_no_overlap(ctx, op, in, counts)) {
    return result;
  }
  const StridedView source = StridedView::of(in);
  const int64_t count = dim.has_value() ? source.sizes[*dim] : source.numel();
  auto memory = ctx.allocate_temp(2 * static_cast<size_t>(count > 0 ? count : 1) * sizeof(int64_t), alignof(int64_t));
  ET_KERNEL_CHECK_MSG(ctx, memory.ok(), MemoryAllocationFailed, result,
                      "%s: no temporary memory for the order of %lld elements", op, static_cast<long long>(count));
  auto* order = static_cast<int64_t*>(*memory);
  int64_t* group = order + count;
  visit_any_real(ctx, op, in.scalar_type(), [&](auto tag) {
    const Slices<typename decltype(tag)::Type> slices(source, dim);
    const int64_t groups = group_slices(slices, request.sort, order, group);
    StridedView shape = source;
    if (dim.has_value()) {
      shape.sizes[*dim] = groups;
    } else {
      shape.dims = 1;
      shape.sizes[0] = groups;
    }
    const int64_t none = 0;
    const bool flat = !request.dim.has_value();
    if (!check_resize(ctx, op, values, shape.sizes, shape.dims) ||
        !check_resize(ctx, op, counts, request.counts ? &groups : &none, 1) ||
        !(request.inverse ? check_resize(ctx, op, inverse, flat ? source.sizes : &count, flat ? source.dims : 1)
                          : check_resize(ctx, op, inverse, &none, 1))) {
      return;
    }
    if (request.counts) {
      std::fill_n(counts.mutable_data_ptr<int64_t>(), groups, 0);
    }
    const StridedView targets = StridedView::of(values);
    // Indices are written in row-major order, whatever the dim order of the output.
    const StridedView places = StridedView::of(inverse);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t slice = order[i];
      if (request.inverse) {
        int64_t offset = 0, linear = slice;
        for (size_t d = places.dims; d-- > 0;) {
          offset += linear % places.sizes[d] * places.strides[d];
          linear /= places.sizes[d];
        }
        inverse.mutable_data_ptr<int64_t>()[offset] = group[i];
      }
      if (request.counts) {
        counts.mutable_data_ptr<int64_t>()[group[i]] += 1;
      }
      if (i == 0 || group[i - 1] != group[i]) {
        StridedView from = source, to = targets;
        if (dim.has_value()) {
          from.slice(*dim, slice, 1);
          to.slice(*dim, group[i], 1);
        } else {
          int64_t linear = slice;
          for (size_t d = source.dims; d-- > 0;) {
            from.slice(d, linear % source.sizes[d], 1);
            linear /= source.sizes[d];
          }
          from.dims = 1;
          from.sizes[0] = 1;
          from.strides[0] = 1;
          to.slice(0, group[i], 1);
        }
        copy(to, from);
      }
    }
  });
  return result;
}

}  // namespace

// For each of 0, 1, ..., the number of elements with this value, or the sum of their weights.
Tensor& bincount_out(KernelRuntimeContext& ctx, const Tensor& in, const std::optional<Tensor>& weights,
                     int64_t minlength, Tensor& out) {
  constexpr const char* name = "bincount.out";
  const bool weighted = weights.has_value();
  const ScalarType wanted = !weighted                                     ? ScalarType::Long
                            : weights->scalar_type() == ScalarType::Float ? ScalarType::Float
                                                                          : ScalarType::Double;
  ET_KERNEL_CHECK_MSG(
      ctx, executorch::runtime::isIntegralType(in.scalar_type(), false) && in.dim() == 1 && minlength >= 0,
      InvalidArgument, out, "%s: expected one dimension of integers and a minlength from 0, found %s and %lld", name,
      toString(in.scalar_type()), static_cast<long long>(minlength));
  ET_KERNEL_CHECK_MSG(ctx, out.scalar_type() == wanted, InvalidArgument, out, "%s: the output is %s, found %s", name,
                      toString(wanted), toString(out.scalar_type()));
  ET_KERNEL_CHECK_MSG(ctx, !weighted || (weights->dim() == 1 && weights->numel() == in.numel()), InvalidArgument, out,
                      "%s: there is one weight for each of the %zd values", name, static_cast<ssize_t>(in.numel()));
  if (!check_no_overlap(ctx, name, in, out) || (weighted && !check_no_overlap(ctx, name, *weights, out))) {
    return out;
  }
  const StridedView values = StridedView::of(in);
  const ConvertFn load_value = load_fn(in.scalar_type(), ComputeType::Int);
  const auto value_at = [&](int64_t i) {
    int64_t value;
    load_value(&value, values.data + i * static_cast<int64_t>(values.element_size), 1);
    return value;
  };
  int64_t largest = -1;
  for (int64_t i = 0; i < in.numel(); ++i) {
    const int64_t value = value_at(i);
    ET_KERNEL_CHECK_MSG(ctx, value >= 0 && value < std::numeric_limits<int64_t>::max(), InvalidArgument, out,
                        "%s: values must not be negative, found %lld", name, static_cast<long long>(value));
    largest = std::max(largest, value);
  }
  const int64_t size = std::max(largest + 1, minlength);
  if (!check_resize(ctx, name, out, &size, 1)) {
    return out;
  }
  std::memset(out.mutable_data_ptr(), 0, out.nbytes());
  const ConvertFn load_weight = weighted ? load_fn(weights->scalar_type(), ComputeType::Double) : nullptr;
  for (int64_t i = 0; i < in.numel(); ++i) {
    const int64_t value = value_at(i);
    if (!weighted) {
      out.mutable_data_ptr<int64_t>()[value] += 1;
      continue;
    }
    double weight;
    load_weight(&weight, static_cast<const char*>(weights->const_data_ptr()) + i * weights->element_size(), 1);
    if (wanted == ScalarType::Float) {
      out.mutable_data_ptr<float>()[value] += static_cast<float>(weight);
    } else {
      out.mutable_data_ptr<double>()[value] += weight;
    }
  }
  return out;
}

Results _unique2_out(KernelRuntimeContext& ctx, const Tensor& in, bool /*sorted*/, bool return_inverse,
                     bool return_counts, Tensor& out0, Tensor& out1, Tensor& out2) {
  return unique(ctx, "_unique2.out", in, {std::nullopt, true, return_inverse, return_counts}, out0, out1, out2);
}

// Like eager, returns indices and counts of slices even if they are not requested.
Results unique_dim_out(KernelRuntimeContext& ctx, const Tensor& in, int64_t dim, bool /*sorted*/,
                       bool /*return_inverse*/, bool /*return_counts*/, Tensor& out0, Tensor& out1, Tensor& out2) {
  return unique(ctx, "unique_dim.out", in, {dim, true, true, true}, out0, out1, out2);
}

Results unique_consecutive_out(KernelRuntimeContext& ctx, const Tensor& in, bool return_inverse, bool return_counts,
                               std::optional<int64_t> dim, Tensor& out0, Tensor& out1, Tensor& out2) {
  const bool slices = dim.has_value();
  return unique(ctx, "unique_consecutive.out", in, {dim, false, return_inverse || slices, return_counts || slices},
                out0, out1, out2);
}

}  // namespace torch::executor::native
