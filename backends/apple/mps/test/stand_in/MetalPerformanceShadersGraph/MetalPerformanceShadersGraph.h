// SPDX-License-Identifier: BSD-3-Clause
// The part of Apple's MetalPerformanceShadersGraph.framework that the delegate uses, for tests on systems without it.
// The declarations follow Apple's public reference
// (https://developer.apple.com/documentation/metalperformanceshadersgraph). The instance variables are ours: GCC's
// runtime of Objective-C needs them in the interface.
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

#define STAND_IN_SINCE(mac, phone) \
  __attribute__((availability(macos, introduced = mac), availability(ios, introduced = phone)))

typedef NS_ENUM(uint32_t, MPSDataType) {
  MPSDataTypeInvalid = 0,
  MPSDataTypeFloatBit = 0x10000000,
  MPSDataTypeFloat32 = MPSDataTypeFloatBit | 32,
  MPSDataTypeFloat16 = MPSDataTypeFloatBit | 16,
  MPSDataTypeSignedBit = 0x20000000,
  MPSDataTypeInt4 = MPSDataTypeSignedBit | 4,
  MPSDataTypeInt8 = MPSDataTypeSignedBit | 8,
  MPSDataTypeInt16 = MPSDataTypeSignedBit | 16,
  MPSDataTypeInt32 = MPSDataTypeSignedBit | 32,
  MPSDataTypeInt64 = MPSDataTypeSignedBit | 64,
  MPSDataTypeUInt8 = 8,
  MPSDataTypeAlternateEncodingBit = 0x80000000,
  MPSDataTypeBool = MPSDataTypeAlternateEncodingBit | 8,
};

typedef NSArray<NSNumber *> MPSShape;

typedef NS_ENUM(NSUInteger, MPSGraphPaddingStyle) { MPSGraphPaddingStyleExplicit = 0 };
typedef NS_ENUM(NSInteger, MPSGraphPaddingMode) { MPSGraphPaddingModeConstant = 0 };
typedef NS_ENUM(NSInteger, MPSGraphScatterMode) { MPSGraphScatterModeSet = 6 };
typedef NS_ENUM(NSUInteger, MPSGraphTensorNamedDataLayout) {
  MPSGraphTensorNamedDataLayoutNCHW = 0,
  MPSGraphTensorNamedDataLayoutNHWC = 1,
  MPSGraphTensorNamedDataLayoutOIHW = 2,
};
typedef NS_ENUM(NSUInteger, MPSGraphPoolingReturnIndicesMode) {
  MPSGraphPoolingReturnIndicesNone = 0,
  MPSGraphPoolingReturnIndicesGlobalFlatten2D = 2,
};

STAND_IN_SINCE(11.0, 14.0)
@interface MPSGraphTensor : NSObject <NSCopying> {
  NSUInteger _number;
  MPSShape *_shape;
  MPSDataType _dataType;
}
@property(readonly) MPSShape *shape;
@property(readonly) MPSDataType dataType;
@end

STAND_IN_SINCE(11.0, 14.0)
@interface MPSGraphShapedType : NSObject {
  MPSShape *_shape;
  MPSDataType _dataType;
}
- (instancetype)initWithShape:(MPSShape *)shape dataType:(MPSDataType)dataType;
@end

STAND_IN_SINCE(11.0, 14.0)
@interface MPSGraphTensorData : NSObject {
  id<MTLBuffer> _buffer;
  MPSShape *_shape;
  MPSDataType _dataType;
}
- (instancetype)initWithMTLBuffer:(id<MTLBuffer>)buffer shape:(MPSShape *)shape dataType:(MPSDataType)dataType;
@end

STAND_IN_SINCE(11.0, 14.0)
@interface MPSGraphDevice : NSObject
+ (instancetype)deviceWithMTLDevice:(id<MTLDevice>)metalDevice;
@end

@class MPSGraph;
@class MPSGraphOperation;
@class MPSGraphCompilationDescriptor;
@class MPSGraphExecutableExecutionDescriptor;

