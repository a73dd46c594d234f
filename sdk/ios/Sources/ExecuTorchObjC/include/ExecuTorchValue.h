// SPDX-License-Identifier: BSD-3-Clause
#import <Foundation/Foundation.h>

@class ExecuTorchTensor;

NS_ASSUME_NONNULL_BEGIN

typedef NS_ENUM(uint32_t, ExecuTorchValueTag) {
  ExecuTorchValueTagNone = 0,
  ExecuTorchValueTagTensor = 1,
  ExecuTorchValueTagString = 2,
  ExecuTorchValueTagDouble = 3,
  ExecuTorchValueTagInteger = 4,
  ExecuTorchValueTagBoolean = 5,
  ExecuTorchValueTagBooleanList = 6,
  ExecuTorchValueTagDoubleList = 7,
  ExecuTorchValueTagIntegerList = 8,
  ExecuTorchValueTagTensorList = 9,
  ExecuTorchValueTagOptionalTensorList = 11,
};

/// An input or output of a method. Accessors of a kind other than `tag` return nil, 0 or NO. Lists are outputs only.
@interface ExecuTorchValue : NSObject

@property(nonatomic, readonly) ExecuTorchValueTag tag;
@property(nonatomic, readonly, nullable) ExecuTorchTensor *tensorValue;
@property(nonatomic, readonly, nullable) NSString *stringValue;
@property(nonatomic, readonly) BOOL boolValue;
@property(nonatomic, readonly) NSInteger integerValue;
@property(nonatomic, readonly) double doubleValue;
@property(nonatomic, readonly) float floatValue;
/// The Boolean, the integer or the double.
@property(nonatomic, readonly, nullable) NSNumber *scalarValue;
/// A list of Booleans, integers or doubles.
@property(nonatomic, readonly, nullable) NSArray<NSNumber *> *numbersValue;
/// A list of tensors; NSNull in it for an absent tensor.
@property(nonatomic, readonly, nullable) NSArray *tensorsValue;
@property(nonatomic, readonly) BOOL isNone;
@property(nonatomic, readonly) BOOL isTensor;
@property(nonatomic, readonly) BOOL isString;
@property(nonatomic, readonly) BOOL isBoolean;
@property(nonatomic, readonly) BOOL isInteger;
@property(nonatomic, readonly) BOOL isDouble;
/// The same as `isDouble`: the runtime has one floating-point type.
@property(nonatomic, readonly) BOOL isFloat;
/// A Boolean, an integer or a double.
@property(nonatomic, readonly) BOOL isScalar;

/// No value.
- (instancetype)init;
+ (instancetype)valueWithTensor:(ExecuTorchTensor *)tensor;
+ (instancetype)valueWithString:(NSString *)string;
+ (instancetype)valueWithBoolean:(BOOL)boolean;
+ (instancetype)valueWithInteger:(NSInteger)integer;
+ (instancetype)valueWithDouble:(double)real;
+ (instancetype)valueWithFloat:(float)real;

@end

NS_ASSUME_NONNULL_END
