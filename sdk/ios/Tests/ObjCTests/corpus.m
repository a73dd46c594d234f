// SPDX-License-Identifier: BSD-3-Clause
// Every program of tests/data/corpus gives PyTorch eager's outputs through the Objective-C classes.
#include <math.h>
#include <string.h>

#import "ExecuTorchObjC.h"
#import "check.h"

static NSString *folder;

static NSString *PathOf(NSString *program, NSString *file) {
  return [[folder stringByAppendingPathComponent:program] stringByAppendingPathComponent:file];
}

static ExecuTorchDataType DataTypeOf(NSString *name) {
  NSDictionary<NSString *, NSNumber *> *types = @{
    @"uint8" : @(ExecuTorchDataTypeByte),
    @"int8" : @(ExecuTorchDataTypeChar),
    @"int16" : @(ExecuTorchDataTypeShort),
    @"int32" : @(ExecuTorchDataTypeInt),
    @"int64" : @(ExecuTorchDataTypeLong),
    @"float16" : @(ExecuTorchDataTypeHalf),
    @"float32" : @(ExecuTorchDataTypeFloat),
    @"float64" : @(ExecuTorchDataTypeDouble),
    @"bool" : @(ExecuTorchDataTypeBool),
    @"bfloat16" : @(ExecuTorchDataTypeBFloat16),
  };
  return (ExecuTorchDataType)Of(types, name).intValue;
}

/// Where the element with a row-major index is.
static size_t OffsetOf(size_t index, NSArray<NSNumber *> *shape, NSArray<NSNumber *> *strides) {
  size_t offset = 0;
  for (NSUInteger i = shape.count; i > 0; --i) {
    const size_t size = At(shape, i - 1).unsignedIntegerValue;
    offset += index % size * At(strides, i - 1).unsignedIntegerValue;
    index /= size;
  }
  return offset;
}

/// The value of an item, whose tensors are contiguous in their files; nil for a layout that this class cannot make.
static ExecuTorchValue *ValueOf(NSDictionary *item, NSString *program) {
  NSString *type = Of(item, @"type");
  if ([type isEqual:@"tensor"]) {
    NSData *data = [NSData dataWithContentsOfFile:PathOf(program, Of(item, @"file"))];
    return [ExecuTorchValue valueWithTensor:[[ExecuTorchTensor alloc] initWithData:data
                                                                             shape:Of(item, @"shape")
                                                                          dataType:DataTypeOf(Of(item, @"dtype"))]];
  }
  if ([type isEqual:@"int"]) {
    return [ExecuTorchValue valueWithInteger:[Of(item, @"value") integerValue]];
  }
  if ([type isEqual:@"double"]) {
    return [ExecuTorchValue valueWithDouble:[Of(item, @"value") doubleValue]];
  }
  if ([type isEqual:@"bool"]) {
    return [ExecuTorchValue valueWithBoolean:[Of(item, @"value") boolValue]];
  }
  if ([type isEqual:@"string"]) {
    return [ExecuTorchValue valueWithString:Of(item, @"value")];
  }
  return [[ExecuTorchValue alloc] init];
}

static double ElementOf(const void *data, size_t index, ExecuTorchDataType type) {
  if (type == ExecuTorchDataTypeDouble) {
    return ((const double *)data)[index];
  }
  if (type == ExecuTorchDataTypeHalf) {
    return (double)((const _Float16 *)data)[index];
  }
  return (double)((const float *)data)[index];
}

