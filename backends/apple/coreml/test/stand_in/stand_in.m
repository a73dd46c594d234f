// SPDX-License-Identifier: BSD-3-Clause
// Classes of Core ML that give recorded results, for GNUstep, without ARC. The folder COREML_STAND_IN_RECORDS has a
// file <MD5 of model.mlmodel>.<function>.json for each function; that of a model with one function is `main`:
//
//   {"inputs": [{"name", "type", "shapes"}], "outputs": [{"name", "type"}], "states": number of states,
//    "calls": [{"step", "inputs": {name: array}, "outputs": {name: array}, "fails": text, "raises": text}]}
//   array = {"type": MLMultiArrayDataType, "shape": [...], "data": Base64}
//
// `shapes` lists the enumerated shapes of an input, if it has any. A prediction returns the outputs of the first call
// with these inputs; with a state, the outputs of the next step. A call with `fails` is an error with this text, one
// with `raises` an exception. Calls without inputs fit any inputs. With COREML_STAND_IN_PADDED the rows of outputs have
// gaps, as those of the Neural Engine have. Each call appends a line to the file COREML_STAND_IN_LOG.
#import <CoreML/CoreML.h>
#import <GNUstepBase/NSData+GNUstepBase.h>

#include <stdio.h>
#include <string.h>

// GNUstep has no runtime of blocks; those of the delegate are never copied.
void *_NSConcreteStackBlock[32], *_NSConcreteGlobalBlock[32];

static NSString *setting(NSString *name) {
  return [[[NSProcessInfo processInfo] environment] objectForKey:name];
}

static void note(NSString *line) {
  FILE *const file =
      setting(@"COREML_STAND_IN_LOG") == nil ? NULL : fopen([setting(@"COREML_STAND_IN_LOG") UTF8String], "a");
  if (file != NULL) {
    fprintf(file, "%s\n", [line UTF8String]);
    fclose(file);
  }
}

static void report(NSError **error, NSString *text) {
  if (error != NULL) {
    *error = [NSError errorWithDomain:@"com.apple.CoreML" code:0 userInfo:@{NSLocalizedDescriptionKey : text}];
  }
}

static NSInteger bytes_of(MLMultiArrayDataType type) {
  return (type & 0xff) / 8;
}

/// Strides without gaps, or with some between the rows.
static NSArray *strides_of(NSArray *shape, BOOL padded) {
  NSMutableArray *strides = [NSMutableArray array];
  NSInteger stride = 1;
  for (NSUInteger i = [shape count]; i > 0; --i) {
    [strides insertObject:@(stride) atIndex:0];
    stride *= [[shape objectAtIndex:i - 1] integerValue];
    stride += padded && i == [shape count] ? 3 : 0;
  }
  return strides;
}

@implementation MLMultiArray
@synthesize dataType = _dataType, shape = _shape, strides = _strides, count = _count, dataPointer = _dataPointer;

- (instancetype)initWithShape:(NSArray<NSNumber *> *)shape
                     dataType:(MLMultiArrayDataType)dataType
                        error:(NSError **)error {
  NSArray *strides = strides_of(shape, setting(@"COREML_STAND_IN_PADDED") != nil);
  const NSInteger outer = [[strides objectAtIndex:0] integerValue] * [[shape objectAtIndex:0] integerValue];
  _owned = [[NSMutableData alloc] initWithLength:(NSUInteger)(outer * bytes_of(dataType)) + 1];
  return [self initWithDataPointer:[_owned mutableBytes]
                             shape:shape
                          dataType:dataType
                           strides:strides
                       deallocator:nil
                             error:error];
}

