// SPDX-License-Identifier: BSD-3-Clause
#import "ExecuTorchTensor.h"

#import "ExecuTorchInternal.h"

static const NSUInteger kMaxRank = 16;

NSInteger ExecuTorchSizeOfDataType(ExecuTorchDataType dataType) {
  return (NSInteger)et_dtype_size(dataType);
}

/// Mistakes of the caller, which cannot be told by an NSError here.
static void Require(et_status status, et_error *failure) {
  NSError *error = nil;
  if (!ExecuTorchCheck(status, failure, &error)) {
    [NSException raise:NSInvalidArgumentException format:@"%@", error.localizedDescription];
  }
}

/// The sizes of `shape`, of which there may be 16.
static NSUInteger ReadShape(NSArray<NSNumber *> *shape, int32_t sizes[]) {
  if (shape.count > kMaxRank) {
    [NSException
         raise:NSInvalidArgumentException
        format:@"expected at most %lu dimensions, found %lu", (unsigned long)kMaxRank, (unsigned long)shape.count];
  }
  for (NSUInteger i = 0; i < shape.count; ++i) {
    const long long size = shape[i].longLongValue;
    if (size < 0 || size > INT32_MAX) {
      [NSException raise:NSInvalidArgumentException format:@"expected sizes from 0 to %d, found %lld", INT32_MAX, size];
    }
    sizes[i] = (int32_t)size;
  }
  return shape.count;
}

static et_tensor *NewTensor(NSArray<NSNumber *> *shape, ExecuTorchDataType dataType) {
  int32_t sizes[kMaxRank];
  const NSUInteger rank = ReadShape(shape, sizes);
  et_tensor *made = NULL;
  et_error *failure = NULL;
  const et_status status = et_tensor_create(dataType, sizes, rank, &made, &failure);
  Require(status, failure);
  return made;
}

