// SPDX-License-Identifier: BSD-3-Clause
// Matrix multiplications, reductions, normalisations, convolutions and poolings.
#include "build.h"

namespace executorch {
namespace backends {
namespace mps {

namespace {

/// An operand in the dtype of the result; nil for an absent one.
EXECUTORCH_MPS_AVAILABLE MPSGraphTensor* as_result(const Call& call, size_t operand) {
  MPSGraphTensor* const x = call.operands[operand];
  return x == nil ? nil : cast(call.graph, x, call.types[operand]->type, call.results[0].type);
}

EXECUTORCH_MPS_AVAILABLE MPSGraphTensor* scaled(const Call& call, MPSGraphTensor* x, float factor) {
  if (factor == 1) {
    return x;
  }
  return [call.graph multiplicationWithPrimaryTensor:x
                                     secondaryTensor:filled(call.graph, factor, call.results[0].type)
                                                name:nil];
}

EXECUTORCH_MPS_AVAILABLE MPSGraphTensor* build_addmm(const Call& call) {
  MPSGraphTensor* const product = [call.graph matrixMultiplicationWithPrimaryTensor:as_result(call, 1)
                                                                    secondaryTensor:as_result(call, 2)
                                                                               name:nil];
  return [call.graph additionWithPrimaryTensor:scaled(call, as_result(call, 0), call.node.floats[0])
                               secondaryTensor:scaled(call, product, call.node.floats[1])
                                          name:nil];
}

EXECUTORCH_MPS_AVAILABLE MPSGraphTensor* build_mean(const Call& call) {
  if (call.node.lists[0].empty()) {
    return [call.graph identityWithTensor:call.operands[0] name:nil];
  }
  MPSGraphTensor* const mean = [call.graph meanOfTensor:call.operands[0] axes:numbers_of(call.node.lists[0]) name:nil];
  return call.node.integers[1] != 0 ? mean : reshape(call.graph, mean, call.results[0].sizes);
}

/// Normalises with statistics and weights whose sizes are `sizes`, which broadcast.
EXECUTORCH_MPS_AVAILABLE MPSGraphTensor* normalize(const Call& call, MPSGraphTensor* mean, MPSGraphTensor* variance,
                                                   size_t weight, const Sizes& sizes, float epsilon) {
  MPSGraphTensor* gamma = as_result(call, weight);
  MPSGraphTensor* beta = as_result(call, weight + 1);
  gamma = gamma == nil ? nil : reshape(call.graph, gamma, sizes);
  beta = beta == nil ? nil : reshape(call.graph, beta, sizes);
  return [call.graph normalizationWithTensor:call.operands[0]
                                  meanTensor:mean
                              varianceTensor:variance
                                 gammaTensor:gamma
                                  betaTensor:beta
                                     epsilon:epsilon
                                        name:nil];
}

EXECUTORCH_MPS_AVAILABLE MPSGraphTensor* build_batch_norm(const Call& call) {
  Sizes sizes(call.types[0]->sizes.size(), 1);
  sizes[1] = call.types[0]->sizes[1];
  MPSGraphTensor* const mean = reshape(call.graph, as_result(call, 1), sizes);
  MPSGraphTensor* const variance = reshape(call.graph, as_result(call, 2), sizes);
  return normalize(call, mean, variance, 3, sizes, call.node.floats[1]);  // floats[0] is the momentum
}

EXECUTORCH_MPS_AVAILABLE MPSGraphTensor* build_layer_norm(const Call& call) {
  const Sizes& last = call.node.lists[0];
  const size_t rank = call.types[0]->sizes.size();
  Sizes axes, sizes(rank, 1);
  for (size_t i = 0; i < last.size(); ++i) {
    const size_t axis = rank - last.size() + i;
    axes.push_back(static_cast<int64_t>(axis));
    sizes[axis] = last[i];
  }
  MPSGraphTensor* const mean = [call.graph meanOfTensor:call.operands[0] axes:numbers_of(axes) name:nil];
  MPSGraphTensor* const variance = [call.graph varianceOfTensor:call.operands[0] axes:numbers_of(axes) name:nil];
  return normalize(call, mean, variance, 1, sizes, call.node.floats[0]);
}

/// A convolution over one spatial dimension is computed over two, with the height 1.
Sizes with_height(const Sizes& sizes) {
  return sizes.size() == 4 ? sizes : Sizes{sizes[0], sizes[1], 1, sizes[2]};
}

/// Adds a depthwise convolution with one output per channel. MPSGraph's depthwise convolution over three spatial
/// dimensions treats the channels as one of these dimensions, and expects weights whose first two dimensions are
/// exchanged.
EXECUTORCH_MPS_AVAILABLE MPSGraphTensor* depthwise(MPSGraph* graph, MPSGraphTensor* x, MPSGraphTensor* weight,
                                                   const Window& w) {
  MPSGraphDepthwiseConvolution3DOpDescriptor* const descriptor =
      [MPSGraphDepthwiseConvolution3DOpDescriptor descriptorWithPaddingStyle:MPSGraphPaddingStyleExplicit];
  [descriptor setStrides:numbers_of({1, w.stride_y, w.stride_x})];
  [descriptor setDilationRates:numbers_of({1, w.dilation_y, w.dilation_x})];
  [descriptor setPaddingValues:numbers_of({0, 0, w.top, w.bottom, w.left, w.right})];
  [descriptor setChannelDimensionIndex:-3];
  return [graph depthwiseConvolution3DWithSourceTensor:x
                                         weightsTensor:[graph transposeTensor:weight dimension:-3 withDimension:-4 name:nil]
                                            descriptor:descriptor
                                                  name:nil];
}

EXECUTORCH_MPS_AVAILABLE MPSGraphTensor* build_convolution(const Call& call) {
  MPSGraph* const graph = call.graph;
  const Sizes weight_sizes = with_height(call.types[1]->sizes);
  const Window w = Window::of_convolution(call.node, call.types[1]->sizes);
  MPSGraphTensor* const x = reshape(graph, as_result(call, 0), with_height(call.types[0]->sizes));
  MPSGraphTensor* const weight = reshape(graph, as_result(call, 1), weight_sizes);
  MPSGraphTensor* y = nil;
  if (call.node.type == NodeType::DepthwiseConv2D && weight_sizes[1] == 1 && weight_sizes[0] == w.groups) {
    y = depthwise(graph, x, weight, w);
  } else {
    MPSGraphConvolution2DOpDescriptor* const descriptor = [MPSGraphConvolution2DOpDescriptor
        descriptorWithStrideInX:static_cast<NSUInteger>(w.stride_x)
                      strideInY:static_cast<NSUInteger>(w.stride_y)
                dilationRateInX:static_cast<NSUInteger>(w.dilation_x)
                dilationRateInY:static_cast<NSUInteger>(w.dilation_y)
                         groups:static_cast<NSUInteger>(w.groups)
                    paddingLeft:static_cast<NSUInteger>(w.left)
                   paddingRight:static_cast<NSUInteger>(w.right)
                     paddingTop:static_cast<NSUInteger>(w.top)
                  paddingBottom:static_cast<NSUInteger>(w.bottom)
                   paddingStyle:MPSGraphPaddingStyleExplicit
                     dataLayout:MPSGraphTensorNamedDataLayoutNCHW
                  weightsLayout:MPSGraphTensorNamedDataLayoutOIHW];
    y = [graph convolution2DWithSourceTensor:x weightsTensor:weight descriptor:descriptor name:nil];
  }
  if (MPSGraphTensor* const bias = as_result(call, 2); bias != nil) {
    y = [graph additionWithPrimaryTensor:y secondaryTensor:reshape(graph, bias, {1, weight_sizes[0], 1, 1}) name:nil];
  }
  return call.results[0].sizes.size() == 4 ? y : reshape(graph, y, call.results[0].sizes);
}

EXECUTORCH_MPS_AVAILABLE MPSGraphPooling2DOpDescriptor* pooling_of(const Window& w) {
  MPSGraphPooling2DOpDescriptor* const descriptor =
      [MPSGraphPooling2DOpDescriptor descriptorWithKernelWidth:static_cast<NSUInteger>(w.kernel_x)
                                                  kernelHeight:static_cast<NSUInteger>(w.kernel_y)
                                                     strideInX:static_cast<NSUInteger>(w.stride_x)
                                                     strideInY:static_cast<NSUInteger>(w.stride_y)
                                               dilationRateInX:static_cast<NSUInteger>(w.dilation_x)
                                               dilationRateInY:static_cast<NSUInteger>(w.dilation_y)
                                                   paddingLeft:static_cast<NSUInteger>(w.left)
                                                  paddingRight:static_cast<NSUInteger>(w.right)
                                                    paddingTop:static_cast<NSUInteger>(w.top)
                                                 paddingBottom:static_cast<NSUInteger>(w.bottom)
                                                  paddingStyle:MPSGraphPaddingStyleExplicit
                                                    dataLayout:MPSGraphTensorNamedDataLayoutNCHW];
  [descriptor setCeilMode:w.ceil_mode];
  return descriptor;
}

/// Maxima, and their indices in a plane, which are int32 in MPSGraph.
EXECUTORCH_MPS_AVAILABLE Tensors build_max_pool(const Call& call) {
  MPSGraphPooling2DOpDescriptor* const descriptor = pooling_of(Window::of_pooling(call.node));
  [descriptor setReturnIndicesMode:MPSGraphPoolingReturnIndicesGlobalFlatten2D];
  [descriptor setReturnIndicesDataType:MPSDataTypeInt32];
  NSArray<MPSGraphTensor*>* const both = [call.graph maxPooling2DReturnIndicesWithSourceTensor:call.operands[0]
                                                                                    descriptor:descriptor
                                                                                          name:nil];
  return {[both objectAtIndex:0], cast(call.graph, [both objectAtIndex:1], DataType::Int32, call.results[1].type)};
}

/// If a divisor is given, the average over whole windows is rescaled.
EXECUTORCH_MPS_AVAILABLE MPSGraphTensor* build_average_pool(const Call& call) {
  const Window w = Window::of_pooling(call.node);
  MPSGraphPooling2DOpDescriptor* const descriptor = pooling_of(w);
  [descriptor setIncludeZeroPadToAverage:w.count_include_pad || w.divisor_override != 0];
  MPSGraphTensor* const average = [call.graph avgPooling2DWithSourceTensor:call.operands[0] descriptor:descriptor name:nil];
  const auto area = static_cast<float>(w.kernel_y * w.kernel_x);
  return w.divisor_override == 0 ? average : scaled(call, average, area / static_cast<float>(w.divisor_override));
}

EXECUTORCH_MPS_AVAILABLE Tensors build_dequantize(const Call& call) {
  if (@available(macOS 15.0, iOS 18.0, tvOS 18.0, *)) {
    MPSGraphTensor* const zero = [call.graph constantWithScalar:0 dataType:MPSDataTypeInt4];
    return {[call.graph dequantizeTensor:call.operands[0]
                             scaleTensor:call.operands[1]
                         zeroPointTensor:zero
                                dataType:MPSDataTypeFloat16
                                    name:nil]};
  }
  return too_old(call.node, "iOS 18 or macOS 15");
}

}  // namespace

Tensors build_algebra(const Call& call) {
  switch (call.node.type) {
    case NodeType::MatMul:
      return {[call.graph matrixMultiplicationWithPrimaryTensor:as_result(call, 0)
                                                secondaryTensor:as_result(call, 1)
                                                           name:nil]};
    case NodeType::Addmm:
      return {build_addmm(call)};
    case NodeType::Mean:
      return {build_mean(call)};
    case NodeType::BatchNorm:
      return {build_batch_norm(call)};
    case NodeType::LayerNorm:
      return {build_layer_norm(call)};
    case NodeType::Conv2D:
    case NodeType::DepthwiseConv2D:
      return {build_convolution(call)};
    case NodeType::MaxPool2DWithIndices:
      return build_max_pool(call);
    case NodeType::AvgPool2D:
      return {build_average_pool(call)};
    case NodeType::DequantizePerChannelGroup:
      return build_dequantize(call);
    default:
      return {};
  }
}

}  // namespace mps
}  // namespace backends
}  // namespace executorch
