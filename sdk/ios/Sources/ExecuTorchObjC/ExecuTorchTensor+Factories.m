// SPDX-License-Identifier: BSD-3-Clause
#include <math.h>
#include <stdlib.h>

#import "ExecuTorchInternal.h"

void ExecuTorchSetElement(ExecuTorchDataType dataType, void *data, NSUInteger index, NSNumber *number) {
  switch (dataType) {
    case ExecuTorchDataTypeByte:
      ((uint8_t *)data)[index] = number.unsignedCharValue;
      break;
    case ExecuTorchDataTypeChar:
      ((int8_t *)data)[index] = (int8_t)number.charValue;
      break;
    case ExecuTorchDataTypeShort:
      ((int16_t *)data)[index] = number.shortValue;
      break;
    case ExecuTorchDataTypeInt:
      ((int32_t *)data)[index] = number.intValue;
      break;
    case ExecuTorchDataTypeLong:
      ((int64_t *)data)[index] = number.longLongValue;
      break;
    case ExecuTorchDataTypeFloat:
      ((float *)data)[index] = number.floatValue;
      break;
    case ExecuTorchDataTypeDouble:
      ((double *)data)[index] = number.doubleValue;
      break;
    case ExecuTorchDataTypeBool:
      ((uint8_t *)data)[index] = number.boolValue ? 1 : 0;
      break;
    case ExecuTorchDataTypeUInt16:
      ((uint16_t *)data)[index] = number.unsignedShortValue;
      break;
    case ExecuTorchDataTypeUInt32:
      ((uint32_t *)data)[index] = number.unsignedIntValue;
      break;
    case ExecuTorchDataTypeUInt64:
      ((uint64_t *)data)[index] = number.unsignedLongLongValue;
      break;
    default:
      [NSException raise:NSInvalidArgumentException
                  format:@"numbers cannot become elements of type %s", et_dtype_name(dataType)];
  }
}

/// 24 random bits, so that the number is less than 1 as a float too.
static double Uniform(void) {
  uint32_t bits = 0;
  arc4random_buf(&bits, sizeof(bits));
  return (double)(bits >> 8) / (double)(1 << 24);
}

/// Whether an element can be the whole number `number`; true for floating-point types, which round it.
static BOOL Holds(ExecuTorchDataType dataType, long long number) {
  switch (dataType) {
    case ExecuTorchDataTypeBool:
      return number == 0 || number == 1;
    case ExecuTorchDataTypeByte:
      return number >= 0 && number <= UINT8_MAX;
    case ExecuTorchDataTypeChar:
      return number >= INT8_MIN && number <= INT8_MAX;
    case ExecuTorchDataTypeShort:
      return number >= INT16_MIN && number <= INT16_MAX;
    case ExecuTorchDataTypeInt:
      return number >= INT32_MIN && number <= INT32_MAX;
    case ExecuTorchDataTypeUInt16:
      return number >= 0 && number <= UINT16_MAX;
    case ExecuTorchDataTypeUInt32:
      return number >= 0 && number <= UINT32_MAX;
    case ExecuTorchDataTypeUInt64:
      return number >= 0;
    default:
      return YES;
  }
}

@implementation ExecuTorchTensor (Factories)

+ (instancetype)tensorWithShape:(NSArray<NSNumber *> *)shape
                       dataType:(ExecuTorchDataType)dataType
                        numbers:(NSNumber * (^)(void))numbers {
  ExecuTorchTensor *tensor = [self zerosTensorWithShape:shape dataType:dataType];
  void *data = et_tensor_mutable_data(tensor.runtimeTensor);
  for (NSInteger i = 0; i < tensor.count; ++i) {
    ExecuTorchSetElement(dataType, data, (NSUInteger)i, numbers());
  }
  return tensor;
}

+ (instancetype)zerosTensorWithShape:(NSArray<NSNumber *> *)shape dataType:(ExecuTorchDataType)dataType {
  return [[self alloc] initWithZerosOfShape:shape dataType:dataType];
}

