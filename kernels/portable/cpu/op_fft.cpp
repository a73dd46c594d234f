// SPDX-License-Identifier: BSD-3-Clause
// Discrete Fourier transforms of any length: _fft_r2c.out, _fft_c2c.out, _fft_c2r.out. Even lengths are halved until
// they are odd; a transform of odd length is computed from its definition.
#include <cmath>
#include <cstring>

#include <executorch/runtime/platform/platform.h>

#include "kernels/portable/cpu/math/visit_dtype.h"
#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/lines.h"

namespace torch::executor::native {
namespace {

template <typename T>
struct Complex {
  T re, im;
};

// PyTorch's numbers for the divisor of the results.
enum Normalization : int64_t { kNone, kByRootOfLength, kByLength };

double scale_of(int64_t normalization, int64_t length) {
  return normalization == kNone             ? 1
         : normalization == kByRootOfLength ? 1 / std::sqrt(static_cast<double>(length))
                                            : 1 / static_cast<double>(length);
}

// exp(sign * 2 pi i * k / n)
Complex<double> root_of_unity(int64_t k, int64_t n, int sign) {
  const double angle = 6.283185307179586 * static_cast<double>(k) / static_cast<double>(n);
  return {std::cos(angle), sign * std::sin(angle)};
}

// out[k] = sum of in[j * stride] * exp(sign * 2 pi i * j * k / length), decimation in time (Cooley and Tukey 1965).
void transform(const Complex<double>* in, int64_t stride, int64_t length, int sign, Complex<double>* out) {
  if (length % 2 != 0) {
    for (int64_t k = 0; k < length; ++k) {
      Complex<double> sum = {0, 0};
      for (int64_t j = 0, phase = 0; j < length; ++j, phase = (phase + k) % length) {
        const Complex<double> w = root_of_unity(phase, length, sign), x = in[j * stride];
        sum.re += x.re * w.re - x.im * w.im;
        sum.im += x.re * w.im + x.im * w.re;
      }
      out[k] = sum;
    }
    return;
  }
  const int64_t half = length / 2;
  transform(in, 2 * stride, half, sign, out);
  transform(in + stride, 2 * stride, half, sign, out + half);
  for (int64_t k = 0; k < half; ++k) {
    const Complex<double> w = root_of_unity(k, length, sign), even = out[k], odd = out[half + k];
    const Complex<double> turned = {odd.re * w.re - odd.im * w.im, odd.re * w.im + odd.im * w.re};
    out[k] = {even.re + turned.re, even.im + turned.im};
    out[half + k] = {even.re - turned.re, even.im - turned.im};
  }
}

// Memory from the context's temporary allocator, or from the platform for a kernel that is called without one, as by a
// Method without a temporary allocator.
class TemporaryMemory {
 public:
  TemporaryMemory() = default;
  ~TemporaryMemory() { executorch::runtime::pal_free(own_); }
  TemporaryMemory(const TemporaryMemory&) = delete;
  TemporaryMemory& operator=(const TemporaryMemory&) = delete;

  // Returns null and fails the context if there is no memory left.
  void* allocate(KernelRuntimeContext& ctx, const char* op, size_t bytes) {
    if (!ctx.has_temp_allocator()) {
      own_ = executorch::runtime::pal_allocate(bytes);
      ET_KERNEL_CHECK_MSG(ctx, own_ != nullptr, MemoryAllocationFailed, nullptr,
                          "%s: needs %zu bytes of temporary memory; give the method a temporary allocator", op, bytes);
      return own_;
    }
    auto memory = ctx.allocate_temp(bytes, alignof(Complex<double>));
    ET_KERNEL_CHECK_MSG(ctx, memory.ok(), MemoryAllocationFailed, nullptr,
                        "%s: needs %zu bytes of temporary memory; give the method a larger temporary allocator", op,
                        bytes);
    return memory.get();
  }

 private:
  void* own_ = nullptr;
};

// Memory for one line before and after its transform.
struct Scratch {
  Complex<double>* before = nullptr;
  Complex<double>* after = nullptr;

  bool allocate(KernelRuntimeContext& ctx, const char* op, int64_t length) {
    const size_t bytes = static_cast<size_t>(length) * sizeof(Complex<double>);
    before = static_cast<Complex<double>*>(memory.allocate(ctx, op, 2 * bytes));
    after = before + length;
    return before != nullptr;
  }