STAND_IN_SINCE(12.0, 15.0)
@interface MPSGraphExecutable : NSObject {
  MPSGraph *_graph;
  NSArray *_feedTensors, *_targetTensors;
}
@property(readonly) NSArray<MPSGraphTensor *> *feedTensors, *targetTensors;
- (NSArray<MPSGraphTensorData *> *)runWithMTLCommandQueue:(id<MTLCommandQueue>)commandQueue
                                              inputsArray:(NSArray<MPSGraphTensorData *> *)inputsArray
                                             resultsArray:(NSArray<MPSGraphTensorData *> *)resultsArray
                                      executionDescriptor:(MPSGraphExecutableExecutionDescriptor *)executionDescriptor;
@end

STAND_IN_SINCE(11.0, 14.0)
@interface MPSGraphConvolution2DOpDescriptor : NSObject {
 @public
  NSUInteger strides[2], dilations[2], groups, paddings[4];
}
+ (instancetype)descriptorWithStrideInX:(NSUInteger)strideInX
                              strideInY:(NSUInteger)strideInY
                        dilationRateInX:(NSUInteger)dilationRateInX
                        dilationRateInY:(NSUInteger)dilationRateInY
                                 groups:(NSUInteger)groups
                            paddingLeft:(NSUInteger)paddingLeft
                           paddingRight:(NSUInteger)paddingRight
                             paddingTop:(NSUInteger)paddingTop
                          paddingBottom:(NSUInteger)paddingBottom
                           paddingStyle:(MPSGraphPaddingStyle)paddingStyle
                             dataLayout:(MPSGraphTensorNamedDataLayout)dataLayout
                          weightsLayout:(MPSGraphTensorNamedDataLayout)weightsLayout;
@end

STAND_IN_SINCE(12.0, 15.0)
@interface MPSGraphDepthwiseConvolution3DOpDescriptor : NSObject {
  NSArray *_strides, *_dilationRates, *_paddingValues;
  NSInteger _channelDimensionIndex;
}
@property(copy) NSArray<NSNumber *> *strides, *dilationRates, *paddingValues;
@property NSInteger channelDimensionIndex;
+ (instancetype)descriptorWithPaddingStyle:(MPSGraphPaddingStyle)paddingStyle;
@end

STAND_IN_SINCE(11.0, 14.0)
@interface MPSGraphPooling2DOpDescriptor : NSObject {
  BOOL _ceilMode, _includeZeroPadToAverage;
  MPSGraphPoolingReturnIndicesMode _returnIndicesMode;
  MPSDataType _returnIndicesDataType;

 @public
  NSUInteger kernel[2], strides[2], dilations[2], paddings[4];
}
@property BOOL ceilMode STAND_IN_SINCE(12.0, 15.0);
@property BOOL includeZeroPadToAverage STAND_IN_SINCE(12.0, 15.0);
@property MPSGraphPoolingReturnIndicesMode returnIndicesMode STAND_IN_SINCE(12.0, 15.0);
@property MPSDataType returnIndicesDataType STAND_IN_SINCE(12.0, 15.0);
+ (instancetype)descriptorWithKernelWidth:(NSUInteger)kernelWidth
                             kernelHeight:(NSUInteger)kernelHeight
                                strideInX:(NSUInteger)strideInX
                                strideInY:(NSUInteger)strideInY
                          dilationRateInX:(NSUInteger)dilationRateInX
                          dilationRateInY:(NSUInteger)dilationRateInY
                              paddingLeft:(NSUInteger)paddingLeft
                             paddingRight:(NSUInteger)paddingRight
                               paddingTop:(NSUInteger)paddingTop
                            paddingBottom:(NSUInteger)paddingBottom
                             paddingStyle:(MPSGraphPaddingStyle)paddingStyle
                               dataLayout:(MPSGraphTensorNamedDataLayout)dataLayout;
@end

STAND_IN_SINCE(11.0, 14.0)
@interface MPSGraph : NSObject {
  void *_steps;
  NSMutableArray *_tensors;
}
- (MPSGraphTensor *)placeholderWithShape:(MPSShape *)shape dataType:(MPSDataType)dataType name:(NSString *)name;
- (MPSGraphTensor *)constantWithData:(NSData *)data shape:(MPSShape *)shape dataType:(MPSDataType)dataType;
- (MPSGraphTensor *)constantWithScalar:(double)scalar dataType:(MPSDataType)dataType;
- (MPSGraphTensor *)constantWithScalar:(double)scalar shape:(MPSShape *)shape dataType:(MPSDataType)dataType;
- (MPSGraphExecutable *)compileWithDevice:(MPSGraphDevice *)device
                                    feeds:(NSDictionary *)feeds
                            targetTensors:(NSArray<MPSGraphTensor *> *)targetTensors
                         targetOperations:(NSArray<MPSGraphOperation *> *)targetOperations
                    compilationDescriptor:(MPSGraphCompilationDescriptor *)compilationDescriptor
    STAND_IN_SINCE(12.0, 15.0);