- (instancetype)initWithDataPointer:(void *)dataPointer
                              shape:(NSArray<NSNumber *> *)shape
                           dataType:(MLMultiArrayDataType)dataType
                            strides:(NSArray<NSNumber *> *)strides
                        deallocator:(void (^)(void *bytes))deallocator
                              error:(NSError **)error {
  (void)deallocator;
  self = [super init];
  if ([shape count] != [strides count] || [shape count] == 0) {
    report(error, @"an array needs at least one size, and a stride for each");
    [self release];
    return nil;
  }
  _dataPointer = dataPointer;
  _dataType = dataType;
  _shape = [shape copy];
  _strides = [strides copy];
  _count = 1;
  for (NSNumber *size in shape) {
    _count *= [size integerValue];
  }
  return self;
}

- (void)dealloc {
  [_owned release];
  [_shape release];
  [_strides release];
  [super dealloc];
}

- (void)getBytesWithHandler:(void (^)(const void *bytes, NSInteger size))handler {
  handler(_dataPointer, _count * bytes_of(_dataType));
}

/// The address of an element, by its number in logical order.
- (char *)element:(NSInteger)number {
  NSInteger offset = 0;
  for (NSUInteger axis = [_shape count]; axis > 0; --axis) {
    const NSInteger length = [[_shape objectAtIndex:axis - 1] integerValue];
    offset += (number % length) * [[_strides objectAtIndex:axis - 1] integerValue];
    number /= length;
  }
  return (char *)_dataPointer + offset * bytes_of(_dataType);
}

- (BOOL)isSameAs:(MLMultiArray *)other {
  if (other == nil || _dataType != [other dataType] || ![_shape isEqual:[other shape]]) {
    return NO;
  }
  for (NSInteger i = 0; i < _count; ++i) {
    if (memcmp([self element:i], [other element:i], (size_t)bytes_of(_dataType)) != 0) {
      return NO;
    }
  }
  return YES;
}

+ (MLMultiArray *)arrayOf:(NSDictionary *)record {
  const MLMultiArrayDataType type = [[record objectForKey:@"type"] integerValue];
  NSData *data = [[[NSData alloc] initWithBase64EncodedString:[record objectForKey:@"data"] options:0] autorelease];
  MLMultiArray *made = [[[self alloc] initWithShape:[record objectForKey:@"shape"] dataType:type
                                              error:NULL] autorelease];
  for (NSInteger i = 0; i < [made count]; ++i) {
    memcpy([made element:i], (const char *)[data bytes] + i * bytes_of(type), (size_t)bytes_of(type));
  }
  return made;
}
@end

@implementation MLFeatureValue
@synthesize multiArrayValue = _multiArrayValue;
+ (instancetype)featureValueWithMultiArray:(MLMultiArray *)value {
  MLFeatureValue *made = [[[self alloc] init] autorelease];
  made->_multiArrayValue = [value retain];
  return made;
}
- (void)dealloc {
  [_multiArrayValue release];
  [super dealloc];
}
@end

@implementation MLDictionaryFeatureProvider
- (instancetype)initWithDictionary:(NSDictionary<NSString *, id> *)dictionary error:(NSError **)error {
  (void)error;
  self = [super init];
  _features = [dictionary copy];
  return self;
}
- (void)dealloc {
  [_features release];
  [super dealloc];
}
- (NSSet<NSString *> *)featureNames {
  return [NSSet setWithArray:[_features allKeys]];
}
- (MLFeatureValue *)featureValueForName:(NSString *)featureName {
  return [_features objectForKey:featureName];
}
@end

@implementation MLMultiArrayShapeConstraint
@synthesize type = _type, enumeratedShapes = _enumeratedShapes;
- (instancetype)initWithShapes:(NSArray *)shapes {
  self = [super init];
  _enumeratedShapes = [shapes retain];
  _type = shapes == nil ? MLMultiArrayShapeConstraintTypeUnspecified : MLMultiArrayShapeConstraintTypeEnumerated;
  return self;
}
- (void)dealloc {
  [_enumeratedShapes release];
  [super dealloc];
}
@end

@implementation MLMultiArrayConstraint
@synthesize dataType = _dataType, shapeConstraint = _shapeConstraint;
- (instancetype)initWithRecord:(NSDictionary *)record {
  self = [super init];
  _dataType = [[record objectForKey:@"type"] integerValue];
  _shapeConstraint = [[MLMultiArrayShapeConstraint alloc] initWithShapes:[record objectForKey:@"shapes"]];
  return self;
}
- (void)dealloc {
  [_shapeConstraint release];
  [super dealloc];
}
@end

