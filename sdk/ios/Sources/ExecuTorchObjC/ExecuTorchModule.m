// SPDX-License-Identifier: BSD-3-Clause
#import "ExecuTorchModule.h"

#import "ExecuTorchInternal.h"

@implementation ExecuTorchCancellation {
  et_cancellation *_handle;
}
@synthesize handle = _handle;

- (instancetype)init {
  self = [super init];
  et_cancellation_create(&_handle, NULL);  // nil if memory is exhausted; then `cancel` has no effect
  return self;
}

- (void)dealloc {
  et_cancellation_free(_handle);
}

- (void)cancel {
  et_cancellation_cancel(_handle);
}

- (BOOL)isCancelled {
  return et_cancellation_is_cancelled(_handle);
}

@end

/// A copy of a tensor of a result. Nil with an error.
static ExecuTorchTensor *ReadTensor(const et_tensor *tensor, NSError **error) {
  et_tensor *copy = NULL;
  et_error *failure = NULL;
  const et_status status = et_tensor_clone(tensor, &copy, &failure);
  return ExecuTorchCheck(status, failure, error) ? [[ExecuTorchTensor alloc] initWithRuntimeTensor:copy] : nil;
}

/// An output that is a list. Nil with an error.
static ExecuTorchValue *ReadList(const et_value *value, NSError **error) {
  const et_span span = value->payload.as_span;
  NSMutableArray *list = [NSMutableArray array];
  for (size_t i = 0; i < span.size; ++i) {
    id element = nil;
    switch (value->tag) {
      case ET_TAG_LIST_BOOL:
        element = [NSNumber numberWithBool:((const uint8_t *)span.data)[i] != 0];
        break;
      case ET_TAG_LIST_DOUBLE:
        element = [NSNumber numberWithDouble:((const double *)span.data)[i]];
        break;
      case ET_TAG_LIST_INT:
        element = [NSNumber numberWithLongLong:((const int64_t *)span.data)[i]];
        break;
      default: {
        const et_tensor *tensor = ((const et_tensor *const *)span.data)[i];
        element = tensor == NULL ? (id)[NSNull null] : ReadTensor(tensor, error);
        break;
      }
    }
    if (element == nil) {
      return nil;
    }
    [list addObject:element];
  }
  return [ExecuTorchValue valueWithTag:(ExecuTorchValueTag)value->tag list:list];
}

/// An output as a value; tensors are copied. Nil with an error.
static ExecuTorchValue *ReadOutput(const et_value *value, NSError **error) {
  switch (value->tag) {
    case ET_TAG_NONE:
      return [[ExecuTorchValue alloc] init];
    case ET_TAG_TENSOR: {
      ExecuTorchTensor *tensor = ReadTensor(value->payload.as_tensor, error);
      return tensor != nil ? [ExecuTorchValue valueWithTensor:tensor] : nil;
    }
    case ET_TAG_LIST_BOOL:
    case ET_TAG_LIST_DOUBLE:
    case ET_TAG_LIST_INT:
    case ET_TAG_LIST_TENSOR:
    case ET_TAG_LIST_OPTIONAL_TENSOR:
      return ReadList(value, error);
    case ET_TAG_STRING: {
      NSString *text = [[NSString alloc] initWithBytes:value->payload.as_span.data
                                                length:value->payload.as_span.size
                                              encoding:NSUTF8StringEncoding];
      if (text == nil && error != NULL) {
        *error = [NSError errorWithDomain:ExecuTorchErrorDomain
                                     code:ExecuTorchErrorCodeInvalidType
                                 userInfo:@{NSLocalizedDescriptionKey : @"an output is a text that is not UTF-8"}];
      }
      return text != nil ? [ExecuTorchValue valueWithString:text] : nil;
    }
    case ET_TAG_DOUBLE:
      return [ExecuTorchValue valueWithDouble:value->payload.as_double];
    case ET_TAG_INT:
      return [ExecuTorchValue valueWithInteger:(NSInteger)value->payload.as_int];
    case ET_TAG_BOOL:
      return [ExecuTorchValue valueWithBoolean:value->payload.as_bool != 0];
    default:
      if (error != NULL) {
        NSString *text = [NSString
            stringWithFormat:@"an output is of type %s, which ExecuTorchValue does not have", et_tag_name(value->tag)];
        *error = [NSError errorWithDomain:ExecuTorchErrorDomain
                                     code:ExecuTorchErrorCodeNotSupported
                                 userInfo:@{NSLocalizedDescriptionKey : text}];
      }
      return nil;
  }
}

