// SPDX-License-Identifier: BSD-3-Clause
#import <Foundation/Foundation.h>

#import "ExecuTorchTensor.h"

NS_ASSUME_NONNULL_BEGIN

/// The type, the shape and the memory of a tensor, as the program declares them.
@interface ExecuTorchTensorMetadata : NSObject
/// The largest sizes where a shape is dynamic.
@property(nonatomic, readonly) NSArray<NSNumber *> *shape;
@property(nonatomic, readonly) NSArray<NSNumber *> *dimensionOrder;
@property(nonatomic, readonly) ExecuTorchDataType dataType;
/// Whether the method's memory plan includes it; otherwise the caller supplies the memory.
@property(nonatomic, readonly) BOOL isMemoryPlanned;
/// The name of an attribute in the model; empty for inputs and outputs.
@property(nonatomic, readonly) NSString *name;
- (instancetype)init NS_UNAVAILABLE;
@end

/// The inputs and outputs of a method, and the memory and backends that it needs.
@interface ExecuTorchMethodMetadata : NSObject
@property(nonatomic, readonly) NSString *name;
/// ExecuTorchValueTag of each input; None is a number of any kind, or an argument that was None at export.
@property(nonatomic, readonly) NSArray<NSNumber *> *inputValueTags;
@property(nonatomic, readonly) NSArray<NSNumber *> *outputValueTags;
/// The metadata of the inputs that are tensors, by their position among all inputs.
@property(nonatomic, readonly) NSDictionary<NSNumber *, ExecuTorchTensorMetadata *> *inputTensorMetadata;
@property(nonatomic, readonly) NSDictionary<NSNumber *, ExecuTorchTensorMetadata *> *outputTensorMetadata;
/// The metadata of the method's named state, such as a cache.
@property(nonatomic, readonly) NSArray<ExecuTorchTensorMetadata *> *attributeTensorMetadata;
/// The size in bytes of each buffer that the method's tensors share.
@property(nonatomic, readonly) NSArray<NSNumber *> *memoryPlannedBufferSizes;
/// The backends to which parts of the method are delegated.
@property(nonatomic, readonly) NSArray<NSString *> *backendNames;
@property(nonatomic, readonly) NSInteger instructionCount;
- (instancetype)init NS_UNAVAILABLE;
@end

NS_ASSUME_NONNULL_END
