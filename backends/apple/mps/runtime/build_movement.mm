// SPDX-License-Identifier: BSD-3-Clause
// Operations that move elements, and constants.
#include <algorithm>
#include <cstring>
#include <numeric>

#include <executorch/runtime/platform/log.h>

#include "build.h"

namespace executorch {
namespace backends {
namespace mps {

namespace {

/// MPSGraph has indices of int32 everywhere, and of int64 in new systems only.
EXECUTORCH_MPS_AVAILABLE MPSGraphTensor* index_of(const Call& call, size_t operand) {
  return cast(call.graph, call.operands[operand], call.types[operand]->type, DataType::Int32);
}

EXECUTORCH_MPS_AVAILABLE MPSGraphTensor* gather(const Call& call, size_t index, int64_t dim) {
  return [call.graph gatherWithUpdatesTensor:call.operands[0]
                               indicesTensor:index_of(call, index)
                                        axis:static_cast<NSUInteger>(dim)
                             batchDimensions:0
                                        name:nil];
}

/// Returns the position of the only operand, among those from `first` on, that is given.
EXECUTORCH_MPS_AVAILABLE size_t given_from(const Call& call, size_t first) {
  while (call.operands[first] == nil) {
    ++first;
  }
  return first;
}

/// A tensor of the sizes `own`, broadcast to sizes of the same or a higher rank.
EXECUTORCH_MPS_AVAILABLE MPSGraphTensor* broadcast_to(MPSGraph* graph, MPSGraphTensor* x, const Sizes& own,
                                                      const Sizes& sizes) {
  Sizes same_rank(sizes.size() - std::min(own.size(), sizes.size()), 1);
  same_rank.insert(same_rank.end(), own.begin(), own.end());
  return [graph broadcastTensor:own.size() == sizes.size() ? x : reshape(graph, x, same_rank)
                        toShape:numbers_of(sizes)
                           name:nil];
}

EXECUTORCH_MPS_AVAILABLE MPSGraphTensor* build_index_put(const Call& call) {
  const size_t index = given_from(call, 1), values = call.operands.size() - 1;
  Sizes target = call.results[0].sizes;
  target[index - 1] = call.types[index]->sizes[0];
  MPSGraphTensor* const updates = call.types[values]->sizes == target
                                      ? call.operands[values]
                                      : broadcast_to(call.graph, call.operands[values], call.types[values]->sizes, target);
  return [call.graph scatterWithDataTensor:call.operands[0]
                             updatesTensor:updates
                             indicesTensor:index_of(call, index)
                                      axis:static_cast<NSInteger>(index - 1)
                                      mode:MPSGraphScatterModeSet
                                      name:nil];
}

/// Dimensions are exchanged in pairs, by an operation that all systems have.
EXECUTORCH_MPS_AVAILABLE MPSGraphTensor* build_permute(const Call& call) {
  const Sizes& order = call.node.lists[0];
  Sizes current(order.size());
  std::iota(current.begin(), current.end(), 0);
  MPSGraphTensor* x = call.operands[0];
  for (size_t axis = 0; axis < order.size(); ++axis) {
    const auto found = std::find(current.begin() + static_cast<ptrdiff_t>(axis), current.end(), order[axis]);
    const auto place = static_cast<size_t>(found - current.begin());
    if (place != axis) {
      x = [call.graph transposeTensor:x dimension:axis withDimension:place name:nil];
      std::swap(current[axis], current[place]);
    }
  }
  return x == call.operands[0] ? [call.graph identityWithTensor:x name:nil] : x;
}

EXECUTORCH_MPS_AVAILABLE MPSGraphTensor* build_cat(const Call& call) {
  NSMutableArray<MPSGraphTensor*>* const parts = [NSMutableArray arrayWithCapacity:call.operands.size()];
  for (size_t i = 0; i < call.operands.size(); ++i) {
    [parts addObject:cast(call.graph, call.operands[i], call.types[i]->type, call.results[0].type)];
  }
  return [call.graph concatTensors:parts dimension:static_cast<NSInteger>(call.node.integers[0]) name:nil];
}

EXECUTORCH_MPS_AVAILABLE MPSGraphTensor* part(const Call& call, int64_t dim, int64_t start, int64_t length) {
  return [call.graph sliceTensor:call.operands[0]
                       dimension:static_cast<NSUInteger>(dim)
                           start:static_cast<NSInteger>(start)
                          length:static_cast<NSInteger>(length)
                            name:nil];
}

EXECUTORCH_MPS_AVAILABLE MPSGraphTensor* build_slice(const Call& call) {
  const int64_t dim = call.node.integers[0];
  Sizes starts(call.types[0]->sizes.size(), 0), ends = call.types[0]->sizes, strides(starts.size(), 1);
  starts[dim] = call.node.integers[1];
  ends[dim] = call.node.integers[2];
  strides[dim] = call.node.integers[3];
  return [call.graph sliceTensor:call.operands[0]
                          starts:numbers_of(starts)
                            ends:numbers_of(ends)
                         strides:numbers_of(strides)
                            name:nil];
}

EXECUTORCH_MPS_AVAILABLE Tensors build_split(const Call& call) {
  Tensors parts;
  int64_t start = 0;
  for (const int64_t size : call.node.lists[0]) {
    parts.push_back(part(call, call.node.integers[0], start, size));
    start += size;
  }
  return parts;
}

EXECUTORCH_MPS_AVAILABLE MPSGraphTensor* build_padding(const Call& call) {
  const Sizes& pad = call.node.lists[0];
  Sizes before(call.results[0].sizes.size(), 0), after = before;
  for (size_t i = 0; i < pad.size(); ++i) {
    (i % 2 == 0 ? before : after)[before.size() - 1 - i / 2] = pad[i];
  }
  return [call.graph padTensor:call.operands[0]
               withPaddingMode:MPSGraphPaddingModeConstant
                   leftPadding:numbers_of(before)
                  rightPadding:numbers_of(after)
                 constantValue:call.node.floats[0]
                          name:nil];
}

/// The numbers of a range are computed here, because their count is known and float32 cannot represent all integers.
EXECUTORCH_MPS_AVAILABLE MPSGraphTensor* build_range(const Call& call) {
  const bool whole = !is_float(call.results[0].type);
  const auto count = static_cast<size_t>(call.results[0].sizes[0]);
  NSMutableData* const data = [NSMutableData dataWithLength:count * (whole ? sizeof(int64_t) : sizeof(float))];
  for (size_t i = 0; i < count; ++i) {
    const double number = call.node.floats[0] + static_cast<double>(i) * call.node.floats[2];
    if (whole) {
      static_cast<int64_t*>([data mutableBytes])[i] = static_cast<int64_t>(number);
    } else {
      static_cast<float*>([data mutableBytes])[i] = static_cast<float>(number);
    }
  }
  const DataType type = whole ? DataType::Int64 : DataType::Float32;
  MPSGraphTensor* const numbers = [call.graph constantWithData:data
                                                         shape:numbers_of(call.results[0].sizes)
                                                      dataType:data_type_of(type)];
  return cast(call.graph, numbers, type, call.results[0].type);
}

}  // namespace

Tensors build_movement(const Call& call) {
  MPSGraph* const graph = call.graph;
  const std::vector<int64_t>& numbers = call.node.integers;
  switch (call.node.type) {
    case NodeType::Full:
    case NodeType::FullLike:
      return {filled(graph, call.node.floats[0], call.results[0].type, call.results[0].sizes)};
    case NodeType::Arange:
      return {build_range(call)};
    case NodeType::Cast:
      if (call.types[0]->type == call.results[0].type) {
        return {[graph identityWithTensor:call.operands[0] name:nil]};
      }
      return {cast(graph, call.operands[0], call.types[0]->type, call.results[0].type)};
    case NodeType::IndexSelect:
      return {gather(call, 1, numbers[0])};
    case NodeType::Embedding:
      return {gather(call, 1, 0)};
    case NodeType::IndexTensor: {
      const size_t index = given_from(call, 1);
      return {gather(call, index, static_cast<int64_t>(index) - 1)};
    }
    case NodeType::IndexPut:
      return {build_index_put(call)};
    case NodeType::Scatter:
      return {[graph scatterAlongAxis:static_cast<NSInteger>(numbers[0])
                       withDataTensor:call.operands[0]
                        updatesTensor:call.operands[2]
                        indicesTensor:index_of(call, 1)
                                 mode:MPSGraphScatterModeSet
                                 name:nil]};
    case NodeType::Permute:
      return {build_permute(call)};
    case NodeType::View:
    case NodeType::Squeeze:
    case NodeType::Unsqueeze:
      return {reshape(graph, call.operands[0], call.results[0].sizes)};
    case NodeType::Expand:
      return {broadcast_to(graph, call.operands[0], call.types[0]->sizes, call.results[0].sizes)};
    case NodeType::Cat:
      return {build_cat(call)};
    case NodeType::Select:
      return {reshape(graph, part(call, numbers[0], numbers[1], 1), call.results[0].sizes)};
    case NodeType::Slice:
      return {build_slice(call)};
    case NodeType::SplitWithSizes:
      return build_split(call);
    case NodeType::ConstantPadND:
      return {build_padding(call)};
    case NodeType::PixelShuffle:
      return {[graph depthToSpace2DTensor:call.operands[0]
                                widthAxis:3
                               heightAxis:2
                                depthAxis:1
                                blockSize:static_cast<NSUInteger>(numbers[0])
                     usePixelShuffleOrder:YES
                                     name:nil]};
    default:
      return {};
  }
}

Tensors build(const Call& call) {
  for (Tensors (*const part)(const Call&) : {build_elementwise, build_algebra, build_movement}) {
    if (Tensors made = part(call); !made.empty()) {
      return made;
    }
  }
  return {};
}

Tensors too_old(const Node& node, const char* needs) {
  ET_LOG(Error, "MPS: a node (%s) needs %s", name_of(node.type), needs);
  return {};
}

MPSDataType data_type_of(DataType type) {
  switch (type) {
    case DataType::Float16:
      return MPSDataTypeFloat16;
    case DataType::Float32:
      return MPSDataTypeFloat32;
    case DataType::Int4:
      return static_cast<MPSDataType>(MPSDataTypeSignedBit | 4);  // MPSDataTypeInt4, which older headers do not have
    case DataType::Int8:
      return MPSDataTypeInt8;
    case DataType::Int16:
      return MPSDataTypeInt16;
    case DataType::Int32:
      return MPSDataTypeInt32;
    case DataType::Int64:
      return MPSDataTypeInt64;
    case DataType::UInt8:
      return MPSDataTypeUInt8;
    case DataType::Bool:
      return MPSDataTypeBool;
  }
  return MPSDataTypeInvalid;
}

NSArray<NSNumber*>* numbers_of(const Sizes& sizes) {
  NSMutableArray<NSNumber*>* const made = [NSMutableArray arrayWithCapacity:sizes.size()];
  for (const int64_t size : sizes) {
    [made addObject:[NSNumber numberWithLongLong:size]];
  }
  return made;
}

MPSGraphTensor* cast(MPSGraph* graph, MPSGraphTensor* x, DataType from, DataType to) {
  if (from == to) {
    return x;
  }
  if (to == DataType::Bool) {
    return [graph notEqualWithPrimaryTensor:x secondaryTensor:filled(graph, 0, from) name:nil];
  }
  return [graph castTensor:x toType:data_type_of(to) name:nil];
}

MPSGraphTensor* filled(MPSGraph* graph, double value, DataType type, const Sizes& sizes) {
  const bool truth = type == DataType::Bool;
  MPSGraphTensor* const made = [graph constantWithScalar:truth ? value != 0 : value
                                                   shape:numbers_of(sizes)
                                                dataType:data_type_of(truth ? DataType::Int8 : type)];
  return truth ? [graph castTensor:made toType:MPSDataTypeBool name:nil] : made;
}

MPSGraphTensor* reshape(MPSGraph* graph, MPSGraphTensor* x, const Sizes& sizes) {
  return [graph reshapeTensor:x withShape:numbers_of(sizes) name:nil];
}

}  // namespace mps
}  // namespace backends
}  // namespace executorch
