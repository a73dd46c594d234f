// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Distances between rows, for custom kernels.
 */
#pragma once

#include <algorithm>
#include <cmath>

#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {

/// `in` is a matrix of the dtype of `out`, which holds a vector, and `p` is not negative. Logs if not.
ET_NODISCARD inline bool check_pdist_args(const Tensor& in, double p, const Tensor& out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(in, out));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_is_rank(in, 2));
  ET_CHECK_OR_RETURN_FALSE(p >= 0, "pdist: expected a p of 0 or more, found %g", p);
  return true;
}

/// The number of pairs of rows.
inline void get_pdist_out_target_size(const Tensor& in, ::executorch::aten::SizesType* out_sizes, size_t* out_ndim) {
  *out_ndim = 1;
  const auto rows = in.size(0);
  out_sizes[0] = static_cast<::executorch::aten::SizesType>(rows < 2 ? 0 : rows * (rows - 1) / 2);
}

// The norms of a vector: `finish(reduce(... reduce(0, map(|x0|, p)), ... map(|xn|, p)), p)`.

/// How many elements are not 0.
template <typename CTYPE>
struct L0 {
  static CTYPE map(const CTYPE& diff, const CTYPE& /*p*/) { return diff == 0 ? CTYPE(0) : CTYPE(1); }
  static CTYPE reduce(const CTYPE& agg, const CTYPE& up) { return agg + up; }
  static CTYPE finish(const CTYPE& agg, const CTYPE& /*p*/) { return agg; }
};

/// The sum.
template <typename CTYPE>
struct L1 {
  static CTYPE map(const CTYPE& diff, const CTYPE& /*p*/) { return diff; }
  static CTYPE reduce(const CTYPE& agg, const CTYPE& up) { return agg + up; }
  static CTYPE finish(const CTYPE& agg, const CTYPE& /*p*/) { return agg; }
};

/// The Euclidean norm.
template <typename CTYPE>
struct L2 {
  static CTYPE map(const CTYPE& diff, const CTYPE& /*p*/) { return diff * diff; }
  static CTYPE reduce(const CTYPE& agg, const CTYPE& up) { return agg + up; }
  static CTYPE finish(const CTYPE& agg, const CTYPE& /*p*/) { return std::sqrt(agg); }
};

/// The norm of any other `p`.
template <typename CTYPE>
struct Lp {
  static CTYPE map(const CTYPE& diff, const CTYPE& p) { return std::pow(diff, p); }
  static CTYPE reduce(const CTYPE& agg, const CTYPE& up) { return agg + up; }
  static CTYPE finish(const CTYPE& agg, const CTYPE& p) { return std::pow(agg, CTYPE(1) / p); }
};

/// The largest element.
template <typename CTYPE>
struct Linf {
  static CTYPE map(const CTYPE& diff, const CTYPE& /*p*/) { return diff; }
  static CTYPE reduce(const CTYPE& agg, const CTYPE& up) { return std::max(agg, up); }
  static CTYPE finish(const CTYPE& agg, const CTYPE& /*p*/) { return agg; }
};

/// Distances of all pairs of rows, in the order (0, 1), (0, 2), ..., (1, 2), ... Both tensors are contiguous.
template <typename CTYPE, typename Norm>
void pdist(const Tensor& in, Tensor& out, double p) {
  const auto rows = static_cast<size_t>(in.size(0));
  const auto width = static_cast<size_t>(in.size(1));
  const CTYPE* const data = in.const_data_ptr<CTYPE>();
  CTYPE* result = out.mutable_data_ptr<CTYPE>();
  const auto exponent = static_cast<CTYPE>(p);
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = i + 1; j < rows; ++j) {
      CTYPE sum = 0;
      for (size_t k = 0; k < width; ++k) {
        sum = Norm::reduce(sum, Norm::map(std::abs(data[i * width + k] - data[j * width + k]), exponent));
      }
      *result++ = Norm::finish(sum, exponent);
    }
  }
}

/// Like the function above, with the norm for `p`.
template <typename CTYPE>
void pdist(const Tensor& in, Tensor& out, double p) {
  if (p == 0.0) {
    pdist<CTYPE, L0<CTYPE>>(in, out, p);
  } else if (p == 1.0) {
    pdist<CTYPE, L1<CTYPE>>(in, out, p);
  } else if (p == 2.0) {
    pdist<CTYPE, L2<CTYPE>>(in, out, p);
  } else if (std::isinf(p)) {
    pdist<CTYPE, Linf<CTYPE>>(in, out, p);
  } else {
    pdist<CTYPE, Lp<CTYPE>>(in, out, p);
  }
}

}  // namespace executor
}  // namespace torch
