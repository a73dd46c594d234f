// SPDX-License-Identifier: BSD-3-Clause
#import "ExecuTorchTensor.h"

#import "ExecuTorchInternal.h"

static const NSUInteger kMaxRank = 16;

NSInteger ExecuTorchSizeOfDataType(ExecuTorchDataType dataType) {
  return (NSInteger)et_dtype_size(dataType);
}

/// Raises for a mistake of the caller, where there is no NSError to report it with.
static void Require(et_status status, et_error *failure) {
  NSError *error = nil;
  if (!ExecuTorchCheck(status, failure, &error)) {
    [NSException raise:NSInvalidArgumentException format:@"%@", error.localizedDescription];
  }
}

/// Reads the sizes of `shape`, at most 16.
static NSUInteger ReadShape(NSArray<NSNumber *> *shape, int32_t sizes[]) {
  if (shape.count > kMaxRank) {
    [NSException
         raise:NSInvalidArgumentException
        format:@"expected at most %lu dimensions, found %lu", (unsigned long)kMaxRank, (unsigned long)shape.count];
  }
  NSUInteger rank = 0;
  for (NSNumber *number in shape) {
    const long long size = number.longLongValue;
    if (size < 0 || size > INT32_MAX) {
      [NSException raise:NSInvalidArgumentException format:@"expected sizes from 0 to %d, found %lld", INT32_MAX, size];
    }
    sizes[rank++] = (int32_t)size;
  }
  return rank;
}