- (MPSGraphTensor *)identityWithTensor:(MPSGraphTensor *)tensor name:(NSString *)name;
- (MPSGraphTensor *)exponentWithTensor:(MPSGraphTensor *)tensor name:(NSString *)name;
- (MPSGraphTensor *)exponentBase2WithTensor:(MPSGraphTensor *)tensor name:(NSString *)name;
- (MPSGraphTensor *)reciprocalWithTensor:(MPSGraphTensor *)tensor name:(NSString *)name;
- (MPSGraphTensor *)squareRootWithTensor:(MPSGraphTensor *)tensor name:(NSString *)name;
- (MPSGraphTensor *)negativeWithTensor:(MPSGraphTensor *)tensor name:(NSString *)name;
- (MPSGraphTensor *)logarithmWithTensor:(MPSGraphTensor *)tensor name:(NSString *)name;
- (MPSGraphTensor *)logarithmBase10WithTensor:(MPSGraphTensor *)tensor name:(NSString *)name;
- (MPSGraphTensor *)logarithmBase2WithTensor:(MPSGraphTensor *)tensor name:(NSString *)name;
- (MPSGraphTensor *)erfWithTensor:(MPSGraphTensor *)tensor name:(NSString *)name;
- (MPSGraphTensor *)floorWithTensor:(MPSGraphTensor *)tensor name:(NSString *)name;
- (MPSGraphTensor *)ceilWithTensor:(MPSGraphTensor *)tensor name:(NSString *)name;
- (MPSGraphTensor *)sigmoidWithTensor:(MPSGraphTensor *)tensor name:(NSString *)name;
- (MPSGraphTensor *)sinWithTensor:(MPSGraphTensor *)tensor name:(NSString *)name;
- (MPSGraphTensor *)signWithTensor:(MPSGraphTensor *)tensor name:(NSString *)name;
- (MPSGraphTensor *)cosWithTensor:(MPSGraphTensor *)tensor name:(NSString *)name;
- (MPSGraphTensor *)tanWithTensor:(MPSGraphTensor *)tensor name:(NSString *)name;
- (MPSGraphTensor *)absoluteWithTensor:(MPSGraphTensor *)tensor name:(NSString *)name;
- (MPSGraphTensor *)asinWithTensor:(MPSGraphTensor *)tensor name:(NSString *)name;
- (MPSGraphTensor *)acosWithTensor:(MPSGraphTensor *)tensor name:(NSString *)name;
- (MPSGraphTensor *)atanWithTensor:(MPSGraphTensor *)tensor name:(NSString *)name;
- (MPSGraphTensor *)sinhWithTensor:(MPSGraphTensor *)tensor name:(NSString *)name;
- (MPSGraphTensor *)coshWithTensor:(MPSGraphTensor *)tensor name:(NSString *)name;
- (MPSGraphTensor *)tanhWithTensor:(MPSGraphTensor *)tensor name:(NSString *)name;
- (MPSGraphTensor *)asinhWithTensor:(MPSGraphTensor *)tensor name:(NSString *)name;
- (MPSGraphTensor *)acoshWithTensor:(MPSGraphTensor *)tensor name:(NSString *)name;
- (MPSGraphTensor *)atanhWithTensor:(MPSGraphTensor *)tensor name:(NSString *)name;
- (MPSGraphTensor *)isNaNWithTensor:(MPSGraphTensor *)tensor name:(NSString *)name;
- (MPSGraphTensor *)isInfiniteWithTensor:(MPSGraphTensor *)tensor name:(NSString *)name;
- (MPSGraphTensor *)rintWithTensor:(MPSGraphTensor *)tensor name:(NSString *)name;
- (MPSGraphTensor *)notWithTensor:(MPSGraphTensor *)tensor name:(NSString *)name;
- (MPSGraphTensor *)reLUWithTensor:(MPSGraphTensor *)tensor name:(NSString *)name;
- (MPSGraphTensor *)bitwiseNOTWithTensor:(MPSGraphTensor *)tensor name:(NSString *)name STAND_IN_SINCE(13.0, 16.1);
- (MPSGraphTensor *)leakyReLUWithTensor:(MPSGraphTensor *)tensor
                                  alpha:(double)alpha
                                   name:(NSString *)name STAND_IN_SINCE(12.0, 15.0);
