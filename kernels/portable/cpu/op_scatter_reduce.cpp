// SPDX-License-Identifier: BSD-3-Clause
// scatter_reduce.two_out
#include <limits>
#include <string_view>
#include <type_traits>

#include "kernels/portable/cpu/pattern/arithmetic.h"
#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/complex_number.h"
#include "kernels/portable/cpu/pattern/lines.h"

namespace torch::executor::native {
namespace {

enum class Reduction : uint8_t { Sum, Mean, Product, Largest, Smallest, Unknown };

Reduction reduction_of(std::string_view name) {
  return name == "sum"    ? Reduction::Sum
         : name == "mean" ? Reduction::Mean
         : name == "prod" ? Reduction::Product
         : name == "amax" ? Reduction::Largest
         : name == "amin" ? Reduction::Smallest
                          : Reduction::Unknown;
}

// The identity element of the reduction, among the values of `dtype`.
template <typename C>
C identity(Reduction reduction, ScalarType dtype) {
  if (reduction == Reduction::Product) {
    return 1;
  }
  if (reduction != Reduction::Largest && reduction != Reduction::Smallest) {
    return 0;
  }
  const bool is_smallest = reduction == Reduction::Smallest;
  if constexpr (std::is_same_v<C, Complex>) {
    return 0;  // complex numbers have no order
  } else if constexpr (is_integer<C>) {
    if (dtype == ScalarType::Bool) {
      return is_smallest ? 1 : 0;
    }
    const bool is_unsigned = dtype == ScalarType::Byte || dtype == ScalarType::UInt16 || dtype == ScalarType::UInt32;
    const size_t bits = 8 * executorch::runtime::elementSize(dtype) - (is_unsigned ? 0 : 1);
    const C largest = static_cast<C>((uint64_t(1) << bits) - 1);
    return is_smallest ? largest : is_unsigned ? 0 : -largest - 1;
  } else {
    return is_smallest ? std::numeric_limits<C>::infinity() : -std::numeric_limits<C>::infinity();
  }
}

template <typename C>
C combine_real(Reduction reduction, C a, C b) {
  switch (reduction) {
    case Reduction::Product:
      return wrapping_mul(a, b);
    case Reduction::Largest:
      return nan_max(a, b);
    case Reduction::Smallest:
      return nan_min(a, b);
    default:
      return wrapping_add(a, b);
  }
}

template <typename C>
C combine(Reduction reduction, C a, C b) {
  if constexpr (std::is_same_v<C, Complex>) {
    return reduction == Reduction::Product ? multiply(a, b) : a + b;
  } else {
    return combine_real(reduction, a, b);
  }
}

// Reads and writes single elements of a dtype as the compute type.
template <typename C>
struct Access {
  ConvertFn load, store;

  explicit Access(ScalarType dtype)
      : load(load_fn(dtype, compute_type_of<C>())), store(store_fn(compute_type_of<C>(), dtype)) {}

  C read(const char* at) const {
    C value;
    load(&value, at, 1);
    return value;
  }
  void write(char* at, C value) const { store(at, &value, 1); }
};

template <>
struct Access<Complex> {
  ScalarType dtype;

  explicit Access(ScalarType type) : dtype(type) {}
  Complex read(const char* at) const { return read_complex(at, dtype, 0); }
  void write(char* at, Complex value) const { write_complex(at, dtype, 0, value); }
};

// A line of the index along the dimension, with the corresponding lines of the source and the output.
template <typename C>
class Line {
 public:
  Line(const Tensor& index, int64_t first, int64_t index_stride, int64_t count, char* out, int64_t out_stride,
       ScalarType dtype)
      : index_(index),
        first_(first),
        index_stride_(index_stride),
        count_(count),
        out_(out),
        out_step_(out_stride * static_cast<int64_t>(executorch::runtime::elementSize(dtype))),
        access_(dtype) {}

  // Sets the elements that the index selects to `value`.
  void reset(C value) {
    for (int64_t i = 0; i < count_; ++i) {
      put(place(i), value);
    }
  }

  void reduce(Reduction reduction, const char* source, int64_t source_step) {
    for (int64_t i = 0; i < count_; ++i) {
      put(place(i), combine(reduction, get(place(i)), access_.read(source + i * source_step)));
    }
  }

  // Divides each sum by the number of its summands. That is counted by searching the index again, because there is no
  // memory for counts; means are usually taken over short lines.
  void divide(bool include_self) {
    for (int64_t i = 0; i < count_; ++i) {
      int64_t values = include_self ? 1 : 0;
      bool is_first = true;
      for (int64_t j = 0; j < count_ && is_first; ++j) {
        is_first = j >= i || place(j) != place(i);
        values += place(j) == place(i) ? 1 : 0;
      }
      if (is_first) {
        put(place(i), floor_quotient(get(place(i)), values));
      }
    }
  }

