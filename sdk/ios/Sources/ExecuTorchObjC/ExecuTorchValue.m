// SPDX-License-Identifier: BSD-3-Clause
#import "ExecuTorchInternal.h"

@implementation ExecuTorchValue {
  ExecuTorchValueTag _tag;
  id _object;  // the tensor, text or list
  double _real;
  NSInteger _integer;  // also of a Boolean
}
@synthesize tag = _tag;

- (instancetype)init {
  return [super init];
}

+ (instancetype)valueWithTag:(ExecuTorchValueTag)tag object:(id)object real:(double)real integer:(NSInteger)integer {
  ExecuTorchValue *value = [[self alloc] init];
  value->_tag = tag;
  value->_object = object;
  value->_real = real;
  value->_integer = integer;
  return value;
}

+ (instancetype)valueWithTensor:(ExecuTorchTensor *)tensor {
  return [self valueWithTag:ExecuTorchValueTagTensor object:tensor real:0 integer:0];
}

+ (instancetype)valueWithString:(NSString *)string {
  return [self valueWithTag:ExecuTorchValueTagString object:[string copy] real:0 integer:0];
}

+ (instancetype)valueWithBoolean:(BOOL)boolean {
  return [self valueWithTag:ExecuTorchValueTagBoolean object:nil real:0 integer:boolean ? 1 : 0];
}

+ (instancetype)valueWithInteger:(NSInteger)integer {
  return [self valueWithTag:ExecuTorchValueTagInteger object:nil real:0 integer:integer];
}

+ (instancetype)valueWithDouble:(double)real {
  return [self valueWithTag:ExecuTorchValueTagDouble object:nil real:real integer:0];
}

+ (instancetype)valueWithFloat:(float)real {
  return [self valueWithDouble:(double)real];
}

+ (instancetype)valueWithTag:(ExecuTorchValueTag)tag list:(NSArray *)list {
  return [self valueWithTag:tag object:[list copy] real:0 integer:0];
}

- (ExecuTorchTensor *)tensorValue {
  return self.isTensor ? _object : nil;
}

- (NSString *)stringValue {
  return self.isString ? _object : nil;
}

- (BOOL)boolValue {
  return self.isBoolean && _integer != 0;
}

- (NSInteger)integerValue {
  return self.isInteger ? _integer : 0;
}

- (double)doubleValue {
  return _real;
}

- (float)floatValue {
  return (float)_real;
}

- (NSNumber *)scalarValue {
  if (self.isBoolean) {
    return [NSNumber numberWithBool:self.boolValue];
  }
  if (self.isInteger) {
    return [NSNumber numberWithInteger:_integer];
  }
  return self.isDouble ? [NSNumber numberWithDouble:_real] : nil;
}

- (NSArray<NSNumber *> *)numbersValue {
  const BOOL isNumbers = _tag == ExecuTorchValueTagBooleanList || _tag == ExecuTorchValueTagDoubleList ||
                         _tag == ExecuTorchValueTagIntegerList;
  return isNumbers ? _object : nil;
}

- (NSArray *)tensorsValue {
  const BOOL isTensors = _tag == ExecuTorchValueTagTensorList || _tag == ExecuTorchValueTagOptionalTensorList;
  return isTensors ? _object : nil;
}

- (BOOL)isNone {
  return _tag == ExecuTorchValueTagNone;
}

- (BOOL)isTensor {
  return _tag == ExecuTorchValueTagTensor;
}

- (BOOL)isString {
  return _tag == ExecuTorchValueTagString;
}

- (BOOL)isBoolean {
  return _tag == ExecuTorchValueTagBoolean;
}

- (BOOL)isInteger {
  return _tag == ExecuTorchValueTagInteger;
}

- (BOOL)isDouble {
  return _tag == ExecuTorchValueTagDouble;
}

- (BOOL)isFloat {
  return self.isDouble;
}

- (BOOL)isScalar {
  return self.isBoolean || self.isInteger || self.isDouble;
}

- (BOOL)isEqual:(id)other {
  if (![other isKindOfClass:[ExecuTorchValue class]]) {
    return NO;
  }
  ExecuTorchValue *value = other;
  return _tag == value->_tag && _real == value->_real && _integer == value->_integer &&
         (_object == value->_object || [_object isEqual:value->_object]);
}

- (NSUInteger)hash {
  return (NSUInteger)_tag ^ (NSUInteger)_integer ^ [_object hash];
}

@end
