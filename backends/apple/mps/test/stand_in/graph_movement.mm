// SPDX-License-Identifier: BSD-3-Clause
// The operations of the stand-in's MPSGraph that move elements: shapes, slices, padding, indices. Without ARC.
#include "stand_in.h"

using namespace stand_in;

void stand_in::link_movement() {}

@implementation MPSGraph (MPSGraphTensorShapeOps)
- (MPSGraphTensor *)castTensor:(MPSGraphTensor *)tensor toType:(MPSDataType)type name:(NSString *)name {
  (void)name;
  return [self add:"cast" operands:{tensor} compute:[type](const Operands &x) { return stand_in::cast(*x[0], type); }];
}

- (MPSGraphTensor *)reshapeTensor:(MPSGraphTensor *)tensor withShape:(MPSShape *)shape name:(NSString *)name {
  (void)name;
  const Sizes sizes = sizes_of(shape);
  return [self add:"reshape" operands:{tensor} compute:[sizes](const Operands &x) { return stand_in::reshape(*x[0], sizes); }];
}

- (MPSGraphTensor *)transposeTensor:(MPSGraphTensor *)tensor
                          dimension:(NSUInteger)dimensionIndex
                      withDimension:(NSUInteger)dimensionIndex2
                               name:(NSString *)name {
  (void)name;
  const auto a = static_cast<long>(dimensionIndex), b = static_cast<long>(dimensionIndex2);
  return [self add:"transpose " + text_of({a, b}) operands:{tensor} compute:[a, b](const Operands &x) {
    return stand_in::transpose(*x[0], a, b);
  }];
}

- (MPSGraphTensor *)broadcastTensor:(MPSGraphTensor *)tensor toShape:(MPSShape *)shape name:(NSString *)name {
  (void)name;
  const Sizes sizes = sizes_of(shape);
  return [self add:"broadcast" operands:{tensor} compute:[sizes](const Operands &x) { return stand_in::broadcast(*x[0], sizes); }];
}

- (MPSGraphTensor *)concatTensors:(NSArray<MPSGraphTensor *> *)tensors
                        dimension:(NSInteger)dimensionIndex
                             name:(NSString *)name {
  (void)name;
  std::vector<MPSGraphTensor *> operands;
  for (MPSGraphTensor *tensor in tensors) {
    operands.push_back(tensor);
  }
  return [self add:"concat " + std::to_string(dimensionIndex) operands:operands compute:[dimensionIndex](const Operands &x) {
    return stand_in::concatenate(x, dimensionIndex);
  }];
}

- (MPSGraphTensor *)sliceTensor:(MPSGraphTensor *)tensor
                      dimension:(NSUInteger)dimensionIndex
                          start:(NSInteger)start
                         length:(NSInteger)length
                           name:(NSString *)name {
  Sizes starts([[tensor shape] count]), ends = sizes_of([tensor shape]), strides(starts.size(), 1);
  starts.at(dimensionIndex) = start;
  ends.at(dimensionIndex) = start + length;
  return [self sliceTensor:tensor starts:numbers_of(starts) ends:numbers_of(ends) strides:numbers_of(strides) name:name];
}

- (MPSGraphTensor *)sliceTensor:(MPSGraphTensor *)tensor
                         starts:(NSArray<NSNumber *> *)starts
                           ends:(NSArray<NSNumber *> *)ends
                        strides:(NSArray<NSNumber *> *)strides
                           name:(NSString *)name {
  (void)name;
  const Sizes from = sizes_of(starts), to = sizes_of(ends), by = sizes_of(strides);
  const std::string label = "slice " + text_of(from) + " to " + text_of(to) + " by " + text_of(by);
  return [self add:label operands:{tensor} compute:[from, to, by](const Operands &x) {
    return stand_in::slice(*x[0], from, to, by);
  }];
}