- (MPSGraphTensor *)softMaxWithTensor:(MPSGraphTensor *)tensor axis:(NSInteger)axis name:(NSString *)name;
- (MPSGraphTensor *)reductionMaximumWithTensor:(MPSGraphTensor *)tensor axis:(NSInteger)axis name:(NSString *)name;
- (MPSGraphTensor *)reductionSumWithTensor:(MPSGraphTensor *)tensor axis:(NSInteger)axis name:(NSString *)name;

- (MPSGraphTensor *)additionWithPrimaryTensor:(MPSGraphTensor *)primaryTensor
                              secondaryTensor:(MPSGraphTensor *)secondaryTensor
                                         name:(NSString *)name;
- (MPSGraphTensor *)subtractionWithPrimaryTensor:(MPSGraphTensor *)primaryTensor
                                 secondaryTensor:(MPSGraphTensor *)secondaryTensor
                                            name:(NSString *)name;
- (MPSGraphTensor *)multiplicationWithPrimaryTensor:(MPSGraphTensor *)primaryTensor
                                    secondaryTensor:(MPSGraphTensor *)secondaryTensor
                                               name:(NSString *)name;
- (MPSGraphTensor *)divisionWithPrimaryTensor:(MPSGraphTensor *)primaryTensor
                              secondaryTensor:(MPSGraphTensor *)secondaryTensor
                                         name:(NSString *)name;
- (MPSGraphTensor *)powerWithPrimaryTensor:(MPSGraphTensor *)primaryTensor
                           secondaryTensor:(MPSGraphTensor *)secondaryTensor
                                      name:(NSString *)name;
- (MPSGraphTensor *)minimumWithPrimaryTensor:(MPSGraphTensor *)primaryTensor
                             secondaryTensor:(MPSGraphTensor *)secondaryTensor
                                        name:(NSString *)name;
- (MPSGraphTensor *)maximumWithPrimaryTensor:(MPSGraphTensor *)primaryTensor
                             secondaryTensor:(MPSGraphTensor *)secondaryTensor
                                        name:(NSString *)name;
- (MPSGraphTensor *)atan2WithPrimaryTensor:(MPSGraphTensor *)primaryTensor
                           secondaryTensor:(MPSGraphTensor *)secondaryTensor
                                      name:(NSString *)name;
- (MPSGraphTensor *)equalWithPrimaryTensor:(MPSGraphTensor *)primaryTensor
                           secondaryTensor:(MPSGraphTensor *)secondaryTensor
                                      name:(NSString *)name;
- (MPSGraphTensor *)notEqualWithPrimaryTensor:(MPSGraphTensor *)primaryTensor
                              secondaryTensor:(MPSGraphTensor *)secondaryTensor
                                         name:(NSString *)name;
- (MPSGraphTensor *)greaterThanOrEqualToWithPrimaryTensor:(MPSGraphTensor *)primaryTensor
                                          secondaryTensor:(MPSGraphTensor *)secondaryTensor
                                                     name:(NSString *)name;
- (MPSGraphTensor *)greaterThanWithPrimaryTensor:(MPSGraphTensor *)primaryTensor
                                 secondaryTensor:(MPSGraphTensor *)secondaryTensor
                                            name:(NSString *)name;
- (MPSGraphTensor *)lessThanOrEqualToWithPrimaryTensor:(MPSGraphTensor *)primaryTensor
                                       secondaryTensor:(MPSGraphTensor *)secondaryTensor
                                                  name:(NSString *)name;
- (MPSGraphTensor *)lessThanWithPrimaryTensor:(MPSGraphTensor *)primaryTensor
                              secondaryTensor:(MPSGraphTensor *)secondaryTensor
                                         name:(NSString *)name;
