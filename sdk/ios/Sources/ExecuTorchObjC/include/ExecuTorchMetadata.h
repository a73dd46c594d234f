// SPDX-License-Identifier: BSD-3-Clause
#import <Foundation/Foundation.h>

#import "ExecuTorchTensor.h"

NS_ASSUME_NONNULL_BEGIN

/// What is known of a tensor before it exists.
@interface ExecuTorchTensorMetadata : NSObject
/// The largest sizes where a shape is dynamic.
@property(nonatomic, readonly) NSArray<NSNumber *> *shape;
@property(nonatomic, readonly) NSArray<NSNumber *> *dimensionOrder;
@property(nonatomic, readonly) ExecuTorchDataType dataType;
/// Whether it has a place in the method's memory; otherwise the caller supplies it.
@property(nonatomic, readonly) BOOL isMemoryPlanned;
/// The name that the model has for an attribute; empty for inputs and outputs.
@property(nonatomic, readonly) NSString *name;
- (instancetype)init NS_UNAVAILABLE;
@end

/// What a method takes and gives, and what it needs.
@interface ExecuTorchMethodMetadata : NSObject
@property(nonatomic, readonly) NSString *name;
/// ExecuTorchValueTag of each input; None is a number whose value is open, or an argument that was None at export.
@property(nonatomic, readonly) NSArray<NSNumber *> *inputValueTags;
@property(nonatomic, readonly) NSArray<NSNumber *> *outputValueTags;
/// Of the inputs that are tensors, by their position among all inputs.
@property(nonatomic, readonly) NSDictionary<NSNumber *, ExecuTorchTensorMetadata *> *inputTensorMetadata;
@property(nonatomic, readonly) NSDictionary<NSNumber *, ExecuTorchTensorMetadata *> *outputTensorMetadata;
/// Of the method's state that carries a name, such as a cache.
@property(nonatomic, readonly) NSArray<ExecuTorchTensorMetadata *> *attributeTensorMetadata;
/// Bytes of each of the buffers that the method's tensors share.
@property(nonatomic, readonly) NSArray<NSNumber *> *memoryPlannedBufferSizes;
/// The backends that parts of the method run on.
@property(nonatomic, readonly) NSArray<NSString *> *backendNames;
@property(nonatomic, readonly) NSInteger instructionCount;
- (instancetype)init NS_UNAVAILABLE;
@end

NS_ASSUME_NONNULL_END
