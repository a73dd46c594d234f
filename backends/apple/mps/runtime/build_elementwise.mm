// SPDX-License-Identifier: BSD-3-Clause
// Functions of single elements.
#include <cmath>
#include <string>

#include "build.h"

namespace executorch {
namespace backends {
namespace mps {

namespace {

EXECUTORCH_MPS_AVAILABLE MPSGraphTensor* multiply(MPSGraph* graph, MPSGraphTensor* a, MPSGraphTensor* b) {
  return [graph multiplicationWithPrimaryTensor:a secondaryTensor:b name:nil];
}

EXECUTORCH_MPS_AVAILABLE MPSGraphTensor* add(MPSGraph* graph, MPSGraphTensor* a, MPSGraphTensor* b) {
  return [graph additionWithPrimaryTensor:a secondaryTensor:b name:nil];
}

/// The elementwise minimum of two tensors; NaN where either is NaN.
EXECUTORCH_MPS_AVAILABLE MPSGraphTensor* minimum(MPSGraph* graph, MPSGraphTensor* a, MPSGraphTensor* b, DataType type) {
  return is_float(type) ? [graph minimumWithNaNPropagationWithPrimaryTensor:a secondaryTensor:b name:nil]
                        : [graph minimumWithPrimaryTensor:a secondaryTensor:b name:nil];
}

EXECUTORCH_MPS_AVAILABLE MPSGraphTensor* maximum(MPSGraph* graph, MPSGraphTensor* a, MPSGraphTensor* b, DataType type) {
  return is_float(type) ? [graph maximumWithNaNPropagationWithPrimaryTensor:a secondaryTensor:b name:nil]
                        : [graph maximumWithPrimaryTensor:a secondaryTensor:b name:nil];
}

/// Clamps to two bounds, which may be infinite. If they cross, the upper bound is the result, as in PyTorch; MPSGraph
/// does not document this for its clamp.
EXECUTORCH_MPS_AVAILABLE MPSGraphTensor* clamp(const Call& call, double low, double high) {
  const DataType type = call.types[0]->type;
  MPSGraphTensor* x = call.operands[0];
  if (!std::isinf(low)) {
    x = maximum(call.graph, x, filled(call.graph, low, type), type);
  }
  if (!std::isinf(high)) {
    x = minimum(call.graph, x, filled(call.graph, high, type), type);
  }
  return x == call.operands[0] ? [call.graph identityWithTensor:x name:nil] : x;
}

/// x / 2 * (1 + erf(x / sqrt(2))), or with tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)) for erf.
EXECUTORCH_MPS_AVAILABLE MPSGraphTensor* gelu(const Call& call) {
  MPSGraph* const graph = call.graph;
  MPSGraphTensor* const x = call.operands[0];
  const DataType type = call.types[0]->type;
  const auto number = [&](double value) { return filled(graph, value, type); };
  MPSGraphTensor* inner = nil;
  if (call.node.text == "tanh") {
    MPSGraphTensor* const cube = multiply(graph, multiply(graph, x, x), x);
    inner = add(graph, x, multiply(graph, cube, number(0.044715)));
    inner = [graph tanhWithTensor:multiply(graph, inner, number(std::sqrt(2 / M_PI))) name:nil];
  } else {
    inner = [graph erfWithTensor:multiply(graph, x, number(std::sqrt(0.5))) name:nil];
  }
  return multiply(graph, multiply(graph, x, number(0.5)), add(graph, inner, number(1)));
}

/// x - max - log(sum(exp(x - max))).
EXECUTORCH_MPS_AVAILABLE MPSGraphTensor* log_softmax(const Call& call) {
  MPSGraph* const graph = call.graph;
  const auto axis = static_cast<NSInteger>(call.node.integers[0]);
  MPSGraphTensor* const most = [graph reductionMaximumWithTensor:call.operands[0] axis:axis name:nil];
  MPSGraphTensor* const moved = [graph subtractionWithPrimaryTensor:call.operands[0] secondaryTensor:most name:nil];
  MPSGraphTensor* const sum = [graph reductionSumWithTensor:[graph exponentWithTensor:moved name:nil] axis:axis name:nil];
  return [graph subtractionWithPrimaryTensor:moved secondaryTensor:[graph logarithmWithTensor:sum name:nil] name:nil];
}

/// Rounds towards zero, by operations that old systems have, too.
EXECUTORCH_MPS_AVAILABLE MPSGraphTensor* truncate(MPSGraph* graph, MPSGraphTensor* x, DataType type) {
  MPSGraphTensor* const negative = [graph lessThanWithPrimaryTensor:x secondaryTensor:filled(graph, 0, type) name:nil];
  return [graph selectWithPredicateTensor:negative
                      truePredicateTensor:[graph ceilWithTensor:x name:nil]
                     falsePredicateTensor:[graph floorWithTensor:x name:nil]
                                     name:nil];
}

/// A quotient, rounded down or towards zero if the node says so, or the remainder. Integers are divided in float32.
EXECUTORCH_MPS_AVAILABLE MPSGraphTensor* divide(const Call& call, MPSGraphTensor* a, MPSGraphTensor* b, DataType type) {
  MPSGraph* const graph = call.graph;
  const DataType inside = is_float(type) ? type : DataType::Float32;
  a = cast(graph, a, type, inside);
  b = cast(graph, b, type, inside);
  MPSGraphTensor* quotient = [graph divisionWithPrimaryTensor:a secondaryTensor:b name:nil];
  const bool remains = call.node.type != NodeType::Div;
  if (call.node.type == NodeType::Fmod || call.node.text == "trunc") {
    quotient = truncate(graph, quotient, inside);
  } else if (call.node.type == NodeType::Remainder || call.node.text == "floor") {
    quotient = [graph floorWithTensor:quotient name:nil];
  }
  if (remains) {
    quotient = [graph subtractionWithPrimaryTensor:a secondaryTensor:multiply(graph, quotient, b) name:nil];
  }
  return cast(graph, quotient, inside, call.results[0].type);
}

#define EXECUTORCH_MPS_UNARY(type, method) \
  case NodeType::type: \
    return {[graph method:x name:nil]};

EXECUTORCH_MPS_AVAILABLE Tensors build_unary(const Call& call) {
  MPSGraph* const graph = call.graph;
  MPSGraphTensor* x = call.operands[0];
  const DataType type = call.types[0]->type;
  switch (call.node.type) {
    case NodeType::Neg:
    case NodeType::Abs:
    case NodeType::Sign:
    case NodeType::BitwiseNot:
    case NodeType::LogicalNot:
    case NodeType::Clamp:
      break;
    case NodeType::Floor:
    case NodeType::Ceil:
    case NodeType::Round:
      if (!is_float(type)) {
        return {[graph identityWithTensor:x name:nil]};
      }
      break;
    default:
      if (!is_float(type)) {
        x = cast(graph, x, type, DataType::Float32);
      }
  }
  switch (call.node.type) {
    EXECUTORCH_MPS_UNARY(Exp, exponentWithTensor)
    EXECUTORCH_MPS_UNARY(Exp2, exponentBase2WithTensor)
    EXECUTORCH_MPS_UNARY(Reciprocal, reciprocalWithTensor)
    EXECUTORCH_MPS_UNARY(Sqrt, squareRootWithTensor)
    EXECUTORCH_MPS_UNARY(Neg, negativeWithTensor)
    EXECUTORCH_MPS_UNARY(Log, logarithmWithTensor)
    EXECUTORCH_MPS_UNARY(Log10, logarithmBase10WithTensor)
    EXECUTORCH_MPS_UNARY(Log2, logarithmBase2WithTensor)
    EXECUTORCH_MPS_UNARY(Erf, erfWithTensor)
    EXECUTORCH_MPS_UNARY(Floor, floorWithTensor)
    EXECUTORCH_MPS_UNARY(Ceil, ceilWithTensor)
    EXECUTORCH_MPS_UNARY(Sigmoid, sigmoidWithTensor)
    EXECUTORCH_MPS_UNARY(Sin, sinWithTensor)
    EXECUTORCH_MPS_UNARY(Sign, signWithTensor)
    EXECUTORCH_MPS_UNARY(Cos, cosWithTensor)
    EXECUTORCH_MPS_UNARY(Tan, tanWithTensor)
    EXECUTORCH_MPS_UNARY(Abs, absoluteWithTensor)
    EXECUTORCH_MPS_UNARY(Asin, asinWithTensor)
    EXECUTORCH_MPS_UNARY(Acos, acosWithTensor)
    EXECUTORCH_MPS_UNARY(Atan, atanWithTensor)
    EXECUTORCH_MPS_UNARY(Sinh, sinhWithTensor)
    EXECUTORCH_MPS_UNARY(Cosh, coshWithTensor)
    EXECUTORCH_MPS_UNARY(Tanh, tanhWithTensor)
    EXECUTORCH_MPS_UNARY(Asinh, asinhWithTensor)
    EXECUTORCH_MPS_UNARY(Acosh, acoshWithTensor)
    EXECUTORCH_MPS_UNARY(Atanh, atanhWithTensor)
    EXECUTORCH_MPS_UNARY(Isnan, isNaNWithTensor)
    EXECUTORCH_MPS_UNARY(Isinf, isInfiniteWithTensor)
    EXECUTORCH_MPS_UNARY(Round, rintWithTensor)  // to even, as PyTorch
    EXECUTORCH_MPS_UNARY(ReLU, reLUWithTensor)
    case NodeType::Rsqrt:
      return {[graph reciprocalWithTensor:[graph squareRootWithTensor:x name:nil] name:nil]};
    case NodeType::LogicalNot:
      return {[graph notWithTensor:cast(graph, x, type, DataType::Bool) name:nil]};
    case NodeType::BitwiseNot:
      if (type == DataType::Bool) {
        return {[graph notWithTensor:x name:nil]};
      }
      if (@available(macOS 13.0, iOS 16.1, tvOS 16.1, *)) {
        return {[graph bitwiseNOTWithTensor:x name:nil]};
      }
      return too_old(call.node, "iOS 16.1 or macOS 13");
    case NodeType::HardTanh:
      return {clamp(call, call.node.floats[0], call.node.floats[1])};
    case NodeType::Clamp:
      return {clamp(call, call.node.low, call.node.high)};
    case NodeType::LeakyReLU:
      return {[graph leakyReLUWithTensor:x alpha:call.node.floats[0] name:nil]};
    case NodeType::GELU:
      return {gelu(call)};
    case NodeType::Softmax:
      return {[graph softMaxWithTensor:x axis:static_cast<NSInteger>(call.node.integers[0]) name:nil]};
    case NodeType::LogSoftmax:
      return {log_softmax(call)};
    default:
      return {};
  }
}

#undef EXECUTORCH_MPS_UNARY
#define EXECUTORCH_MPS_BINARY(type, method) \
  case NodeType::type: \
    return {[graph method##WithPrimaryTensor:a secondaryTensor:b name:nil]};
#define EXECUTORCH_MPS_BITS(type, operation) \
  case NodeType::type: \
    if (common == DataType::Bool) { \
      return {[graph logical##operation##WithPrimaryTensor:a secondaryTensor:b name:nil]}; \
    } \
    if (@available(macOS 13.0, iOS 16.1, tvOS 16.1, *)) { \
      return {[graph bitwise##operation##WithPrimaryTensor:a secondaryTensor:b name:nil]}; \
    } \
    return too_old(call.node, "iOS 16.1 or macOS 13");

EXECUTORCH_MPS_AVAILABLE Tensors build_binary(const Call& call) {
  MPSGraph* const graph = call.graph;
  const DataType common = promote(call.types[0]->type, call.types[1]->type);
  MPSGraphTensor* const a = cast(graph, call.operands[0], call.types[0]->type, common);
  MPSGraphTensor* b = cast(graph, call.operands[1], call.types[1]->type, common);
  switch (call.node.type) {
    case NodeType::Add:
    case NodeType::Sub:
      if (call.node.floats[0] != 1) {
        b = multiply(graph, b, filled(graph, call.node.floats[0], common));
      }
      return {call.node.type == NodeType::Add
                  ? add(graph, a, b)
                  : [graph subtractionWithPrimaryTensor:a secondaryTensor:b name:nil]};
    case NodeType::Div:
    case NodeType::Fmod:
    case NodeType::Remainder:
      return {divide(call, a, b, common)};
    case NodeType::Min:
    case NodeType::Minimum:
      return {minimum(graph, a, b, common)};
    case NodeType::Max:
      return {maximum(graph, a, b, common)};
    EXECUTORCH_MPS_BINARY(Mul, multiplication)
    EXECUTORCH_MPS_BINARY(Pow, power)
    EXECUTORCH_MPS_BINARY(Atan2, atan2)
    EXECUTORCH_MPS_BINARY(Eq, equal)
    EXECUTORCH_MPS_BINARY(Ne, notEqual)
    EXECUTORCH_MPS_BINARY(Ge, greaterThanOrEqualTo)
    EXECUTORCH_MPS_BINARY(Gt, greaterThan)
    EXECUTORCH_MPS_BINARY(Le, lessThanOrEqualTo)
    EXECUTORCH_MPS_BINARY(Lt, lessThan)
    EXECUTORCH_MPS_BITS(BitwiseAnd, AND)
    EXECUTORCH_MPS_BITS(BitwiseOr, OR)
    EXECUTORCH_MPS_BITS(BitwiseXor, XOR)
    default:
      return {};
  }
}

#undef EXECUTORCH_MPS_BINARY
#undef EXECUTORCH_MPS_BITS

}  // namespace

Tensors build_elementwise(const Call& call) {
  const std::string form = form_of(call.node.type);
  if (call.node.type == NodeType::MatMul || call.node.type == NodeType::Embedding) {
    return {};
  }
  if (call.node.type == NodeType::Where) {
    const DataType type = call.results[0].type;
    return {[call.graph selectWithPredicateTensor:call.operands[0]
                              truePredicateTensor:cast(call.graph, call.operands[1], call.types[1]->type, type)
                             falsePredicateTensor:cast(call.graph, call.operands[2], call.types[2]->type, type)
                                             name:nil]};
  }
  return form.compare(0, 3, "oor") == 0 ? build_binary(call) : call.operands.size() == 1 ? build_unary(call) : Tensors();
}

}  // namespace mps
}  // namespace backends
}  // namespace executorch