static size_t ByteCount(NSArray<NSNumber *> *shape, ExecuTorchDataType dataType) {
  int32_t sizes[kMaxRank];
  const NSUInteger rank = ReadShape(shape, sizes);
  size_t bytes = et_dtype_size(dataType);
  for (NSUInteger i = 0; i < rank; ++i) {
    if (__builtin_mul_overflow(bytes, (size_t)sizes[i], &bytes)) {
      [NSException raise:NSInvalidArgumentException format:@"a tensor of these sizes is larger than memory"];
    }
  }
  return bytes;
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

/// The bytes of an NSData, which a tensor and its views use. They are copied before the first change, so their address
/// may change.
@interface ExecuTorchSharedBytes : NSObject
@property(nonatomic, readonly) void *pointer;
- (instancetype)initWithData:(NSData *)data;
- (void)prepareForChange;
@end

@implementation ExecuTorchSharedBytes {
  NSData *_data;
  BOOL _isOwn;
}

- (instancetype)initWithData:(NSData *)data {
  self = [super init];
  _data = data;
  return self;
}

- (void *)pointer {
  return (void *)_data.bytes;
}

- (void)prepareForChange {
  if (!_isOwn) {
    _data = [_data mutableCopy];
    _isOwn = YES;
  }
}

@end

@implementation ExecuTorchTensor {
  et_tensor *_runtimeTensor;
  id _owner;                      // keeps the memory; nil if the runtime owns it or the caller keeps it
  ExecuTorchSharedBytes *_bytes;  // the memory of this tensor and its views, if it is that of an NSData
}

- (instancetype)initWithRuntimeTensor:(et_tensor *)tensor {
  self = [super init];
  _runtimeTensor = tensor;
  return self;
}

- (void)dealloc {
  et_tensor_free(_runtimeTensor);
}

/// Another tensor over memory like that of `other`.
static et_tensor *Wrap(const et_tensor *other, void *pointer) {
  et_tensor *made = NULL;
  et_error *failure = NULL;
  const et_status status =
      et_tensor_wrap(et_tensor_dtype(other), et_tensor_sizes(other), et_tensor_rank(other), et_tensor_dim_order(other),
                     pointer, et_tensor_nbytes(other), NULL, NULL, &made, &failure);
  Require(status, failure);
  return made;
}

- (et_tensor *)runtimeTensor {
  // Another view of the same bytes may have copied them.
  if (_bytes != nil && _bytes.pointer != et_tensor_data(_runtimeTensor)) {
    et_tensor *made = Wrap(_runtimeTensor, _bytes.pointer);
    et_tensor_free(_runtimeTensor);
    _runtimeTensor = made;
  }
  return _runtimeTensor;
}

- (instancetype)initWithTensor:(ExecuTorchTensor *)tensor {
  et_tensor *other = tensor.runtimeTensor;
  self = [self initWithRuntimeTensor:Wrap(other, et_tensor_mutable_data(other))];
  _owner = tensor;
  _bytes = tensor->_bytes;
  return self;
}

- (instancetype)initWithBytesNoCopy:(void *)pointer
                              shape:(NSArray<NSNumber *> *)shape
                           dataType:(ExecuTorchDataType)dataType {
  int32_t sizes[kMaxRank];
  const NSUInteger rank = ReadShape(shape, sizes);
  const size_t bytes = ByteCount(shape, dataType);
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
  const size_t wanted = ByteCount(shape, dataType);
  if (data.length != wanted) {
    [NSException raise:NSInvalidArgumentException
                format:@"a tensor of these sizes has %zu bytes, found %lu", wanted, (unsigned long)data.length];
  }
  data = [data copy];  // of an NSMutableData, which may move or change its bytes
  const NSInteger size = ExecuTorchSizeOfDataType(dataType);
  if (size > 0 && (uintptr_t)data.bytes % (uintptr_t)size != 0) {
    return [self initWithBytes:data.bytes shape:shape dataType:dataType];
  }
  self = [self initWithBytesNoCopy:(void *)data.bytes shape:shape dataType:dataType];
  _bytes = [[ExecuTorchSharedBytes alloc] initWithData:data];
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
  NSUInteger index = 0;
  for (NSNumber *scalar in scalars) {
    ExecuTorchSetElement(dataType, et_tensor_mutable_data(_runtimeTensor), index++, scalar);
  }
  return self;
}

- (instancetype)initWithScalars:(NSArray<NSNumber *> *)scalars {
  return [self initWithScalars:scalars shape:@[ @(scalars.count) ] dataType:ExecuTorchDataTypeFloat];
}

- (instancetype)initWithFloat:(float)scalar {
  return [self initWithBytes:&scalar shape:@[] dataType:ExecuTorchDataTypeFloat];
}

- (instancetype)initWithZerosOfShape:(NSArray<NSNumber *> *)shape dataType:(ExecuTorchDataType)dataType {
  return [self initWithRuntimeTensor:NewTensor(shape, dataType)];
}

- (id)copyWithZone:(NSZone *)zone {
  et_tensor *made = NULL;
  et_error *failure = NULL;
  const et_status status = et_tensor_clone(self.runtimeTensor, &made, &failure);
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

- (NSArray<NSNumber *> *)strides {
  // Contiguous in the dimension order: each stride is the product of the sizes of the dimensions after it there.
  const size_t rank = et_tensor_rank(_runtimeTensor);
  long long strides[kMaxRank];
  long long stride = 1;
  for (size_t i = rank; i > 0; --i) {
    const size_t dimension = et_tensor_dim_order(_runtimeTensor)[i - 1];
    const int32_t size = et_tensor_sizes(_runtimeTensor)[dimension];
    strides[dimension] = stride;
    stride *= size > 1 ? size : 1;
  }
  NSMutableArray<NSNumber *> *result = [NSMutableArray array];
  for (size_t i = 0; i < rank; ++i) {
    [result addObject:@(strides[i])];
  }
  return result;
}

- (ExecuTorchShapeDynamism)shapeDynamism {
  return ExecuTorchShapeDynamismDynamicBound;
}

- (NSInteger)count {
  return (NSInteger)et_tensor_numel(_runtimeTensor);
}

- (void)bytesWithHandler:(void(NS_NOESCAPE ^)(const void *, NSInteger, ExecuTorchDataType))handler {
  handler(et_tensor_data(self.runtimeTensor), self.count, self.dataType);
}

- (void)mutableBytesWithHandler:(void(NS_NOESCAPE ^)(void *, NSInteger, ExecuTorchDataType))handler {
  [_bytes prepareForChange];
  handler(et_tensor_mutable_data(self.runtimeTensor), self.count, self.dataType);
}

- (BOOL)resizeToShape:(NSArray<NSNumber *> *)shape error:(NSError **)error {
  if ([shape isEqual:self.shape]) {
    return YES;
  }
  if (ByteCount(shape, self.dataType) != et_tensor_nbytes(_runtimeTensor)) {
    if (error != NULL) {
      NSString *text = [NSString stringWithFormat:@"expected a shape of %ld elements, as [%@] has; found [%@]",
                                                  (long)self.count, [self.shape componentsJoinedByString:@", "],
                                                  [shape componentsJoinedByString:@", "]];
      *error = [NSError errorWithDomain:ExecuTorchErrorDomain
                                   code:ExecuTorchErrorCodeInvalidArgument
                               userInfo:@{NSLocalizedDescriptionKey : text}];
    }
    return NO;
  }
  int32_t sizes[kMaxRank];
  const NSUInteger rank = ReadShape(shape, sizes);
  et_error *failure = NULL;
  et_tensor *current = self.runtimeTensor;
  if (rank == et_tensor_rank(current)) {
    const et_status status = et_tensor_resize(current, sizes, rank, &failure);
    return ExecuTorchCheck(status, failure, error);
  }
  // Makes another tensor over the same memory. It keeps the first one, which may own the memory.
  et_tensor *made = NULL;
  const et_status status = et_tensor_wrap(et_tensor_dtype(current), sizes, rank, NULL, et_tensor_mutable_data(current),
                                          et_tensor_nbytes(current), NULL, NULL, &made, &failure);
  if (!ExecuTorchCheck(status, failure, error)) {
    return NO;
  }
  ExecuTorchTensor *before = [[ExecuTorchTensor alloc] initWithRuntimeTensor:current];
  before->_owner = _owner;
  _runtimeTensor = made;
  _owner = before;
  return YES;
}

- (BOOL)isEqual:(id)other {
  if (![other isKindOfClass:[ExecuTorchTensor class]]) {
    return NO;
  }
  ExecuTorchTensor *tensor = other;
  return self.dataType == tensor.dataType && [self.shape isEqual:tensor.shape] &&
         [self.dimensionOrder isEqual:tensor.dimensionOrder] &&
         (self.count == 0 || memcmp(et_tensor_data(self.runtimeTensor), et_tensor_data(tensor.runtimeTensor),
                                    et_tensor_nbytes(_runtimeTensor)) == 0);
}

- (NSUInteger)hash {
  return self.shape.hash ^ (NSUInteger)self.dataType;
}

- (NSString *)description {
  return [NSString stringWithFormat:@"Tensor of %s, %@", et_dtype_name(self.dataType), self.shape];
}

@end