static void SetElement(ExecuTorchDataType dataType, void *data, NSUInteger index, NSNumber *number) {
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

@implementation ExecuTorchTensor

- (instancetype)initWithRuntimeTensor:(et_tensor *)tensor {
  self = [super init];
  _runtimeTensor = tensor;
  return self;
}

- (void)dealloc {
  et_tensor_free(_runtimeTensor);
}

- (instancetype)initWithBytesNoCopy:(void *)pointer
                              shape:(NSArray<NSNumber *> *)shape
                           dataType:(ExecuTorchDataType)dataType {
  int32_t sizes[kMaxRank];
  const NSUInteger rank = ReadShape(shape, sizes);
  size_t bytes = et_dtype_size(dataType);
  for (NSUInteger i = 0; i < rank; ++i) {
    if (__builtin_mul_overflow(bytes, (size_t)sizes[i], &bytes)) {
      [NSException raise:NSInvalidArgumentException format:@"a tensor of these sizes is larger than memory"];
    }
  }
  et_tensor *made = NULL;
  et_error *failure = NULL;
  const et_status status = et_tensor_wrap(dataType, sizes, rank, NULL, pointer, bytes, NULL, NULL, &made, &failure);
  Require(status, failure);
  return [self initWithRuntimeTensor:made];
}

- (instancetype)initWithBytes:(const void *)pointer
                        shape:(NSArray<NSNumber *> *)shape
                     dataType:(ExecuTorchDataType)dataType {
  self = [self initWithRuntimeTensor:NewTensor(shape, dataType)];
  const size_t bytes = et_tensor_nbytes(_runtimeTensor);
  if (bytes > 0) {
    memcpy(et_tensor_mutable_data(_runtimeTensor), pointer, bytes);
  }
  return self;
}

- (instancetype)initWithData:(NSData *)data shape:(NSArray<NSNumber *> *)shape dataType:(ExecuTorchDataType)dataType {
  self = [self initWithRuntimeTensor:NewTensor(shape, dataType)];
  const size_t bytes = et_tensor_nbytes(_runtimeTensor);
  if (data.length != bytes) {
    [NSException raise:NSInvalidArgumentException
                format:@"a tensor of these sizes has %zu bytes, found %lu", bytes, (unsigned long)data.length];
  }
  [data getBytes:et_tensor_mutable_data(_runtimeTensor) length:bytes];
  return self;
}

- (instancetype)initWithScalars:(NSArray<NSNumber *> *)scalars
                          shape:(NSArray<NSNumber *> *)shape
                       dataType:(ExecuTorchDataType)dataType {
  self = [self initWithRuntimeTensor:NewTensor(shape, dataType)];
  const size_t count = et_tensor_numel(_runtimeTensor);
  if (scalars.count != count) {
    [NSException raise:NSInvalidArgumentException
                format:@"a tensor of these sizes has %zu elements, found %lu", count, (unsigned long)scalars.count];
  }
  for (NSUInteger i = 0; i < count; ++i) {
    SetElement(dataType, et_tensor_mutable_data(_runtimeTensor), i, scalars[i]);
  }
  return self;
}

- (instancetype)initWithScalars:(NSArray<NSNumber *> *)scalars {
  return [self initWithScalars:scalars shape:@[ @(scalars.count) ] dataType:ExecuTorchDataTypeFloat];
}

- (instancetype)initWithFloat:(float)scalar {
  return [self initWithBytes:&scalar shape:@[] dataType:ExecuTorchDataTypeFloat];
}

+ (instancetype)zerosTensorWithShape:(NSArray<NSNumber *> *)shape dataType:(ExecuTorchDataType)dataType {
  return [[self alloc] initWithRuntimeTensor:NewTensor(shape, dataType)];
}

- (id)copyWithZone:(NSZone *)zone {
  et_tensor *made = NULL;
  et_error *failure = NULL;
  const et_status status = et_tensor_clone(_runtimeTensor, &made, &failure);
  Require(status, failure);
  return [[[self class] allocWithZone:zone] initWithRuntimeTensor:made];
}

- (ExecuTorchDataType)dataType {
  return (ExecuTorchDataType)et_tensor_dtype(_runtimeTensor);
}

- (NSArray<NSNumber *> *)shape {
  NSMutableArray<NSNumber *> *shape = [NSMutableArray array];
  for (size_t i = 0; i < et_tensor_rank(_runtimeTensor); ++i) {
    [shape addObject:@(et_tensor_sizes(_runtimeTensor)[i])];
  }
  return shape;
}

- (NSArray<NSNumber *> *)dimensionOrder {
  NSMutableArray<NSNumber *> *order = [NSMutableArray array];
  for (size_t i = 0; i < et_tensor_rank(_runtimeTensor); ++i) {
    [order addObject:@(et_tensor_dim_order(_runtimeTensor)[i])];
  }
  return order;
}

- (NSInteger)count {
  return (NSInteger)et_tensor_numel(_runtimeTensor);
}

- (void)bytesWithHandler:(void(NS_NOESCAPE ^)(const void *, NSInteger, ExecuTorchDataType))handler {
  handler(et_tensor_data(_runtimeTensor), self.count, self.dataType);
}

- (void)mutableBytesWithHandler:(void(NS_NOESCAPE ^)(void *, NSInteger, ExecuTorchDataType))handler {
  handler(et_tensor_mutable_data(_runtimeTensor), self.count, self.dataType);
}

- (BOOL)resizeToShape:(NSArray<NSNumber *> *)shape error:(NSError **)error {
  int32_t sizes[kMaxRank];
  const NSUInteger rank = ReadShape(shape, sizes);
  et_error *failure = NULL;
  const et_status status = et_tensor_resize(_runtimeTensor, sizes, rank, &failure);
  return ExecuTorchCheck(status, failure, error);
}

- (NSString *)description {
  return [NSString stringWithFormat:@"Tensor of %s, %@", et_dtype_name(self.dataType), self.shape];
}

@end