@implementation MLFeatureDescription
@synthesize name = _name, type = _type, multiArrayConstraint = _multiArrayConstraint;
- (instancetype)initWithRecord:(NSDictionary *)record {
  self = [super init];
  _name = [[record objectForKey:@"name"] retain];
  _type = MLFeatureTypeMultiArray;
  _multiArrayConstraint = [[MLMultiArrayConstraint alloc] initWithRecord:record];
  return self;
}
- (void)dealloc {
  [_name release];
  [_multiArrayConstraint release];
  [super dealloc];
}
@end

static NSDictionary *descriptions_of(NSArray *records) {
  NSMutableDictionary *made = [NSMutableDictionary dictionary];
  for (NSDictionary *record in records) {
    MLFeatureDescription *one = [[[MLFeatureDescription alloc] initWithRecord:record] autorelease];
    [made setObject:one forKey:[one name]];
  }
  return made;
}

@implementation MLModelDescription
@synthesize inputDescriptionsByName = _inputDescriptionsByName, outputDescriptionsByName = _outputDescriptionsByName,
            stateDescriptionsByName = _stateDescriptionsByName;
- (instancetype)initWithRecord:(NSDictionary *)record {
  self = [super init];
  _inputDescriptionsByName = [descriptions_of([record objectForKey:@"inputs"]) retain];
  _outputDescriptionsByName = [descriptions_of([record objectForKey:@"outputs"]) retain];
  NSMutableDictionary *states = [NSMutableDictionary dictionary];
  for (NSInteger i = 0; i < [[record objectForKey:@"states"] integerValue]; ++i) {
    [states setObject:[[[MLFeatureDescription alloc] init] autorelease]
               forKey:[NSString stringWithFormat:@"state%ld", (long)i]];
  }
  _stateDescriptionsByName = [states retain];
  return self;
}
- (void)dealloc {
  [_inputDescriptionsByName release];
  [_outputDescriptionsByName release];
  [_stateDescriptionsByName release];
  [super dealloc];
}
@end

@implementation MLModelConfiguration
@synthesize computeUnits = _computeUnits, functionName = _functionName;
- (void)dealloc {
  [_functionName release];
  [super dealloc];
}
@end

@implementation MLState
- (NSInteger)step {
  return _step;
}
- (void)advance {
  ++_step;
}
@end

/// The record of a prediction.
@interface StandInCall : NSObject {
 @public
  NSInteger step;
  NSMutableDictionary *inputs;
  MLDictionaryFeatureProvider *outputs;
  NSString *fails, *raises;
}
@end

@implementation StandInCall
- (instancetype)initWithRecord:(NSDictionary *)record {
  self = [super init];
  step = [[record objectForKey:@"step"] integerValue];
  fails = [[record objectForKey:@"fails"] retain];
  raises = [[record objectForKey:@"raises"] retain];
  inputs = [[NSMutableDictionary alloc] init];
  NSDictionary *const given = [record objectForKey:@"inputs"];
  for (NSString *name in given) {
    [inputs setObject:[MLMultiArray arrayOf:[given objectForKey:name]] forKey:name];
  }
  NSMutableDictionary *const made = [NSMutableDictionary dictionary];
  NSDictionary *const returned = [record objectForKey:@"outputs"];
  for (NSString *name in returned) {
    MLMultiArray *array = [MLMultiArray arrayOf:[returned objectForKey:name]];
    [made setObject:[MLFeatureValue featureValueWithMultiArray:array] forKey:name];
  }
  outputs = [[MLDictionaryFeatureProvider alloc] initWithDictionary:made error:NULL];
  return self;
}
- (void)dealloc {
  [inputs release];
  [outputs release];
  [fails release];
  [raises release];
  [super dealloc];
}
@end

