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

/// Bytes of an element; 0 for an unknown type.
extern NSInteger ExecuTorchSizeOfDataType(ExecuTorchDataType dataType);

/// A tensor. Wrong sizes and types, which the caller can know, raise NSInvalidArgumentException with words.
@interface ExecuTorchTensor : NSObject <NSCopying>

@property(nonatomic, readonly) ExecuTorchDataType dataType;
@property(nonatomic, readonly) NSArray<NSNumber *> *shape;
@property(nonatomic, readonly) NSArray<NSNumber *> *dimensionOrder;
@property(nonatomic, readonly) NSInteger count;  ///< number of elements

/// In the memory of the caller, which must live as long as the tensor.
- (instancetype)initWithBytesNoCopy:(void *)pointer
                              shape:(NSArray<NSNumber *> *)shape
                           dataType:(ExecuTorchDataType)dataType;
- (instancetype)initWithBytes:(const void *)pointer
                        shape:(NSArray<NSNumber *> *)shape
                     dataType:(ExecuTorchDataType)dataType;
/// A copy of `data`, which has exactly the bytes of the tensor.
- (instancetype)initWithData:(NSData *)data shape:(NSArray<NSNumber *> *)shape dataType:(ExecuTorchDataType)dataType;
- (instancetype)initWithScalars:(NSArray<NSNumber *> *)scalars
                          shape:(NSArray<NSNumber *> *)shape
                       dataType:(ExecuTorchDataType)dataType;
/// One dimension of floats.
- (instancetype)initWithScalars:(NSArray<NSNumber *> *)scalars;
/// Without dimensions.
- (instancetype)initWithFloat:(float)scalar;
+ (instancetype)zerosTensorWithShape:(NSArray<NSNumber *> *)shape dataType:(ExecuTorchDataType)dataType;
- (instancetype)init NS_UNAVAILABLE;

/// Gives the memory to `handler`, for reading, until that returns.
- (void)bytesWithHandler:(void(NS_NOESCAPE ^)(const void *pointer, NSInteger count, ExecuTorchDataType dataType))
                             handler;
/// For changing it.
- (void)mutableBytesWithHandler:(void(NS_NOESCAPE ^)(void *pointer, NSInteger count, ExecuTorchDataType dataType))
                                    handler;
/// To at most as many elements as there were at first; the rank stays.
- (BOOL)resizeToShape:(NSArray<NSNumber *> *)shape error:(NSError **)error;

@end

NS_ASSUME_NONNULL_END