  TemporaryMemory memory;
};

bool parse_dims(KernelRuntimeContext& ctx, const char* op, const Tensor& in, IntArrayRef dims, size_t* parsed) {
  bool named[kTensorDimensionLimit] = {};
  ET_KERNEL_CHECK_MSG(ctx, !dims.empty() && dims.size() <= static_cast<size_t>(in.dim()), InvalidArgument, false,
                      "%s: expected 1 to %zd dimensions to transform, found %zu", op, static_cast<ssize_t>(in.dim()),
                      dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!check_dim(ctx, op, dims[i], in.dim(), &parsed[i])) {
      return false;
    }
    ET_KERNEL_CHECK_MSG(ctx, !named[parsed[i]], InvalidArgument, false, "%s: dimension %zu is named twice", op,
                        parsed[i]);
    named[parsed[i]] = true;
    ET_KERNEL_CHECK_MSG(ctx, in.size(static_cast<ssize_t>(parsed[i])) > 0, InvalidArgument, false,
                        "%s: dimension %zu is empty", op, parsed[i]);
  }
  return true;
}

bool check_normalization(KernelRuntimeContext& ctx, const char* op, int64_t normalization) {
  ET_KERNEL_CHECK_MSG(ctx, normalization >= kNone && normalization <= kByLength, InvalidArgument, false,
                      "%s: the normalization is %lld; expected 0, 1 or 2", op, static_cast<long long>(normalization));
  return true;
}

ScalarType real_of(ScalarType dtype) {
  return dtype == ScalarType::ComplexFloat    ? ScalarType::Float
         : dtype == ScalarType::ComplexDouble ? ScalarType::Double
                                              : ScalarType::Undefined;
}

// Checks that `complex` is a complex dtype whose parts have the dtype `real`.
bool check_dtypes(KernelRuntimeContext& ctx, const char* op, ScalarType complex, ScalarType real) {
  ET_KERNEL_CHECK_MSG(ctx, real != ScalarType::Undefined && real_of(complex) == real, InvalidArgument, false,
                      "%s: expected float32 and complex64 or float64 and complex128, found %s and %s", op,
                      toString(real), toString(complex));
  return true;
}

// Transforms lines of `length` elements along `dim` of `in`. read(element, position) returns an input, and
// write(element, value) stores each of the first out.sizes[dim] results.
template <typename Read, typename Write>
bool transform_lines(KernelRuntimeContext& ctx, const char* op, const StridedView& in, const StridedView& out,
                     size_t dim, int64_t length, int sign, const Read& read, const Write& write) {
  Scratch scratch;
  if (!scratch.allocate(ctx, op, length)) {
    return false;
  }
  const StridedView views[] = {out, in};
  for_each_line(views, dim, [&](const int64_t* offsets) {
    for (int64_t i = 0; i < length; ++i) {
      scratch.before[i] = read(offsets[1], i);
    }
    transform(scratch.before, 1, length, sign, scratch.after);
    for (int64_t i = 0; i < out.sizes[dim]; ++i) {
      write(offsets[0] + i * out.strides[dim], scratch.after[i]);
    }
  });
  return true;
}

// Transforms complex lines of `from` into `to`, which has the same sizes and may be the same tensor.
template <typename T>
bool complex_lines(KernelRuntimeContext& ctx, const char* op, const Tensor& from, const Tensor& to, size_t dim,
                   int sign, double scale) {
  const StridedView in = StridedView::of(from), out = StridedView::of(to);
  const auto* source = reinterpret_cast<const Complex<T>*>(in.data);
  auto* target = reinterpret_cast<Complex<T>*>(out.data);
  return transform_lines(
      ctx, op, in, out, dim, in.sizes[dim], sign,
      [&](int64_t line, int64_t i) {
        const Complex<T> value = source[line + i * in.strides[dim]];
        return Complex<double>{static_cast<double>(value.re) * scale, static_cast<double>(value.im) * scale};
      },
      [&](int64_t element, Complex<double> value) {
        target[element] = {static_cast<T>(value.re), static_cast<T>(value.im)};
      });
}

template <typename Body>
void with_real_type(ScalarType real, const Body& body) {
  real == ScalarType::Double ? body(double{}) : body(float{});
}

}  // namespace

/// The transform of real numbers; with onesided only the first half (n / 2 + 1) along the last of `dims`.
Tensor& _fft_r2c_out(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef dims, int64_t normalization,
                     bool onesided, Tensor& out) {
  const char* op = "_fft_r2c.out";
  size_t parsed[kTensorDimensionLimit];
  if (!check_dtypes(ctx, op, out.scalar_type(), in.scalar_type()) || !check_normalization(ctx, op, normalization) ||
      !parse_dims(ctx, op, in, dims, parsed)) {
    return out;
  }
  StridedView shape = StridedView::of(in);
  const size_t last = parsed[dims.size() - 1];
  const int64_t length = shape.sizes[last];
  shape.sizes[last] = onesided ? length / 2 + 1 : length;
  if (!check_resize(ctx, op, out, shape.sizes, shape.dims)) {
    return out;
  }
  with_real_type(in.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    const StridedView source = StridedView::of(in), target = StridedView::of(out);
    const double scale = scale_of(normalization, length);
    const auto read = [&](int64_t line, int64_t i) {
      const T value = reinterpret_cast<const T*>(source.data)[line + i * source.strides[last]];
      return Complex<double>{static_cast<double>(value) * scale, 0};
    };
    const auto write = [&](int64_t element, Complex<double> value) {
      reinterpret_cast<Complex<T>*>(target.data)[element] = {static_cast<T>(value.re), static_cast<T>(value.im)};
    };
    bool done = transform_lines(ctx, op, source, target, last, length, -1, read, write);
    for (size_t i = dims.size() - 1; done && i-- > 0;) {
      done = complex_lines<T>(ctx, op, out, out, parsed[i], -1, scale_of(normalization, target.sizes[parsed[i]]));
    }
  });
  return out;
}

