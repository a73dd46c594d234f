// SPDX-License-Identifier: BSD-3-Clause
// The types of nodes in payloads for MPS, in the order of the format's union, and the fields of each.
#pragma once

#include <cstdint>

namespace executorch {
namespace backends {
namespace mps {

/**
 * X(name, form). The form has a letter for each field, in the order of the flatbuffer's table:
 *
 *   o  id of an operand             O  the same, -1 if it is absent    u  id of an operand that is not used
 *   r  id of a result               q  id of a result that is not used
 *   L  ids of operands              P  the same, -1 where absent       R  ids of results
 *   i  int32                        l  int64                           b  bool
 *   d  dtype (int16)                f  float32                         v  list of int32
 *   s  string
 *
 * python/sdk/backends/apple/mps/serialization/tables.py names the fields.
 */
#define EXECUTORCH_MPS_NODES(X)               \
  X(HardTanh, "orff")                         \
  X(ReLU, "our")                              \
  X(GELU, "ors")                              \
  X(LeakyReLU, "orf")                         \
  X(Softmax, "orib")                          \
  X(LogSoftmax, "orib")                       \
  X(Add, "oorf")                              \
  X(Sub, "oorf")                              \
  X(Mul, "oor")                               \
  X(Div, "oors")                              \
  X(Fmod, "oors")                             \
  X(Remainder, "oors")                        \
  X(Min, "oor")                               \
  X(Max, "oor")                               \
  X(Pow, "oor")                               \
  X(Atan2, "oor")                             \
  X(BitwiseAnd, "oor")                        \
  X(BitwiseOr, "oor")                         \
  X(BitwiseXor, "oor")                        \
  X(Minimum, "oor")                           \
  X(Exp, "or")                                \
  X(Exp2, "or")                               \
  X(Reciprocal, "or")                         \
  X(Sqrt, "or")                               \
  X(Neg, "or")                                \
  X(Log, "or")                                \
  X(Log10, "or")                              \
  X(Log2, "or")                               \
  X(Erf, "or")                                \
  X(Floor, "or")                              \
  X(Ceil, "or")                               \
  X(Rsqrt, "or")                              \
  X(Sigmoid, "or")                            \
  X(Sin, "or")                                \
  X(Sign, "or")                               \
  X(Cos, "or")                                \
  X(Tan, "or")                                \
  X(Abs, "or")                                \
  X(Asin, "or")                               \
  X(Acos, "or")                               \
  X(Atan, "or")                               \
  X(Sinh, "or")                               \
  X(Cosh, "or")                               \
  X(Tanh, "or")                               \
  X(Asinh, "or")                              \
  X(Acosh, "or")                              \
  X(Atanh, "or")                              \
  X(BitwiseNot, "or")                         \
  X(Isnan, "or")                              \
  X(Isinf, "or")                              \
  X(Round, "or")                              \
  X(LogicalNot, "or")                         \
  X(MatMul, "oor")                            \
  X(Addmm, "ooorff")                          \
  X(Full, "urvfd")                            \
  X(FullLike, "orvfd")                        \
  X(Clamp, "or")                              \
  X(Where, "ooor")                            \
  X(IndexSelect, "orio")                      \
  X(Embedding, "ooribb")                      \
  X(IndexTensor, "oPr")                       \
  X(IndexPut, "oPvor")                        \
  X(Scatter, "orloo")                         \
  X(Mean, "orivb")                            \
  X(Permute, "oriv")                          \
  X(View, "oriv")                             \
  X(Expand, "oriv")                           \
  X(Cat, "Lri")                               \
  X(Squeeze, "orv")                           \
  X(Unsqueeze, "ori")                         \
  X(Select, "orii")                           \
  X(Slice, "orllll")                          \
  X(PixelShuffle, "ori")                      \
  X(SplitWithSizes, "oRvi")                   \
  X(Cast, "ord")                              \
  X(Conv2D, "ooOriiiiiiiii")                  \
  X(DepthwiseConv2D, "ooOriiiiiiiii")         \
  X(Eq, "oor")                                \
  X(Ne, "oor")                                \
  X(Ge, "oor")                                \
  X(Gt, "oor")                                \
  X(Le, "oor")                                \
  X(Lt, "oor")                                \
  X(BatchNorm, "oooOOffqrq")                  \
  X(LayerNorm, "ovOOfqrq")                    \
  X(MaxPool2DWithIndices, "oiiiiiiiiiibbirr") \
  X(AvgPool2D, "oiiiiiiiiiibbirq")            \
  X(ConstantPadND, "orvf")                    \
  X(Arange, "rfffd")                          \
  X(DequantizePerChannelGroup, "oroOiidid")

#define EXECUTORCH_MPS_NODE_NAME(name, form) name,
enum class NodeType : uint8_t { None, EXECUTORCH_MPS_NODES(EXECUTORCH_MPS_NODE_NAME) Count };
#undef EXECUTORCH_MPS_NODE_NAME

/// The name in the format, such as "MPSAdd".
const char* name_of(NodeType type);

/// The letters of a type's fields; empty for None.
const char* form_of(NodeType type);

}  // namespace mps
}  // namespace backends
}  // namespace executorch