/// An input for the C interface; `input` owns its memory.
static et_value RuntimeValue(ExecuTorchValue *input) {
  et_value value = {(et_tag)input.tag, 0, {0}};
  switch (input.tag) {
    case ExecuTorchValueTagTensor:
      value.payload.as_tensor = input.tensorValue.runtimeTensor;
      break;
    case ExecuTorchValueTagString: {
      NSString *text = input.stringValue;  // may have a NUL inside
      value.payload.as_span = (et_span){text.UTF8String, [text lengthOfBytesUsingEncoding:NSUTF8StringEncoding]};
      break;
    }
    case ExecuTorchValueTagDouble:
      value.payload.as_double = input.doubleValue;
      break;
    case ExecuTorchValueTagInteger:
      value.payload.as_int = input.integerValue;
      break;
    case ExecuTorchValueTagBoolean:
      value.payload.as_bool = input.boolValue ? 1 : 0;
      break;
    default:
      break;  // no value; the runtime refuses lists, with its own message
  }
  return value;
}

@implementation ExecuTorchModule {
  NSString *_filePath;
  NSArray<NSString *> *_dataFilePaths;
  ExecuTorchModuleLoadMode _loadMode;
  et_module *_module;  // NULL until it is loaded
}

- (instancetype)initWithFilePath:(NSString *)filePath {
  return [self initWithFilePath:filePath loadMode:ExecuTorchModuleLoadModeFile];
}

- (instancetype)initWithFilePath:(NSString *)filePath loadMode:(ExecuTorchModuleLoadMode)loadMode {
  return [self initWithFilePath:filePath dataFilePaths:@[] loadMode:loadMode];
}

- (instancetype)initWithFilePath:(NSString *)filePath
                   dataFilePaths:(NSArray<NSString *> *)dataFilePaths
                        loadMode:(ExecuTorchModuleLoadMode)loadMode {
  self = [super init];
  _filePath = [filePath copy];
  _dataFilePaths = [dataFilePaths copy];
  _loadMode = loadMode;
  return self;
}

- (void)dealloc {
  et_module_free(_module);
}

static et_status LoadFile(NSString *path, NSArray<NSString *> *dataPaths, et_load_mode mode, BOOL verify,
                          et_module **out, et_error **failure) {
  et_options *options = NULL;
  et_status status = et_options_create(&options, failure);
  if (status == ET_STATUS_OK) {
    status = et_options_set_load_mode(options, mode, failure);
  }
  if (status == ET_STATUS_OK) {
    status = et_options_set_verify(options, verify, failure);
  }
  for (NSString *dataPath in dataPaths) {
    if (status == ET_STATUS_OK) {
      status = et_options_add_data_file(options, dataPath.fileSystemRepresentation, failure);
    }
  }
  if (status == ET_STATUS_OK) {
    status = et_module_load_file(path.fileSystemRepresentation, options, out, failure);
  }
  et_options_free(options);
  return status;
}

- (BOOL)load:(NSError **)error {
  return [self loadWithVerification:ExecuTorchVerificationInternalConsistency error:error];
}

- (BOOL)loadWithVerification:(ExecuTorchVerification)verification error:(NSError **)error {
  @synchronized(self) {
    if (_module != NULL) {
      return YES;
    }
    et_error *failure = NULL;
    const et_status status = LoadFile(_filePath, _dataFilePaths, (et_load_mode)_loadMode,
                                      verification != ExecuTorchVerificationMinimal, &_module, &failure);
    return ExecuTorchCheck(status, failure, error);
  }
}

- (BOOL)isLoaded {
  @synchronized(self) {
    return _module != NULL;
  }
}

- (BOOL)loadMethod:(NSString *)methodName error:(NSError **)error {
  @synchronized(self) {
    if (![self load:error]) {
      return NO;
    }
    et_error *failure = NULL;
    const et_status status = et_module_load_method(_module, methodName.UTF8String, &failure);
    return ExecuTorchCheck(status, failure, error);
  }
}

- (BOOL)isMethodLoaded:(NSString *)methodName {
  @synchronized(self) {
    return et_module_is_method_loaded(_module, methodName.UTF8String);
  }
}

- (BOOL)unloadMethod:(NSString *)methodName {
  @synchronized(self) {
    return [self isMethodLoaded:methodName] &&
           et_module_unload_method(_module, methodName.UTF8String, NULL) == ET_STATUS_OK;
  }
}

