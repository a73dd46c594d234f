// SPDX-License-Identifier: BSD-3-Clause
#import "ExecuTorchInternal.h"

@implementation ExecuTorchValue {
  id _object;  // the tensor or text
  double _real;
  NSInteger _integer;  // also of a Boolean
}

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

@end
