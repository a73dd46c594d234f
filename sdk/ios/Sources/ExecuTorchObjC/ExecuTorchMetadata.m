// SPDX-License-Identifier: BSD-3-Clause
#import "ExecuTorchMetadata.h"

#import "ExecuTorchInternal.h"

static NSString *Text(const char *text) {
  return (text != NULL ? [NSString stringWithUTF8String:text] : nil) ?: @"";
}

@implementation ExecuTorchTensorMetadata {
  NSArray<NSNumber *> *_shape;
  NSArray<NSNumber *> *_dimensionOrder;
  ExecuTorchDataType _dataType;
  BOOL _isMemoryPlanned;
  NSString *_name;
}
@synthesize shape = _shape;
@synthesize dimensionOrder = _dimensionOrder;
@synthesize dataType = _dataType;
@synthesize isMemoryPlanned = _isMemoryPlanned;
@synthesize name = _name;

- (instancetype)initWithInfo:(const et_value_info *)info name:(NSString *)name {
  self = [super init];
  NSMutableArray<NSNumber *> *shape = [NSMutableArray array];
  NSMutableArray<NSNumber *> *order = [NSMutableArray array];
  for (size_t i = 0; i < info->rank; ++i) {
    [shape addObject:@(info->sizes[i])];
    [order addObject:@(info->dim_order[i])];
  }
  _shape = [shape copy];
  _dimensionOrder = [order copy];
  _dataType = (ExecuTorchDataType)info->dtype;
  _isMemoryPlanned = info->is_memory_planned != 0;
  _name = [name copy];
  return self;
}

@end

/// Reads the tags of all inputs or of all outputs, and the metadata of the tensors among them. NO with an error.
typedef et_status (*Describe)(const et_method_meta *meta, size_t index, et_value_info *out, et_error **error);
static BOOL ReadValues(const et_method_meta *meta, size_t count, Describe describe, NSMutableArray *tags,
                       NSMutableDictionary *tensors, NSError **error) {
  for (size_t i = 0; i < count; ++i) {
    et_value_info info;
    et_error *failure = NULL;
    const et_status status = describe(meta, i, &info, &failure);
    if (!ExecuTorchCheck(status, failure, error)) {
      return NO;
    }
    [tags addObject:[NSNumber numberWithUnsignedInt:(unsigned)info.tag]];
    if (info.tag == ET_TAG_TENSOR) {
      [tensors setObject:[[ExecuTorchTensorMetadata alloc] initWithInfo:&info name:@""]
                  forKey:[NSNumber numberWithUnsignedInteger:i]];
    }
  }
  return YES;
}

@implementation ExecuTorchMethodMetadata {
  NSString *_name;
  NSArray<NSNumber *> *_inputValueTags;
  NSArray<NSNumber *> *_outputValueTags;
  NSDictionary<NSNumber *, ExecuTorchTensorMetadata *> *_inputTensorMetadata;
  NSDictionary<NSNumber *, ExecuTorchTensorMetadata *> *_outputTensorMetadata;
  NSArray<ExecuTorchTensorMetadata *> *_attributeTensorMetadata;
  NSArray<NSNumber *> *_memoryPlannedBufferSizes;
  NSArray<NSString *> *_backendNames;
  NSInteger _instructionCount;
}
@synthesize name = _name;
@synthesize inputValueTags = _inputValueTags;
@synthesize outputValueTags = _outputValueTags;
@synthesize inputTensorMetadata = _inputTensorMetadata;
@synthesize outputTensorMetadata = _outputTensorMetadata;
@synthesize attributeTensorMetadata = _attributeTensorMetadata;
@synthesize memoryPlannedBufferSizes = _memoryPlannedBufferSizes;
@synthesize backendNames = _backendNames;
@synthesize instructionCount = _instructionCount;

- (instancetype)initWithMeta:(const et_method_meta *)meta error:(NSError **)error {
  self = [super init];
  NSMutableArray *inputTags = [NSMutableArray array];
  NSMutableArray *outputTags = [NSMutableArray array];
  NSMutableDictionary *inputs = [NSMutableDictionary dictionary];
  NSMutableDictionary *outputs = [NSMutableDictionary dictionary];
  if (!ReadValues(meta, et_method_meta_input_count(meta), et_method_meta_input, inputTags, inputs, error) ||
      !ReadValues(meta, et_method_meta_output_count(meta), et_method_meta_output, outputTags, outputs, error)) {
    return nil;
  }
  NSMutableArray *attributes = [NSMutableArray array];
  for (size_t i = 0; i < et_method_meta_attribute_count(meta); ++i) {
    et_value_info info;
    et_error *failure = NULL;
    const et_status status = et_method_meta_attribute(meta, i, &info, &failure);
    if (!ExecuTorchCheck(status, failure, error)) {
      return nil;
    }
    NSString *name = Text(et_method_meta_attribute_name(meta, i));
    [attributes addObject:[[ExecuTorchTensorMetadata alloc] initWithInfo:&info name:name]];
  }
  NSMutableArray *sizes = [NSMutableArray array];
  for (size_t i = 0; i < et_method_meta_planned_buffer_count(meta); ++i) {
    [sizes addObject:[NSNumber numberWithUnsignedLongLong:et_method_meta_planned_buffer_bytes(meta, i)]];
  }
  NSMutableArray *backends = [NSMutableArray array];
  for (size_t i = 0; i < et_method_meta_backend_count(meta); ++i) {
    [backends addObject:Text(et_method_meta_backend(meta, i))];
  }
  _name = [Text(et_method_meta_name(meta)) copy];
  _inputValueTags = [inputTags copy];
  _outputValueTags = [outputTags copy];
  _inputTensorMetadata = [inputs copy];
  _outputTensorMetadata = [outputs copy];
  _attributeTensorMetadata = [attributes copy];
  _memoryPlannedBufferSizes = [sizes copy];
  _backendNames = [backends copy];
  _instructionCount = (NSInteger)et_method_meta_instruction_count(meta);
  return self;
}

@end
