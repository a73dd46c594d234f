// SPDX-License-Identifier: BSD-3-Clause
// The driver of all elementwise operators. Type promotion, broadcasting, dim orders, resizing of the output and the
// loops over memory are compiled once; an operator adds one inner loop for each compute type.
#pragma once

#include <tuple>
#include <utility>

#include "kernels/portable/cpu/pattern/block_reader.h"

// Tells the compiler that the iterations of the next loop are independent although its pointers may be equal (out ==
// in).
#if defined(__clang__)
#define ET_INDEPENDENT_LOOP _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define ET_INDEPENDENT_LOOP _Pragma("GCC ivdep")
#else
#define ET_INDEPENDENT_LOOP
#endif

namespace torch::executor::native {

/// An input of an elementwise operator: a tensor, or a number, which is broadcast like one.
class Operand {
 public:
  Operand(const Tensor& tensor) : tensor_(&tensor) {}
  Operand(const Scalar& scalar) : scalar_(&scalar) {}

  /// Null if this is a number.
  const Tensor* tensor() const { return tensor_; }
  const Scalar& scalar() const { return *scalar_; }

 private:
  const Tensor* tensor_ = nullptr;
  const Scalar* scalar_ = nullptr;
};

/// The dtype in which PyTorch computes an operator (torch.result_type). Tensors with dimensions take precedence over
/// tensors without, and those over numbers, unless the latter are of a higher category (bool < integer < floating
/// point).
ScalarType result_type(std::initializer_list<Operand> operands);

/// The output of an elementwise operator, and the dtype of its result before that is converted to the output's dtype.
struct Output {
  /// @param dtype_ Undefined means the promoted dtype of the operands.
  /// @param exact_operands_ Bit n: operand n is not rounded to that dtype if the dtype is float16 or bfloat16.
  Output(const Tensor& tensor_, ScalarType dtype_ = ScalarType::Undefined, unsigned exact_operands_ = 0)
      : tensor(tensor_), dtype(dtype_), exact_operands(exact_operands_) {}

  const Tensor& tensor;
  const ScalarType dtype;
  const unsigned exact_operands;
};

/// Whether both have the same sizes and dim order, so that loops over memory visit corresponding elements together.
bool is_same_layout(const Tensor& a, const Tensor& b);

/// How the dtype of the result follows from the promoted dtype of the operands.
enum class Promotion : uint8_t {
  Same,        ///< the promoted dtype: add, mul, ...
  IntToFloat,  ///< float32 if the promoted dtype is an integer: div, exp, ...
  ToBool,      ///< bool: comparisons
};

/// Checks dtypes, broadcasts the operands' shapes and resizes `out`. On success stores the compute type.
/// Fails with InvalidArgument: unsupported dtype, a result that cannot be cast to `out`'s dtype, shapes that do not
/// broadcast, or an `out` that cannot be resized.
bool plan_elementwise(KernelRuntimeContext& ctx, const char* op, std::initializer_list<Operand> operands,
                      Promotion promotion, Tensor& out, ComputeType* type);

/// The dtype part of plan_elementwise, for operators whose shape does not depend only on the promoted operands.
bool plan_dtype(KernelRuntimeContext& ctx, const char* op, std::initializer_list<Operand> operands, Promotion promotion,
                const Tensor& out, ComputeType* type);

/// The shape part of plan_elementwise: resizes `out` to the broadcast shape of the operands, or fails.
bool resize_to_broadcast(KernelRuntimeContext& ctx, const char* op, std::initializer_list<Operand> operands,
                         Tensor& out);

namespace internal {

struct TypedOperand {
  Operand operand;
  ComputeType type;
};

/// `loop(op, out, in, count)` computes `count` contiguous elements.
using ElementwiseLoop = void (*)(const void* op, void* out, const void* const* in, size_t count);

constexpr size_t kMaxOperands = 3;

/// The most frequent calls, which need no loop nest: each operand needs no conversion, and either has the layout of
/// `out` or is one value.
class FlatCall {
 public:
  /// Returns false if the call is not of this kind.
  bool start(const Tensor& out, ComputeType out_type, const TypedOperand* operands, size_t operand_count);

  /// Computes the elements [begin, end) in memory order.
  void run(const void* op, ElementwiseLoop loop, size_t begin, size_t end) const;