Tensor& _fft_c2c_out(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef dims, int64_t normalization, bool forward,
                     Tensor& out) {
  const char* op = "_fft_c2c.out";
  size_t parsed[kTensorDimensionLimit];
  if (!check_same_dtype(ctx, op, in, out) || !check_dtypes(ctx, op, in.scalar_type(), real_of(in.scalar_type())) ||
      !check_normalization(ctx, op, normalization) || !parse_dims(ctx, op, in, dims, parsed) ||
      !check_resize_like(ctx, op, out, in)) {
    return out;
  }
  with_real_type(real_of(in.scalar_type()), [&](auto zero) {
    bool done = true;
    for (size_t i = 0; done && i < dims.size(); ++i) {
      done = complex_lines<decltype(zero)>(ctx, op, i == 0 ? in : out, out, parsed[i], forward ? -1 : 1,
                                           scale_of(normalization, in.size(static_cast<ssize_t>(parsed[i]))));
    }
  });
  return out;
}

/// The inverse of _fft_r2c with onesided: `last_dim_size` real numbers along the last of `dims`. The other dimensions
/// are transformed in a copy of `in`, in temporary memory.
Tensor& _fft_c2r_out(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef dims, int64_t normalization,
                     int64_t last_dim_size, Tensor& out) {
  const char* op = "_fft_c2r.out";
  size_t parsed[kTensorDimensionLimit];
  if (!check_dtypes(ctx, op, in.scalar_type(), out.scalar_type()) || !check_normalization(ctx, op, normalization) ||
      !parse_dims(ctx, op, in, dims, parsed)) {
    return out;
  }
  StridedView shape = StridedView::of(in);
  const size_t last = parsed[dims.size() - 1];
  ET_KERNEL_CHECK_MSG(ctx, last_dim_size >= 1 && last_dim_size / 2 + 1 <= shape.sizes[last], InvalidArgument, out,
                      "%s: %lld real numbers need %lld complex ones, dimension %zu has %lld", op,
                      static_cast<long long>(last_dim_size), static_cast<long long>(last_dim_size / 2 + 1), last,
                      static_cast<long long>(shape.sizes[last]));
  shape.sizes[last] = last_dim_size;
  if (!check_resize(ctx, op, out, shape.sizes, shape.dims)) {
    return out;
  }
  with_real_type(out.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    StridedView source = StridedView::of(in);
    const StridedView target = StridedView::of(out);
    const size_t bytes = in.nbytes();
    TemporaryMemory copy_memory;
    if (dims.size() > 1 && bytes > 0) {
      void* const copied = copy_memory.allocate(ctx, op, bytes);
      if (copied == nullptr) {
        return;
      }
      std::memcpy(copied, source.data, bytes);
      source.data = static_cast<char*>(copied);
      for (size_t i = 0; i + 1 < dims.size(); ++i) {
        const size_t d = parsed[i];
        auto* values = reinterpret_cast<Complex<T>*>(source.data);
        const double scale = scale_of(normalization, source.sizes[d]);
        const auto read = [&](int64_t line, int64_t j) {
          const Complex<T> value = values[line + j * source.strides[d]];
          return Complex<double>{static_cast<double>(value.re) * scale, static_cast<double>(value.im) * scale};
        };
        const auto write = [&](int64_t element, Complex<double> value) {
          values[element] = {static_cast<T>(value.re), static_cast<T>(value.im)};
        };
        if (!transform_lines(ctx, op, source, source, d, source.sizes[d], 1, read, write)) {
          return;
        }
      }
    }
    const double scale = scale_of(normalization, last_dim_size);
    // The second half of the line is the first one mirrored and conjugated.
    const auto read = [&](int64_t line, int64_t i) {
      const bool is_mirrored = i > last_dim_size / 2;
      const int64_t at = is_mirrored ? last_dim_size - i : i;
      const Complex<T> value = reinterpret_cast<const Complex<T>*>(source.data)[line + at * source.strides[last]];
      const bool is_real = i == 0 || 2 * i == last_dim_size;
      const double im = is_real ? 0 : static_cast<double>(is_mirrored ? -value.im : value.im);
      return Complex<double>{static_cast<double>(value.re) * scale, im * scale};
    };
    transform_lines(ctx, op, source, target, last, last_dim_size, 1, read, [&](int64_t element, Complex<double> value) {
      reinterpret_cast<T*>(target.data)[element] = static_cast<T>(value.re);
    });
  });
  return out;
}

}  // namespace torch::executor::native
