// SPDX-License-Identifier: BSD-3-Clause
// Classes of Metal and MPSGraph except the graph, for GNUstep without ARC. With MPS_STAND_IN_NO_GPU there is no device.
#include "stand_in.h"

using namespace stand_in;

@interface StandInBuffer : NSObject <MTLBuffer> {
  NSMutableData *_data;
}
@end

@implementation StandInBuffer
- (instancetype)initWithLength:(NSUInteger)length {
  self = [super init];
  _data = [[NSMutableData alloc] initWithLength:length];
  return self;
}
- (void)dealloc {
  [_data release];
  [super dealloc];
}
- (void *)contents {
  return [_data mutableBytes];
}
- (NSUInteger)length {
  return [_data length];
}
@end

@interface StandInQueue : NSObject <MTLCommandQueue>
@end
@implementation StandInQueue
@end

@interface StandInDevice : NSObject <MTLDevice>
@end

@implementation StandInDevice
- (id<MTLCommandQueue>)newCommandQueue {
  return [[StandInQueue alloc] init];
}
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options {
  (void)options;
  return [[StandInBuffer alloc] initWithLength:length];
}
@end

id<MTLDevice> MTLCreateSystemDefaultDevice(void) {
  return std::getenv("MPS_STAND_IN_NO_GPU") != nullptr ? nil : [[StandInDevice alloc] init];
}

@implementation MPSGraphTensor
@synthesize shape = _shape, dataType = _dataType;
- (instancetype)initWithNumber:(NSUInteger)number shape:(MPSShape *)shape dataType:(MPSDataType)dataType {
  self = [super init];
  _number = number;
  _shape = [shape copy];
  _dataType = dataType;
  return self;
}
- (NSUInteger)number {
  return _number;
}
- (id)copyWithZone:(NSZone *)zone {
  (void)zone;
  return [self retain];
}
- (void)dealloc {
  [_shape release];
  [super dealloc];
}
@end

@implementation MPSGraphShapedType
- (instancetype)initWithShape:(MPSShape *)shape dataType:(MPSDataType)dataType {
  self = [super init];
  _shape = [shape copy];
  _dataType = dataType;
  return self;
}
- (void)dealloc {
  [_shape release];
  [super dealloc];
}
@end

@implementation MPSGraphTensorData
- (instancetype)initWithMTLBuffer:(id<MTLBuffer>)buffer shape:(MPSShape *)shape dataType:(MPSDataType)dataType {
  self = [super init];
  _buffer = [buffer retain];
  _shape = [shape copy];
  _dataType = dataType;
  return self;
}
- (void)dealloc {
  [_buffer release];
  [_shape release];
  [super dealloc];
}
- (Array)array {
  return stand_in::from_bytes([_buffer contents], [_buffer length], _dataType, sizes_of(_shape));
}
- (void)write:(const Array &)array {
  if (array.type != _dataType || array.sizes != sizes_of(_shape)) {
    [NSException raise:NSInvalidArgumentException format:@"a result has another shape or data type than its data"];
  }
  stand_in::to_bytes(array, [_buffer contents], [_buffer length]);
}
@end

@implementation MPSGraphDevice
+ (instancetype)deviceWithMTLDevice:(id<MTLDevice>)metalDevice {
  (void)metalDevice;
  return [[[self alloc] init] autorelease];
}
@end

@implementation MPSGraphExecutable
@synthesize feedTensors = _feedTensors, targetTensors = _targetTensors;
- (instancetype)initWithGraph:(MPSGraph *)graph feeds:(NSArray *)feeds targets:(NSArray *)targets {
  self = [super init];
  _graph = [graph retain];
  _feedTensors = [feeds copy];
  _targetTensors = [targets copy];
  return self;
}
- (void)dealloc {
  [_graph release];
  [_feedTensors release];
  [_targetTensors release];
  [super dealloc];
}
- (NSArray<MPSGraphTensorData *> *)
    runWithMTLCommandQueue:(id<MTLCommandQueue>)commandQueue
               inputsArray:(NSArray<MPSGraphTensorData *> *)inputsArray
              resultsArray:(NSArray<MPSGraphTensorData *> *)resultsArray
       executionDescriptor:(MPSGraphExecutableExecutionDescriptor *)executionDescriptor {
  (void)commandQueue;
  (void)executionDescriptor;
  const std::vector<Array> results = [_graph evaluate:_targetTensors feeds:_feedTensors data:inputsArray];
  for (size_t i = 0; i < results.size(); ++i) {
    [[resultsArray objectAtIndex:i] write:results[i]];
  }
  return resultsArray;
}
@end

@implementation MPSGraphConvolution2DOpDescriptor
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
                          weightsLayout:(MPSGraphTensorNamedDataLayout)weightsLayout {
  if (paddingStyle != MPSGraphPaddingStyleExplicit || dataLayout != MPSGraphTensorNamedDataLayoutNCHW ||
      weightsLayout != MPSGraphTensorNamedDataLayoutOIHW) {
    [NSException raise:NSInvalidArgumentException format:@"the stand-in has explicit paddings, NCHW and OIHW"];
  }
  MPSGraphConvolution2DOpDescriptor *const made = [[[self alloc] init] autorelease];
  made->strides[0] = strideInY;
  made->strides[1] = strideInX;
  made->dilations[0] = dilationRateInY;
  made->dilations[1] = dilationRateInX;
  made->groups = groups;
  made->paddings[0] = paddingLeft;
  made->paddings[1] = paddingRight;
  made->paddings[2] = paddingTop;
  made->paddings[3] = paddingBottom;
  return made;
}
@end

@implementation MPSGraphDepthwiseConvolution3DOpDescriptor
@synthesize strides = _strides, dilationRates = _dilationRates, paddingValues = _paddingValues,
            channelDimensionIndex = _channelDimensionIndex;
+ (instancetype)descriptorWithPaddingStyle:(MPSGraphPaddingStyle)paddingStyle {
  (void)paddingStyle;
  return [[[self alloc] init] autorelease];
}
- (void)dealloc {
  [_strides release];
  [_dilationRates release];
  [_paddingValues release];
  [super dealloc];
}
@end

@implementation MPSGraphPooling2DOpDescriptor
@synthesize ceilMode = _ceilMode, includeZeroPadToAverage = _includeZeroPadToAverage,
            returnIndicesMode = _returnIndicesMode, returnIndicesDataType = _returnIndicesDataType;
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
                               dataLayout:(MPSGraphTensorNamedDataLayout)dataLayout {
  if (paddingStyle != MPSGraphPaddingStyleExplicit || dataLayout != MPSGraphTensorNamedDataLayoutNCHW) {
    [NSException raise:NSInvalidArgumentException format:@"the stand-in has explicit paddings and NCHW"];
  }
  MPSGraphPooling2DOpDescriptor *const made = [[[self alloc] init] autorelease];
  made->kernel[0] = kernelHeight;
  made->kernel[1] = kernelWidth;
  made->strides[0] = strideInY;
  made->strides[1] = strideInX;
  made->dilations[0] = dilationRateInY;
  made->dilations[1] = dilationRateInX;
  made->paddings[0] = paddingLeft;
  made->paddings[1] = paddingRight;
  made->paddings[2] = paddingTop;
  made->paddings[3] = paddingBottom;
  return made;
}
@end