- (MPSGraphTensor *)logicalANDWithPrimaryTensor:(MPSGraphTensor *)primaryTensor
                                secondaryTensor:(MPSGraphTensor *)secondaryTensor
                                           name:(NSString *)name;
- (MPSGraphTensor *)logicalORWithPrimaryTensor:(MPSGraphTensor *)primaryTensor
                               secondaryTensor:(MPSGraphTensor *)secondaryTensor
                                          name:(NSString *)name;
- (MPSGraphTensor *)logicalXORWithPrimaryTensor:(MPSGraphTensor *)primaryTensor
                                secondaryTensor:(MPSGraphTensor *)secondaryTensor
                                           name:(NSString *)name;
- (MPSGraphTensor *)matrixMultiplicationWithPrimaryTensor:(MPSGraphTensor *)primaryTensor
                                          secondaryTensor:(MPSGraphTensor *)secondaryTensor
                                                     name:(NSString *)name;
- (MPSGraphTensor *)minimumWithNaNPropagationWithPrimaryTensor:(MPSGraphTensor *)primaryTensor
                                               secondaryTensor:(MPSGraphTensor *)secondaryTensor
                                                          name:(NSString *)name STAND_IN_SINCE(12.0, 15.0);
- (MPSGraphTensor *)maximumWithNaNPropagationWithPrimaryTensor:(MPSGraphTensor *)primaryTensor
                                               secondaryTensor:(MPSGraphTensor *)secondaryTensor
                                                          name:(NSString *)name STAND_IN_SINCE(12.0, 15.0);
- (MPSGraphTensor *)bitwiseANDWithPrimaryTensor:(MPSGraphTensor *)primaryTensor
                                secondaryTensor:(MPSGraphTensor *)secondaryTensor
                                           name:(NSString *)name STAND_IN_SINCE(13.0, 16.1);
- (MPSGraphTensor *)bitwiseORWithPrimaryTensor:(MPSGraphTensor *)primaryTensor
                               secondaryTensor:(MPSGraphTensor *)secondaryTensor
                                          name:(NSString *)name STAND_IN_SINCE(13.0, 16.1);
- (MPSGraphTensor *)bitwiseXORWithPrimaryTensor:(MPSGraphTensor *)primaryTensor
                                secondaryTensor:(MPSGraphTensor *)secondaryTensor
                                           name:(NSString *)name STAND_IN_SINCE(13.0, 16.1);
- (MPSGraphTensor *)selectWithPredicateTensor:(MPSGraphTensor *)predicateTensor
                          truePredicateTensor:(MPSGraphTensor *)truePredicateTensor
                         falsePredicateTensor:(MPSGraphTensor *)falseSelectTensor
                                         name:(NSString *)name;

- (MPSGraphTensor *)meanOfTensor:(MPSGraphTensor *)tensor axes:(NSArray<NSNumber *> *)axes name:(NSString *)name;
- (MPSGraphTensor *)varianceOfTensor:(MPSGraphTensor *)tensor axes:(NSArray<NSNumber *> *)axes name:(NSString *)name;
- (MPSGraphTensor *)normalizationWithTensor:(MPSGraphTensor *)tensor
                                 meanTensor:(MPSGraphTensor *)mean
                             varianceTensor:(MPSGraphTensor *)variance
                                gammaTensor:(MPSGraphTensor *)gamma
                                 betaTensor:(MPSGraphTensor *)beta
                                    epsilon:(float)epsilon
                                       name:(NSString *)name;
- (MPSGraphTensor *)convolution2DWithSourceTensor:(MPSGraphTensor *)source
                                    weightsTensor:(MPSGraphTensor *)weights
                                       descriptor:(MPSGraphConvolution2DOpDescriptor *)descriptor
                                             name:(NSString *)name;
- (MPSGraphTensor *)depthwiseConvolution3DWithSourceTensor:(MPSGraphTensor *)source
                                             weightsTensor:(MPSGraphTensor *)weights
                                                descriptor:(MPSGraphDepthwiseConvolution3DOpDescriptor *)descriptor
                                                      name:(NSString *)name STAND_IN_SINCE(12.0, 15.0);