static void Compare(ExecuTorchValue *found, ExecuTorchValue *wanted, NSString *program) {
  CHECK(found.tag == wanted.tag, program);
  if (!found.isTensor) {
    CHECK([found isEqual:wanted], program);
    return;
  }
  ExecuTorchTensor *tensor = found.tensorValue;
  CHECK([tensor.shape isEqual:wanted.tensorValue.shape] && tensor.dataType == wanted.tensorValue.dataType, program);
  [tensor bytesWithHandler:^(const void *data, NSInteger count, ExecuTorchDataType type) {
    [wanted.tensorValue bytesWithHandler:^(const void *truth, NSInteger wantedCount, ExecuTorchDataType wantedType) {
      CHECK(count == wantedCount && type == wantedType, program);
      const BOOL isReal =
          type == ExecuTorchDataTypeFloat || type == ExecuTorchDataTypeDouble || type == ExecuTorchDataTypeHalf;
      // The effect of one rounding in a sum of a few hundred terms, relative to |value| + min(1, the largest |value|).
      // Eager quantises the activations of this program with one scale, the backend each row separately.
      const double relative = [program isEqual:@"q8_dynamic_linear_xnn"] ? 1e-2
                              : type == ExecuTorchDataTypeHalf           ? 2e-3
                              : type == ExecuTorchDataTypeDouble         ? 1e-12
                                                                         : 1e-5;
      const size_t size = (size_t)ExecuTorchSizeOfDataType(type);
      double largest = 0;
      for (size_t i = 0; isReal && i < (size_t)count; ++i) {
        const double value = fabs(ElementOf(truth, i, type));
        largest = isfinite(value) && value > largest ? value : largest;
      }
      for (size_t i = 0; i < (size_t)count; ++i) {
        const size_t at = OffsetOf(i, tensor.shape, tensor.strides);
        if (!isReal) {
          CHECK(memcmp((const char *)data + at * size, (const char *)truth + i * size, size) == 0, program);
          continue;
        }
        const double value = ElementOf(data, at, type);
        const double expected = ElementOf(truth, i, type);
        const BOOL isSame = isnan(expected) ? isnan(value) : value == expected;
        CHECK(isSame || fabs(value - expected) <= relative * (fabs(expected) + fmin(largest, 1)), program);
      }
    }];
  }];
}

int RunCorpus(NSString *path) {
  folder = path;
  int calls = 0;
  int programs = 0;
  for (NSString *program in [[NSFileManager defaultManager] contentsOfDirectoryAtPath:path error:NULL]) {
    NSData *text = [NSData dataWithContentsOfFile:PathOf(program, @"manifest.json")];
    if (text == nil) {
      CHECK([program.pathExtension isEqual:@"md"], program);
      continue;
    }
    NSDictionary *manifest = [NSJSONSerialization JSONObjectWithData:text options:0 error:NULL];
    NSMutableArray<NSString *> *data = [NSMutableArray array];
    for (NSString *file in Of(manifest, @"ptd")) {
      [data addObject:PathOf(program, file)];
    }
    ExecuTorchModule *module = [[ExecuTorchModule alloc]
        initWithFilePath:PathOf(program, Of(manifest, @"pte"))
           dataFilePaths:data
                loadMode:programs++ % 2 == 0 ? ExecuTorchModuleLoadModeFile : ExecuTorchModuleLoadModeMmap];
    for (NSDictionary *call in Of(manifest, @"calls")) {
      NSMutableArray<ExecuTorchValue *> *inputs = [NSMutableArray array];
      BOOL isOrdinary = YES;
      for (NSDictionary *item in Of(call, @"inputs")) {
        NSArray *order = Of(item, @"orig_dim_order");
        for (NSUInteger i = 0; i < order.count; ++i) {
          isOrdinary = isOrdinary && [At(order, i) unsignedIntegerValue] == i;
        }
        [inputs addObject:ValueOf(item, program)];
      }
      NSError *error = nil;
      NSArray<ExecuTorchValue *> *outputs = [module executeMethod:Of(call, @"method") withInputs:inputs error:&error];
      if (!isOrdinary) {
        // These classes make contiguous tensors only; the error says what the program expects.
        CHECK(outputs == nil && [error.localizedDescription rangeOfString:@"channels last"].length > 0, program);
        continue;
      }
      CHECK(outputs.count == [Of(call, @"outputs") count], error != nil ? error.localizedDescription : program);
      for (NSUInteger i = 0; i < outputs.count; ++i) {
        Compare(At(outputs, i), ValueOf(At(Of(call, @"outputs"), i), program), program);
      }
      ++calls;
    }
  }
  CHECK(programs > 50 && calls > 60, @"programs of the corpus");
  return calls;
}
