// SPDX-License-Identifier: BSD-3-Clause
// The driver of reductions that fold values one by one (sum, mean, prod, amax, amin, any, all). It reads memory in
// order: along the reduced dimensions if those are contiguous, else row by row over a block of outputs.
#pragma once

#include <optional>

#include "kernels/portable/cpu/pattern/compute_type.h"
#include "kernels/portable/cpu/pattern/loop_nest.h"

// GCC would unroll short loops first, and then no longer vectorise them.
#if defined(__GNUC__) && !defined(__clang__)
#define ET_KEEP_LOOP _Pragma("GCC unroll 1")
#else
#define ET_KEEP_LOOP
#endif

namespace torch::executor::native {

/// The dimensions of a tensor that are reduced.
struct ReducedDims {
  bool is_reduced[kTensorDimensionLimit];
  int64_t count;  ///< number of input elements for one output element
};

/// Normalises `dims` of `in`; no value or an empty list means all. Fails with InvalidArgument if a dimension is out of
/// range or occurs twice.
bool parse_reduced_dims(KernelRuntimeContext& ctx, const char* op, const Tensor& in,
                        const OptionalArrayRef<int64_t>& dims, ReducedDims* reduced);

/// Resizes `out` to the sizes of `in` without the reduced dimensions (with size 1 for them if `keepdim`), or fails.
bool resize_to_reduced(KernelRuntimeContext& ctx, const char* op, const Tensor& in, const ReducedDims& reduced,
                       bool keepdim, Tensor& out);

/// The loops over the elements that a reduction keeps (strides of `in` and `out`) and over those that it folds (strides
/// of `in`).
void reduction_loops(const Tensor& in, const ReducedDims& reduced, const Tensor& out, LoopNest<2>* kept,
                     LoopNest<1>* folded);

namespace internal {

/// The operations of a reduction on blocks, without their types. `partial` holds values of the compute type, each
/// combined from at most kFlushPeriod values before it is merged into `total`, which may be wider.
struct ReductionLoops {
  void (*init)(const void* op, void* total, void* partial, size_t count);
  void (*add_rows)(const void* op, void* partial, const void* values, size_t count);
  void (*flush)(const void* op, void* total, void* partial, size_t count);
  void (*add_run)(const void* op, void* total, const void* values, size_t count);
  void (*finish)(const void* op, void* out, const void* total, size_t count);
};

void run_reduction(const void* op, const ReductionLoops& loops, const Tensor& in, ComputeType in_type,
                   const ReducedDims& reduced, const Tensor& out, ComputeType out_type);

/// Op: types Value, Total and Out; identity(), combine(Value, Value), merge(Total, Value), finish(Total) -> Out.
template <typename Op>
struct ReductionLoopsOf {
  using Value = typename Op::Value;
  using Total = typename Op::Total;
  using Out = typename Op::Out;

  static void init(const void*, void* total, void* partial, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      static_cast<Total*>(total)[i] = static_cast<Total>(Op::identity());
      static_cast<Value*>(partial)[i] = Op::identity();
    }
  }

  static void add_rows(const void*, void* partial, const void* values, size_t count) {
    Value* __restrict to = static_cast<Value*>(partial);
    const Value* __restrict from = static_cast<const Value*>(values);
    for (size_t i = 0; i < count; ++i) {
      to[i] = Op::combine(to[i], from[i]);
    }
  }

  static void flush(const void*, void* total, void* partial, size_t count) {
    Total* to = static_cast<Total*>(total);
    Value* from = static_cast<Value*>(partial);
    for (size_t i = 0; i < count; ++i) {
      to[i] = Op::merge(to[i], from[i]);
      from[i] = Op::identity();
    }
  }

  // Independent lanes, so that the compiler can vectorise without reordering operations.
  static void add_run(const void*, void* total, const void* values, size_t count) {
    constexpr size_t kLanes = 32;
    constexpr size_t kChunk = 32 * kLanes;
    const Value* from = static_cast<const Value*>(values);
    Total sum = *static_cast<Total*>(total);
    if (count < kLanes) {
      for (size_t i = 0; i < count; ++i) {
        sum = Op::merge(sum, from[i]);
      }
      *static_cast<Total*>(total) = sum;
      return;
    }
    for (size_t begin = 0; begin < count; begin += kChunk) {
      const size_t end = count - begin < kChunk ? count : begin + kChunk;
      Value lanes[kLanes];
      for (Value& lane : lanes) {
        lane = Op::identity();
      }
      size_t i = begin;
      for (; i + kLanes <= end; i += kLanes) {
        ET_KEEP_LOOP
        for (size_t lane = 0; lane < kLanes; ++lane) {
          lanes[lane] = Op::combine(lanes[lane], from[i + lane]);
        }
      }
      for (size_t lane = 0; i < end; ++i, ++lane) {
        lanes[lane] = Op::combine(lanes[lane], from[i]);
      }
      for (size_t half = kLanes / 2; half > 0; half /= 2) {
        for (size_t lane = 0; lane < half; ++lane) {
          lanes[lane] = Op::combine(lanes[lane], lanes[lane + half]);
        }
      }
      sum = Op::merge(sum, lanes[0]);
    }
    *static_cast<Total*>(total) = sum;
  }

  static void finish(const void* op, void* out, const void* total, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      static_cast<Out*>(out)[i] = static_cast<const Op*>(op)->finish(static_cast<const Total*>(total)[i]);
    }
  }
};

}  // namespace internal

/// Folds `in`, converted to Op::Value, over the reduced dimensions into `out`, which already has its sizes.
template <typename Op>
void reduce(const Op& op, const Tensor& in, const ReducedDims& reduced, const Tensor& out) {
  using Loops = internal::ReductionLoopsOf<Op>;
  static constexpr internal::ReductionLoops loops = {Loops::init, Loops::add_rows, Loops::flush, Loops::add_run,
                                                     Loops::finish};
  internal::run_reduction(&op, loops, in, compute_type_of<typename Op::Value>(), reduced, out,
                          compute_type_of<typename Op::Out>());
}

}  // namespace torch::executor::native
