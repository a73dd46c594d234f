// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Functions of single elements, and reductions, over `size` elements that are `stride` apart, for custom kernels.
 */
#pragma once

#include <cstdint>

#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {

/// data_out[i] = map(data_in[i]).
template <typename CTYPE_IN, typename CTYPE_OUT, typename MapOp>
void apply_unary_map_fn(const MapOp& map_fun, const CTYPE_IN* const data_in, CTYPE_OUT* const data_out,
                        const int64_t size, const int64_t stride = 1) {
  for (int64_t i = 0; i < size; ++i) {
    data_out[i * stride] = map_fun(data_in[i * stride]);
  }
}

/// reduce(map(xn), ... reduce(map(x1), map(x0))): the first argument is the next element. `size` is 1 or more.
template <typename CTYPE_IN, typename CTYPE_OUT, typename MapOp, typename ReduceOp>
CTYPE_OUT apply_unary_map_reduce_fn(const MapOp& map_fun, const ReduceOp& reduce_fun, const CTYPE_IN* const data_in,
                                    const int64_t size, const int64_t stride = 1) {
  ET_CHECK_MSG(size > 0, "a reduction needs an element, found %d", static_cast<int>(size));
  CTYPE_OUT result = map_fun(data_in[0]);
  for (int64_t i = 1; i < size; ++i) {
    result = reduce_fun(map_fun(data_in[i * stride]), result);
  }
  return result;
}

/// Like the function above, without a function for single elements.
template <typename CTYPE, typename ReduceOp>
CTYPE apply_unary_reduce_fn(const ReduceOp& reduce_fun, const CTYPE* const data_in, const int64_t size,
                            const int64_t stride = 1) {
  return apply_unary_map_reduce_fn<CTYPE, CTYPE>([](CTYPE value) { return value; }, reduce_fun, data_in, size, stride);
}

}  // namespace executor
}  // namespace torch