+ (instancetype)zerosTensorLikeTensor:(ExecuTorchTensor *)tensor {
  return [self zerosTensorWithShape:tensor.shape dataType:tensor.dataType];
}

// The runtime's own memory is zeroed in any case.
+ (instancetype)emptyTensorWithShape:(NSArray<NSNumber *> *)shape dataType:(ExecuTorchDataType)dataType {
  return [self zerosTensorWithShape:shape dataType:dataType];
}

+ (instancetype)emptyTensorLikeTensor:(ExecuTorchTensor *)tensor {
  return [self zerosTensorLikeTensor:tensor];
}

+ (instancetype)fullTensorWithShape:(NSArray<NSNumber *> *)shape
                             scalar:(NSNumber *)scalar
                           dataType:(ExecuTorchDataType)dataType {
  return [self tensorWithShape:shape
                      dataType:dataType
                       numbers:^NSNumber * {
                         return scalar;
                       }];
}

+ (instancetype)fullTensorLikeTensor:(ExecuTorchTensor *)tensor scalar:(NSNumber *)scalar {
  return [self fullTensorWithShape:tensor.shape scalar:scalar dataType:tensor.dataType];
}

+ (instancetype)onesTensorWithShape:(NSArray<NSNumber *> *)shape dataType:(ExecuTorchDataType)dataType {
  return [self fullTensorWithShape:shape scalar:@1 dataType:dataType];
}

+ (instancetype)onesTensorLikeTensor:(ExecuTorchTensor *)tensor {
  return [self onesTensorWithShape:tensor.shape dataType:tensor.dataType];
}

+ (instancetype)randTensorWithShape:(NSArray<NSNumber *> *)shape dataType:(ExecuTorchDataType)dataType {
  return [self tensorWithShape:shape
                      dataType:dataType
                       numbers:^NSNumber * {
                         return @(Uniform());
                       }];
}

+ (instancetype)randTensorLikeTensor:(ExecuTorchTensor *)tensor {
  return [self randTensorWithShape:tensor.shape dataType:tensor.dataType];
}

// Box and Muller's method.
+ (instancetype)randnTensorWithShape:(NSArray<NSNumber *> *)shape dataType:(ExecuTorchDataType)dataType {
  return [self tensorWithShape:shape
                      dataType:dataType
                       numbers:^NSNumber * {
                         return @(sqrt(-2 * log(1 - Uniform())) * cos(2 * M_PI * Uniform()));
                       }];
}

+ (instancetype)randnTensorLikeTensor:(ExecuTorchTensor *)tensor {
  return [self randnTensorWithShape:tensor.shape dataType:tensor.dataType];
}

+ (instancetype)randintTensorWithLow:(NSInteger)low
                                high:(NSInteger)high
                               shape:(NSArray<NSNumber *> *)shape
                            dataType:(ExecuTorchDataType)dataType {
  if (low >= high) {
    [NSException raise:NSInvalidArgumentException
                format:@"expected low < high, found %ld and %ld", (long)low, (long)high];
  }
  if (!Holds(dataType, low) || !Holds(dataType, high - 1)) {
    [NSException raise:NSInvalidArgumentException
                format:@"expected numbers that elements of type %s can be, found %ld to %ld", et_dtype_name(dataType),
                       (long)low, (long)high - 1];
  }
  const uint64_t range = (uint64_t)high - (uint64_t)low;
  return [self tensorWithShape:shape
                      dataType:dataType
                       numbers:^NSNumber * {
                         uint64_t bits = 0;
                         arc4random_buf(&bits, sizeof(bits));
                         return [NSNumber numberWithInteger:(NSInteger)((uint64_t)low + bits % range)];
                       }];
}

+ (instancetype)randintTensorLikeTensor:(ExecuTorchTensor *)tensor low:(NSInteger)low high:(NSInteger)high {
  return [self randintTensorWithLow:low high:high shape:tensor.shape dataType:tensor.dataType];
}

@end