 private:
  size_t operand_count_;
  size_t step_;  // the most elements for one call of the loop
  const char* in_[kMaxOperands];
  size_t in_bytes_[kMaxOperands];  // from one element to the next in bytes; 0 for one value
  char* out_;
  size_t out_bytes_;
  alignas(16) char repeated_[kMaxOperands][kBlock * sizeof(int64_t)];
};

void run_elementwise(const void* op, ElementwiseLoop loop, const Output& output, ComputeType out_type,
                     const TypedOperand* operands, size_t operand_count);

template <typename Op, typename Out, typename... In>
struct Loop {
  template <size_t... I>
  static void run_unpacked(const Op& op, Out* out, const void* const* in, size_t count, std::index_sequence<I...>) {
    const std::tuple<const In*...> sources{static_cast<const In*>(in[I])...};
    ET_INDEPENDENT_LOOP
    for (size_t i = 0; i < count; ++i) {
      out[i] = static_cast<Out>(op(std::get<I>(sources)[i]...));
    }
  }

  static void run(const void* op, void* out, const void* const* in, size_t count) {
    const Op local = *static_cast<const Op*>(op);
    run_unpacked(local, static_cast<Out*>(out), in, count, std::index_sequence_for<In...>());
  }
};

template <typename Op, typename C>
struct BlockLoop {
  static void run(const void* op, void* out, const void* const* in, size_t count) {
    (*static_cast<const Op*>(op))(static_cast<const C*>(in[0]), static_cast<C*>(out), count);
  }
};

template <typename>
using OperandFor = Operand;

}  // namespace internal

/// out[i] = op(in0[i], in1[i], ...). Operands are converted to the result's dtype and to `In...`, and the result from
/// `Out` to its dtype and to that of `out`. The operands broadcast to the shape of `out`, and all dtypes are supported
/// (plan_elementwise has checked both).
template <typename Out, typename... In, typename Op>
void elementwise(const Op& op, const Output& out, internal::OperandFor<In>... operands) {
  const internal::TypedOperand typed[] = {{operands, compute_type_of<In>()}...};
  internal::run_elementwise(&op, internal::Loop<Op, Out, In...>::run, out, compute_type_of<Out>(), typed,
                            sizeof...(In));
}

/// The same for one operand and an operator on contiguous blocks, `op(const C* in, C* out, size_t count)`. `out` may be
/// `in`.
template <typename C, typename Op>
void elementwise_blocks(const Op& op, const Output& out, Operand in) {
  const internal::TypedOperand typed = {in, compute_type_of<C>()};
  internal::run_elementwise(&op, internal::BlockLoop<Op, C>::run, out, compute_type_of<C>(), &typed, 1);
}

/// A unary operator in the dtype of its operand. `op` is called with values of one compute type and returns one.
template <typename Op>
Tensor& promoted_unary(KernelRuntimeContext& ctx, const char* name, const Tensor& in, Tensor& out, const Op& op) {
  ComputeType type;
  if (plan_elementwise(ctx, name, {in}, Promotion::Same, out, &type)) {
    with_arithmetic_type(type, [&](auto zero) { elementwise<decltype(zero), decltype(zero)>(op, out, in); });
  }
  return out;
}

/// A unary operator on floating point; integers are converted to float32.
template <typename Op>
Tensor& floating_unary(KernelRuntimeContext& ctx, const char* name, const Tensor& in, Tensor& out, const Op& op) {
  ComputeType type;
  if (plan_elementwise(ctx, name, {in}, Promotion::IntToFloat, out, &type)) {
    with_floating_type(type, [&](auto zero) { elementwise<decltype(zero), decltype(zero)>(op, out, in); });
  }
  return out;
}

/// A binary operator in the promoted dtype of its operands. `exact_operands`: see Output.
template <typename Op>
Tensor& promoted_binary(KernelRuntimeContext& ctx, const char* name, Operand a, Operand b, Tensor& out, const Op& op,
                        unsigned exact_operands = 0) {
  ComputeType type;
  if (plan_elementwise(ctx, name, {a, b}, Promotion::Same, out, &type)) {
    with_arithmetic_type(type, [&](auto zero) {
      using C = decltype(zero);
      elementwise<C, C, C>(op, Output(out, ScalarType::Undefined, exact_operands), a, b);
    });
  }
  return out;
}

/// A binary operator on floating point; integers are converted to float32. `exact_operands`: see Output.
template <typename Op>
Tensor& floating_binary(KernelRuntimeContext& ctx, const char* name, Operand a, Operand b, Tensor& out, const Op& op,
                        unsigned exact_operands = 0) {
  ComputeType type;
  if (plan_elementwise(ctx, name, {a, b}, Promotion::IntToFloat, out, &type)) {
    with_floating_type(type, [&](auto zero) {
      using C = decltype(zero);
      elementwise<C, C, C>(op, Output(out, ScalarType::Undefined, exact_operands), a, b);
    });
  }
  return out;
}

}  // namespace torch::executor::native