- (NSSet<NSString *> *)methodNames:(NSError **)error {
  @synchronized(self) {
    if (![self load:error]) {
      return nil;
    }
    NSMutableSet<NSString *> *names = [NSMutableSet set];
    for (size_t i = 0; i < et_module_method_count(_module); ++i) {
      NSString *name = [NSString stringWithUTF8String:et_method_meta_name(et_module_method_at(_module, i))];
      [names addObject:name ?: @""];
    }
    return names;
  }
}

- (ExecuTorchMethodMetadata *)methodMetadata:(NSString *)methodName error:(NSError **)error {
  @synchronized(self) {
    if (![self load:error]) {
      return nil;
    }
    const et_method_meta *meta = NULL;
    et_error *failure = NULL;
    const et_status status = et_module_method(_module, methodName.UTF8String, &meta, &failure);
    if (!ExecuTorchCheck(status, failure, error)) {
      return nil;
    }
    return [[ExecuTorchMethodMetadata alloc] initWithMeta:meta error:error];
  }
}

- (NSArray<ExecuTorchValue *> *)executeMethod:(NSString *)methodName
                                   withInputs:(NSArray<ExecuTorchValue *> *)inputs
                                        error:(NSError **)error {
  return [self executeMethod:methodName withInputs:inputs cancellation:nil error:error];
}

- (NSArray<ExecuTorchValue *> *)executeMethod:(NSString *)methodName
                                   withInputs:(NSArray<ExecuTorchValue *> *)inputs
                                 cancellation:(ExecuTorchCancellation *)cancellation
                                        error:(NSError **)error {
  @synchronized(self) {
    if (![self load:error]) {
      return nil;
    }
    NSMutableData *values = [NSMutableData dataWithLength:inputs.count * sizeof(et_value)];
    et_value *runtimeValues = values.mutableBytes;
    NSUInteger count = 0;
    for (ExecuTorchValue *input in inputs) {
      runtimeValues[count++] = RuntimeValue(input);
    }
    et_result *result = NULL;
    et_error *failure = NULL;
    const et_status status = et_module_execute_cancellable(_module, methodName.UTF8String, runtimeValues, inputs.count,
                                                           cancellation.handle, &result, &failure);
    if (!ExecuTorchCheck(status, failure, error)) {
      return nil;
    }
    NSMutableArray<ExecuTorchValue *> *outputs = [NSMutableArray array];
    for (size_t i = 0; outputs != nil && i < et_result_size(result); ++i) {
      ExecuTorchValue *output = ReadOutput(&et_result_values(result)[i], error);
      if (output == nil) {
        outputs = nil;
      } else {
        [outputs addObject:output];
      }
    }
    et_result_free(result);
    return outputs;
  }
}

- (NSArray<ExecuTorchValue *> *)executeMethod:(NSString *)methodName
                                  withTensors:(NSArray<ExecuTorchTensor *> *)inputs
                                        error:(NSError **)error {
  NSMutableArray<ExecuTorchValue *> *values = [NSMutableArray array];
  for (ExecuTorchTensor *input in inputs) {
    [values addObject:[ExecuTorchValue valueWithTensor:input]];
  }
  return [self executeMethod:methodName withInputs:values error:error];
}

- (NSArray<ExecuTorchValue *> *)executeMethod:(NSString *)methodName
                                    withInput:(ExecuTorchValue *)input
                                        error:(NSError **)error {
  return [self executeMethod:methodName withInputs:@[ input ] error:error];
}

- (NSArray<ExecuTorchValue *> *)executeMethod:(NSString *)methodName error:(NSError **)error {
  return [self executeMethod:methodName withInputs:@[] error:error];
}

- (NSArray<ExecuTorchValue *> *)forwardWithInputs:(NSArray<ExecuTorchValue *> *)inputs error:(NSError **)error {
  return [self executeMethod:@"forward" withInputs:inputs error:error];
}

- (NSArray<ExecuTorchValue *> *)forwardWithTensors:(NSArray<ExecuTorchTensor *> *)inputs error:(NSError **)error {
  return [self executeMethod:@"forward" withTensors:inputs error:error];
}

- (NSArray<ExecuTorchValue *> *)forwardWithInput:(ExecuTorchValue *)input error:(NSError **)error {
  return [self executeMethod:@"forward" withInputs:@[ input ] error:error];
}

- (NSArray<ExecuTorchValue *> *)forwardWithTensor:(ExecuTorchTensor *)input error:(NSError **)error {
  return [self executeMethod:@"forward" withTensors:@[ input ] error:error];
}

@end