- (MPSGraphTensor *)padTensor:(MPSGraphTensor *)tensor
              withPaddingMode:(MPSGraphPaddingMode)paddingMode
                  leftPadding:(MPSShape *)leftPadding
                 rightPadding:(MPSShape *)rightPadding
                constantValue:(double)constantValue
                         name:(NSString *)name {
  (void)name;
  if (paddingMode != MPSGraphPaddingModeConstant) {
    [NSException raise:NSInvalidArgumentException format:@"the stand-in pads with a number"];
  }
  const Sizes before = sizes_of(leftPadding), after = sizes_of(rightPadding);
  return [self add:"pad " + text_of(before) + " and " + text_of(after)
          operands:{tensor}
           compute:[before, after, constantValue](const Operands &x) {
             return stand_in::pad(*x[0], before, after, constantValue);
           }];
}

- (MPSGraphTensor *)depthToSpace2DTensor:(MPSGraphTensor *)tensor
                               widthAxis:(NSUInteger)widthAxis
                              heightAxis:(NSUInteger)heightAxis
                               depthAxis:(NSUInteger)depthAxis
                               blockSize:(NSUInteger)blockSize
                    usePixelShuffleOrder:(BOOL)usePixelShuffleOrder
                                    name:(NSString *)name {
  (void)name;
  if (widthAxis != 3 || heightAxis != 2 || depthAxis != 1 || !usePixelShuffleOrder) {
    [NSException raise:NSInvalidArgumentException format:@"the stand-in has PyTorch's order of pixels in NCHW"];
  }
  const auto block = static_cast<long>(blockSize);
  return [self add:"depthToSpace " + std::to_string(block) operands:{tensor} compute:[block](const Operands &x) {
    return stand_in::pixel_shuffle(*x[0], block);
  }];
}

- (MPSGraphTensor *)gatherWithUpdatesTensor:(MPSGraphTensor *)updatesTensor
                              indicesTensor:(MPSGraphTensor *)indicesTensor
                                       axis:(NSUInteger)axis
                            batchDimensions:(NSUInteger)batchDimensions
                                       name:(NSString *)name {
  (void)name;
  if (batchDimensions != 0) {
    [NSException raise:NSInvalidArgumentException format:@"the stand-in has no batches of indices"];
  }
  const auto dim = static_cast<long>(axis);
  return [self add:"gather " + std::to_string(dim) operands:{updatesTensor, indicesTensor} compute:[dim](const Operands &x) {
    return stand_in::gather(*x[0], *x[1], dim);
  }];
}

- (MPSGraphTensor *)scatterWithDataTensor:(MPSGraphTensor *)dataTensor
                            updatesTensor:(MPSGraphTensor *)updatesTensor
                            indicesTensor:(MPSGraphTensor *)indicesTensor
                                     axis:(NSInteger)axis
                                     mode:(MPSGraphScatterMode)mode
                                     name:(NSString *)name {
  (void)name;
  if (mode != MPSGraphScatterModeSet) {
    [NSException raise:NSInvalidArgumentException format:@"the stand-in replaces elements"];
  }
  return [self add:"scatter " + std::to_string(axis)
          operands:{dataTensor, updatesTensor, indicesTensor}
           compute:[axis](const Operands &x) { return stand_in::scatter(*x[0], *x[1], *x[2], axis); }];
}

- (MPSGraphTensor *)scatterAlongAxis:(NSInteger)axis
                      withDataTensor:(MPSGraphTensor *)dataTensor
                       updatesTensor:(MPSGraphTensor *)updatesTensor
                       indicesTensor:(MPSGraphTensor *)indicesTensor
                                mode:(MPSGraphScatterMode)mode
                                name:(NSString *)name {
  (void)name;
  if (mode != MPSGraphScatterModeSet) {
    [NSException raise:NSInvalidArgumentException format:@"the stand-in replaces elements"];
  }
  return [self add:"scatterAlongAxis " + std::to_string(axis)
          operands:{dataTensor, updatesTensor, indicesTensor}
           compute:[axis](const Operands &x) { return stand_in::scatter_along(*x[0], *x[1], *x[2], axis); }];
}
@end
