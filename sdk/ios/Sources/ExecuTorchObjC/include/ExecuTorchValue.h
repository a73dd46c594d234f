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
};

/// An input or output of a method. Accessors of another kind than `tag` give nil, 0 or NO.
@interface ExecuTorchValue : NSObject

@property(nonatomic, readonly) ExecuTorchValueTag tag;
@property(nonatomic, readonly, nullable) ExecuTorchTensor *tensorValue;
@property(nonatomic, readonly, nullable) NSString *stringValue;
@property(nonatomic, readonly) BOOL boolValue;
@property(nonatomic, readonly) NSInteger integerValue;
@property(nonatomic, readonly) double doubleValue;
@property(nonatomic, readonly) float floatValue;
@property(nonatomic, readonly) BOOL isNone;
@property(nonatomic, readonly) BOOL isTensor;
@property(nonatomic, readonly) BOOL isString;
@property(nonatomic, readonly) BOOL isBoolean;
@property(nonatomic, readonly) BOOL isInteger;
@property(nonatomic, readonly) BOOL isDouble;

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
