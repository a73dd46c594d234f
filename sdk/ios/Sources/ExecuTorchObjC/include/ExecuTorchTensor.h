// SPDX-License-Identifier: BSD-3-Clause
#import <Foundation/Foundation.h>

#ifndef NS_NOESCAPE
#define NS_NOESCAPE __attribute__((noescape))
#endif

NS_ASSUME_NONNULL_BEGIN

/// PyTorch's numbers.
typedef NS_ENUM(int8_t, ExecuTorchDataType) {
  ExecuTorchDataTypeByte = 0,
  ExecuTorchDataTypeChar = 1,
  ExecuTorchDataTypeShort = 2,
  ExecuTorchDataTypeInt = 3,
  ExecuTorchDataTypeLong = 4,
  ExecuTorchDataTypeHalf = 5,
  ExecuTorchDataTypeFloat = 6,
  ExecuTorchDataTypeDouble = 7,
  ExecuTorchDataTypeBool = 11,
  ExecuTorchDataTypeBFloat16 = 15,
  ExecuTorchDataTypeUInt16 = 27,
  ExecuTorchDataTypeUInt32 = 28,
  ExecuTorchDataTypeUInt64 = 29,
};

/// Whether a tensor's shape may change: never, or to shapes with the number of elements that it was made with. The
/// runtime has no memory that grows: unbound is the same as bound.
typedef NS_ENUM(uint8_t, ExecuTorchShapeDynamism) {
  ExecuTorchShapeDynamismStatic = 0,
  ExecuTorchShapeDynamismDynamicBound = 1,
  ExecuTorchShapeDynamismDynamicUnbound = 2,
};

/// Bytes of an element; 0 for an unknown type.
extern NSInteger ExecuTorchSizeOfDataType(ExecuTorchDataType dataType);

/// A tensor. Wrong sizes and types are programming errors: they raise NSInvalidArgumentException with a message.
@interface ExecuTorchTensor : NSObject <NSCopying>

@property(nonatomic, readonly) ExecuTorchDataType dataType;
@property(nonatomic, readonly) NSArray<NSNumber *> *shape;
@property(nonatomic, readonly) NSArray<NSNumber *> *dimensionOrder;
/// The distance, in elements, between neighbours along each dimension.
@property(nonatomic, readonly) NSArray<NSNumber *> *strides;
/// Always DynamicBound: a shape does not change unless the tensor is resized.
@property(nonatomic, readonly) ExecuTorchShapeDynamism shapeDynamism;
@property(nonatomic, readonly) NSInteger count;  ///< number of elements

/// A view: another tensor over the same memory, which it keeps.
- (instancetype)initWithTensor:(ExecuTorchTensor *)tensor;

/// Uses the memory of the caller without a copy; it must stay valid as long as the tensor.
- (instancetype)initWithBytesNoCopy:(void *)pointer
                              shape:(NSArray<NSNumber *> *)shape
                           dataType:(ExecuTorchDataType)dataType;
- (instancetype)initWithBytes:(const void *)pointer
                        shape:(NSArray<NSNumber *> *)shape
                     dataType:(ExecuTorchDataType)dataType;
/// Uses the bytes of `data`, exactly as many as the tensor has, and keeps `data`. mutableBytesWithHandler: copies them
/// first; views of the tensor use the copy, too. The bytes of an NSMutableData are copied at once.
- (instancetype)initWithData:(NSData *)data shape:(NSArray<NSNumber *> *)shape dataType:(ExecuTorchDataType)dataType;
- (instancetype)initWithScalars:(NSArray<NSNumber *> *)scalars
                          shape:(NSArray<NSNumber *> *)shape
                       dataType:(ExecuTorchDataType)dataType;
/// A tensor of floats with one dimension.
- (instancetype)initWithScalars:(NSArray<NSNumber *> *)scalars;
/// A tensor without dimensions.
- (instancetype)initWithFloat:(float)scalar;
- (instancetype)init NS_UNAVAILABLE;

/// Calls `handler` with the memory, for reading only. The pointer is valid until it returns.
- (void)bytesWithHandler:(void(NS_NOESCAPE ^)(const void *pointer, NSInteger count, ExecuTorchDataType dataType))
                             handler;
/// Calls `handler` with the memory, which it may change.
- (void)mutableBytesWithHandler:(void(NS_NOESCAPE ^)(void *pointer, NSInteger count, ExecuTorchDataType dataType))
                                    handler;
/// Gives the tensor another shape with the same number of elements, which do not change.
- (BOOL)resizeToShape:(NSArray<NSNumber *> *)shape error:(NSError **)error;
/// Whether type, shape, dimension order and the bytes of all elements are equal.
- (BOOL)isEqual:(nullable id)other;

@end

/// New tensors. Like another one: of its shape and type.
@interface ExecuTorchTensor (Factories)
/// Elements of undefined value.
+ (instancetype)emptyTensorWithShape:(NSArray<NSNumber *> *)shape dataType:(ExecuTorchDataType)dataType;
+ (instancetype)emptyTensorLikeTensor:(ExecuTorchTensor *)tensor;
+ (instancetype)fullTensorWithShape:(NSArray<NSNumber *> *)shape
                             scalar:(NSNumber *)scalar
                           dataType:(ExecuTorchDataType)dataType;
+ (instancetype)fullTensorLikeTensor:(ExecuTorchTensor *)tensor scalar:(NSNumber *)scalar;
+ (instancetype)onesTensorWithShape:(NSArray<NSNumber *> *)shape dataType:(ExecuTorchDataType)dataType;
+ (instancetype)onesTensorLikeTensor:(ExecuTorchTensor *)tensor;
+ (instancetype)zerosTensorWithShape:(NSArray<NSNumber *> *)shape dataType:(ExecuTorchDataType)dataType;
+ (instancetype)zerosTensorLikeTensor:(ExecuTorchTensor *)tensor;
/// Random numbers, uniform in [0, 1).
+ (instancetype)randTensorWithShape:(NSArray<NSNumber *> *)shape dataType:(ExecuTorchDataType)dataType;
+ (instancetype)randTensorLikeTensor:(ExecuTorchTensor *)tensor;
/// Random numbers of the normal distribution with mean 0 and variance 1.
+ (instancetype)randnTensorWithShape:(NSArray<NSNumber *> *)shape dataType:(ExecuTorchDataType)dataType;
+ (instancetype)randnTensorLikeTensor:(ExecuTorchTensor *)tensor;
/// Random whole numbers in [low, high). Raises if the range is empty or elements of the type cannot be its numbers.
+ (instancetype)randintTensorWithLow:(NSInteger)low
                                high:(NSInteger)high
                               shape:(NSArray<NSNumber *> *)shape
                            dataType:(ExecuTorchDataType)dataType;
+ (instancetype)randintTensorLikeTensor:(ExecuTorchTensor *)tensor low:(NSInteger)low high:(NSInteger)high;
@end

NS_ASSUME_NONNULL_END