@implementation MLModel
@synthesize modelDescription = _modelDescription;

+ (NSURL *)compileModelAtURL:(NSURL *)modelURL error:(NSError **)error {
  NSFileManager *files = [NSFileManager defaultManager];
  NSString *model = [[modelURL path] stringByAppendingPathComponent:@"Data/com.apple.CoreML/model.mlmodel"];
  note(@"compile");
  if (![files fileExistsAtPath:model]) {
    report(error, @"Failed to parse the model specification: there is no model.mlmodel");
    return nil;
  }
  NSString *name = [NSString stringWithFormat:@"%@.mlmodelc", [[NSProcessInfo processInfo] globallyUniqueString]];
  NSString *made = [NSTemporaryDirectory() stringByAppendingPathComponent:name];
  if (![files copyItemAtPath:[modelURL path] toPath:made error:error]) {
    return nil;
  }
  return [NSURL fileURLWithPath:made];
}

+ (instancetype)modelWithContentsOfURL:(NSURL *)url
                         configuration:(MLModelConfiguration *)configuration
                                 error:(NSError **)error {
  NSString *model = [[url path] stringByAppendingPathComponent:@"Data/com.apple.CoreML/model.mlmodel"];
  NSString *function = [configuration functionName] == nil ? @"main" : [configuration functionName];
  note([NSString stringWithFormat:@"load %@ units %ld", function, (long)[configuration computeUnits]]);
  NSString *hash = [[[[NSData dataWithContentsOfFile:model] md5Digest] hexadecimalRepresentation] lowercaseString];
  NSString *name = [NSString stringWithFormat:@"%@.%@.json", hash, function];
  NSData *data =
      [NSData dataWithContentsOfFile:[setting(@"COREML_STAND_IN_RECORDS") stringByAppendingPathComponent:name]];
  NSDictionary *record = data == nil ? nil : [NSJSONSerialization JSONObjectWithData:data options:0 error:NULL];
  if (record == nil) {
    report(error, [NSString stringWithFormat:@"the stand-in has no records %@", name]);
    return nil;
  }
  NSMutableArray *calls = [NSMutableArray array];
  for (NSDictionary *call in [record objectForKey:@"calls"]) {
    [calls addObject:[[[StandInCall alloc] initWithRecord:call] autorelease]];
  }
  MLModel *made = [[[self alloc] init] autorelease];
  made->_calls = [calls retain];
  made->_modelDescription = [[MLModelDescription alloc] initWithRecord:record];
  return made;
}

- (void)dealloc {
  [_calls release];
  [_modelDescription release];
  [super dealloc];
}

- (MLState *)newState {
  return [[MLState alloc] init];
}

- (id<MLFeatureProvider>)predictionFromFeatures:(id<MLFeatureProvider>)input error:(NSError **)error {
  return [self predictionFromFeatures:input usingState:nil error:error];
}

- (id<MLFeatureProvider>)predictionFromFeatures:(id<MLFeatureProvider>)input
                                     usingState:(MLState *)state
                                          error:(NSError **)error {
  for (StandInCall *call in _calls) {
    BOOL same = state == nil || call->step == [state step];
    for (NSString *name in call->inputs) {
      MLMultiArray *const given = [[input featureValueForName:name] multiArrayValue];
      same = same && [[call->inputs objectForKey:name] isSameAs:given];
    }
    if (!same) {
      continue;
    }
    for (NSString *name in call->inputs) {
      MLMultiArray *const given = [[input featureValueForName:name] multiArrayValue];
      note([NSString stringWithFormat:@"input %@ at %p strides %@", name, [given dataPointer],
                                      [[given strides] componentsJoinedByString:@","]]);
    }
    if (call->raises != nil) {
      [NSException raise:NSGenericException format:@"%@", call->raises];
    }
    if (call->fails != nil) {
      report(error, call->fails);
      return nil;
    }
    [state advance];
    return call->outputs;
  }
  report(error, @"the stand-in has no record of these inputs");
  return nil;
}
@end
