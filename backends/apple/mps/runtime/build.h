// SPDX-License-Identifier: BSD-3-Clause
// Nodes of a payload as calls of MPSGraph. Objective-C++.
#pragma once

#import <MetalPerformanceShadersGraph/MetalPerformanceShadersGraph.h>

#include <vector>

#include "infer.h"

// The classes and methods below are used where is_mps_available() is true.
#define EXECUTORCH_MPS_AVAILABLE                                                               \
  __attribute__((availability(macos, introduced = 12.4), availability(ios, introduced = 15.4), \
                 availability(tvos, introduced = 15.4)))

namespace executorch {
namespace backends {
namespace mps {

/// A node with its operands, whose dtypes and sizes were checked by infer().
struct EXECUTORCH_MPS_AVAILABLE Call {
  MPSGraph *graph;
  const Node &node;
  const std::vector<MPSGraphTensor *> &operands;  ///< nil for an absent one
  const OperandTypes &types;
  const std::vector<Type> &results;
};

typedef std::vector<MPSGraphTensor *> Tensors EXECUTORCH_MPS_AVAILABLE;

/// The results of a node: one for each of `call.results`. Empty (logged) if the system is too old for it.
EXECUTORCH_MPS_AVAILABLE Tensors build(const Call &call);

/// The parts of build(). Empty without a message if a node is of another part.
EXECUTORCH_MPS_AVAILABLE Tensors build_elementwise(const Call &call);
EXECUTORCH_MPS_AVAILABLE Tensors build_algebra(const Call &call);
EXECUTORCH_MPS_AVAILABLE Tensors build_movement(const Call &call);

/// Logs that a node needs a newer system; an empty result.
EXECUTORCH_MPS_AVAILABLE Tensors too_old(const Node &node, const char *needs);

MPSDataType data_type_of(DataType type);
NSArray<NSNumber *> *numbers_of(const Sizes &sizes);

/// The tensor in dtype `to`; the tensor itself if the dtypes are equal. As bool, every number except zero is true.
EXECUTORCH_MPS_AVAILABLE MPSGraphTensor *cast(MPSGraph *graph, MPSGraphTensor *x, DataType from, DataType to);

/// A constant whose elements all have the same value.
EXECUTORCH_MPS_AVAILABLE MPSGraphTensor *filled(MPSGraph *graph, double value, DataType type, const Sizes &sizes = {1});

/// The tensor in another shape with the same number of elements.
EXECUTORCH_MPS_AVAILABLE MPSGraphTensor *reshape(MPSGraph *graph, MPSGraphTensor *x, const Sizes &sizes);

}  // namespace mps
}  // namespace backends
}  // namespace executorch