 private:
  static C floor_quotient(C sum, int64_t count) {
    if constexpr (is_integer<C>) {
      return floor_divide(sum, count);
    } else if constexpr (std::is_same_v<C, Complex>) {
      return sum / static_cast<double>(count);
    } else {
      return sum / static_cast<C>(count);
    }
  }

  int64_t place(int64_t i) const { return index_at(index_, first_ + i * index_stride_); }
  C get(int64_t place) const { return access_.read(out_ + place * out_step_); }
  void put(int64_t place, C value) { access_.write(out_ + place * out_step_, value); }

  const Tensor& index_;
  int64_t first_, index_stride_, count_;
  char* out_;
  int64_t out_step_;
  Access<C> access_;
};

bool check_shapes(KernelRuntimeContext& ctx, const char* op, const StridedView& self, const StridedView& index,
                  const StridedView& src, size_t dim) {
  bool fits = index.dims == self.dims && index.dims == src.dims;
  for (size_t d = 0; fits && d < index.dims; ++d) {
    fits = index.sizes[d] <= src.sizes[d] && (d == dim || index.sizes[d] <= self.sizes[d]);
  }
  ET_KERNEL_CHECK_MSG(ctx, fits, InvalidArgument, false,
                      "%s: the index must have as many dimensions as the input and the source and be no larger than "
                      "they are (than the input except in dimension %zu)",
                      op, dim);
  return true;
}

bool check_indices(KernelRuntimeContext& ctx, const char* op, const Tensor& index, int64_t size, size_t dim) {
  for (int64_t i = 0; i < index.numel(); ++i) {
    const int64_t at = index_at(index, i);
    ET_KERNEL_CHECK_MSG(ctx, at >= 0 && at < size, InvalidArgument, false,
                        "%s: index %lld is out of range for dimension %zu of size %lld", op, static_cast<long long>(at),
                        dim, static_cast<long long>(size));
  }
  return true;
}

}  // namespace

/// Copies `self` to `out` and reduces the elements of `src` into the positions along `dim` that `index` selects.
/// Without include_self, the elements of self at those positions do not take part.
Tensor& scatter_reduce_two_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim, const Tensor& index,
                               const Tensor& src, std::string_view reduce, bool include_self, Tensor& out) {
  const char* op = "scatter_reduce.two_out";
  const Reduction reduction = reduction_of(reduce);
  ET_KERNEL_CHECK_MSG(ctx, reduction != Reduction::Unknown, InvalidArgument, out,
                      "%s: reduce is '%.*s'; expected 'sum', 'prod', 'mean', 'amax' or 'amin'", op,
                      static_cast<int>(reduce.size()), reduce.data());
  const bool has_order = reduction == Reduction::Largest || reduction == Reduction::Smallest;
  ET_KERNEL_CHECK_MSG(ctx, has_order ? is_supported_dtype(self.scalar_type()) : is_number(self.scalar_type()),
                      InvalidArgument, out, "%s: %.*s is not defined for inputs of dtype %s", op,
                      static_cast<int>(reduce.size()), reduce.data(), toString(self.scalar_type()));
  size_t d = 0;
  const bool is_empty = index.numel() == 0;
  if (!check_dim(ctx, op, dim, self.dim(), &d) || !check_same_dtype(ctx, op, self, src) ||
      (!is_empty && !check_index_dtype(ctx, op, index)) ||
      (!is_empty && !check_shapes(ctx, op, at_least_1d(self), at_least_1d(index), at_least_1d(src), d)) ||
      !copy_to_output(ctx, op, StridedView::of(self), out)) {
    return out;
  }
  const StridedView target = at_least_1d(out);
  if (is_empty || !check_no_overlap(ctx, op, index, out) || !check_indices(ctx, op, index, target.sizes[d], d)) {
    return out;
  }
  const StridedView views[] = {at_least_1d(index), at_least_1d(src), target};
  const int64_t size = static_cast<int64_t>(target.element_size);
  const auto reduce_lines = [&](auto zero) {
    using C = decltype(zero);
    for_each_line(views, d, [&](const int64_t* offsets) {
      Line<C> line(index, offsets[0], views[0].strides[d], views[0].sizes[d], target.data + offsets[2] * size,
                   target.strides[d], self.scalar_type());
      if (!include_self) {
        line.reset(identity<C>(reduction, self.scalar_type()));
      }
      line.reduce(reduction, views[1].data + offsets[1] * size, views[1].strides[d] * size);
      if (reduction == Reduction::Mean) {
        line.divide(include_self);
      }
    });
  };
  if (is_complex(self.scalar_type())) {
    if constexpr (kSelectsComplex) {
      reduce_lines(Complex());
    }
  } else {
    with_arithmetic_type(arithmetic_type(self.scalar_type()), reduce_lines);
  }
  return out;
}

}  // namespace torch::executor::native