- (NSArray<MPSGraphTensor *> *)maxPooling2DReturnIndicesWithSourceTensor:(MPSGraphTensor *)source
                                                              descriptor:(MPSGraphPooling2DOpDescriptor *)descriptor
                                                                    name:(NSString *)name STAND_IN_SINCE(12.0, 15.0);
- (MPSGraphTensor *)avgPooling2DWithSourceTensor:(MPSGraphTensor *)source
                                      descriptor:(MPSGraphPooling2DOpDescriptor *)descriptor
                                            name:(NSString *)name;
- (MPSGraphTensor *)dequantizeTensor:(MPSGraphTensor *)tensor
                         scaleTensor:(MPSGraphTensor *)scaleTensor
                     zeroPointTensor:(MPSGraphTensor *)zeroPointTensor
                            dataType:(MPSDataType)dataType
                                name:(NSString *)name STAND_IN_SINCE(15.0, 18.0);
@end

@interface MPSGraph (MPSGraphTensorShapeOps)
- (MPSGraphTensor *)castTensor:(MPSGraphTensor *)tensor toType:(MPSDataType)type name:(NSString *)name;
- (MPSGraphTensor *)reshapeTensor:(MPSGraphTensor *)tensor withShape:(MPSShape *)shape name:(NSString *)name;
- (MPSGraphTensor *)transposeTensor:(MPSGraphTensor *)tensor
                          dimension:(NSUInteger)dimensionIndex
                      withDimension:(NSUInteger)dimensionIndex2
                               name:(NSString *)name;
- (MPSGraphTensor *)broadcastTensor:(MPSGraphTensor *)tensor toShape:(MPSShape *)shape name:(NSString *)name;
- (MPSGraphTensor *)concatTensors:(NSArray<MPSGraphTensor *> *)tensors
                        dimension:(NSInteger)dimensionIndex
                             name:(NSString *)name;
- (MPSGraphTensor *)sliceTensor:(MPSGraphTensor *)tensor
                      dimension:(NSUInteger)dimensionIndex
                          start:(NSInteger)start
                         length:(NSInteger)length
                           name:(NSString *)name;
- (MPSGraphTensor *)sliceTensor:(MPSGraphTensor *)tensor
                         starts:(NSArray<NSNumber *> *)starts
                           ends:(NSArray<NSNumber *> *)ends
                        strides:(NSArray<NSNumber *> *)strides
                           name:(NSString *)name;
- (MPSGraphTensor *)padTensor:(MPSGraphTensor *)tensor
              withPaddingMode:(MPSGraphPaddingMode)paddingMode
                  leftPadding:(MPSShape *)leftPadding
                 rightPadding:(MPSShape *)rightPadding
                constantValue:(double)constantValue
                         name:(NSString *)name;
- (MPSGraphTensor *)depthToSpace2DTensor:(MPSGraphTensor *)tensor
                               widthAxis:(NSUInteger)widthAxis
                              heightAxis:(NSUInteger)heightAxis
                               depthAxis:(NSUInteger)depthAxis
                               blockSize:(NSUInteger)blockSize
                    usePixelShuffleOrder:(BOOL)usePixelShuffleOrder
                                    name:(NSString *)name;
- (MPSGraphTensor *)gatherWithUpdatesTensor:(MPSGraphTensor *)updatesTensor
                              indicesTensor:(MPSGraphTensor *)indicesTensor
                                       axis:(NSUInteger)axis
                            batchDimensions:(NSUInteger)batchDimensions
                                       name:(NSString *)name;
- (MPSGraphTensor *)scatterWithDataTensor:(MPSGraphTensor *)dataTensor
                            updatesTensor:(MPSGraphTensor *)updatesTensor
                            indicesTensor:(MPSGraphTensor *)indicesTensor
                                     axis:(NSInteger)axis
                                     mode:(MPSGraphScatterMode)mode
                                     name:(NSString *)name STAND_IN_SINCE(12.0, 15.4);
- (MPSGraphTensor *)scatterAlongAxis:(NSInteger)axis
                      withDataTensor:(MPSGraphTensor *)dataTensor
                       updatesTensor:(MPSGraphTensor *)updatesTensor
                       indicesTensor:(MPSGraphTensor *)indicesTensor
                                mode:(MPSGraphScatterMode)mode
                                name:(NSString *)name STAND_IN_SINCE(12.3, 15.4);
@end
