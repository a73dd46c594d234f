// SPDX-License-Identifier: BSD-3-Clause
// The Objective-C classes, run: ObjCTests FOLDER-OF-THE-CORPUS (sdk/ios/check_objc).
#import <CExecuTorch/llm.h>
#include <fcntl.h>
#include <unistd.h>

#import "ExecuTorchObjC.h"
#import "check.h"

/// Keeps lines of the log.
@interface Sink : NSObject <ExecuTorchLogSink>
@end

static int lines = 0;

@implementation Sink
- (void)logWithLevel:(ExecuTorchLogLevel)level
           timestamp:(NSTimeInterval)timestamp
            filename:(NSString *)filename
                line:(NSUInteger)line
             message:(NSString *)message {
  CHECK(level == ExecuTorchLogLevelError && timestamp > 1.6e9 && filename.length > 0 && line > 0, message);
  lines += [message rangeOfString:@"/no/such/file.pte"].length > 0 ? 1 : 0;
}
@end

/// Removes itself when it gets a line.
@interface OnceSink : NSObject <ExecuTorchLogSink>
@end

@implementation OnceSink
- (void)logWithLevel:(ExecuTorchLogLevel)level
           timestamp:(NSTimeInterval)timestamp
            filename:(NSString *)filename
                line:(NSUInteger)line
             message:(NSString *)message {
  CHECK(level == ExecuTorchLogLevelError && timestamp > 0 && line > 0 && filename != nil, message);
  [[ExecuTorchLog sharedLog] removeSink:self];
}
@end

static float FirstOf(ExecuTorchTensor *tensor) {
  __block float first = 0;
  [tensor bytesWithHandler:^(const void *pointer, NSInteger count, ExecuTorchDataType dataType) {
    CHECK(count > 0 && dataType == ExecuTorchDataTypeFloat, tensor);
    first = ((const float *)pointer)[0];
  }];
  return first;
}

/// IOS-10 to IOS-17.
static void TestTensors(void) {
  float data[] = {1, 2, 3, 4};
  NSArray *shape = @[ @2, @2 ];
  ExecuTorchTensor *tensor = [[ExecuTorchTensor alloc] initWithBytesNoCopy:data
                                                                     shape:shape
                                                                  dataType:ExecuTorchDataTypeFloat];
  ExecuTorchTensor *view = [[ExecuTorchTensor alloc] initWithTensor:tensor];
  ExecuTorchTensor *copy = [tensor copy];
  data[0] = 100;
  CHECK(FirstOf(tensor) == 100 && FirstOf(view) == 100 && FirstOf(copy) == 1, tensor);
  CHECK([tensor isEqual:view] && ![tensor isEqual:copy] && tensor.hash == view.hash, tensor);
  CHECK([tensor.shape isEqual:shape] && [tensor.strides isEqual:(@[ @2, @1 ])], tensor);
  CHECK([tensor.dimensionOrder isEqual:(@[ @0, @1 ])] && tensor.count == 4, tensor);
  CHECK(tensor.shapeDynamism == ExecuTorchShapeDynamismDynamicBound, tensor);
  NSError *error = nil;
  CHECK([tensor resizeToShape:(@[ @4, @1 ]) error:&error] && [tensor.strides isEqual:(@[ @1, @1 ])], tensor);
  CHECK([tensor resizeToShape:@[ @4 ] error:&error] && [tensor.shape isEqual:@[ @4 ]], tensor);
  data[0] = 101;
  CHECK(FirstOf(tensor) == 101 && error == nil, tensor);
  CHECK(![tensor resizeToShape:@[ @5 ] error:&error] && error.code == ExecuTorchErrorCodeInvalidArgument, tensor);

  NSData *bytes = [NSData dataWithBytes:data length:sizeof(data)];
  ExecuTorchTensor *shared = [[ExecuTorchTensor alloc] initWithData:bytes shape:shape dataType:ExecuTorchDataTypeFloat];
  [shared bytesWithHandler:^(const void *pointer, NSInteger count, ExecuTorchDataType dataType) {
    CHECK(pointer == bytes.bytes && count == 4 && dataType == ExecuTorchDataTypeFloat, shared);
  }];
  [shared mutableBytesWithHandler:^(void *pointer, NSInteger count, ExecuTorchDataType dataType) {
    CHECK(pointer != bytes.bytes && count == 4 && dataType == ExecuTorchDataTypeFloat, shared);
    ((float *)pointer)[0] = 5;
  }];
  CHECK(FirstOf(shared) == 5 && ((const float *)bytes.bytes)[0] == 101, shared);

  ExecuTorchTensor *numbers = [[ExecuTorchTensor alloc] initWithScalars:@[ @1, @2, @3 ]
                                                                  shape:@[ @3 ]
                                                               dataType:ExecuTorchDataTypeInt];
  CHECK(numbers.dataType == ExecuTorchDataTypeInt && numbers.count == 3, numbers);
  CHECK([[ExecuTorchTensor alloc] initWithScalars:@[ @1.5f ]].dataType == ExecuTorchDataTypeFloat, numbers);
  CHECK(FirstOf([[ExecuTorchTensor alloc] initWithFloat:3.5f]) == 3.5f, numbers);
  BOOL hasRaised = NO;
  @try {
    (void)[[ExecuTorchTensor alloc] initWithScalars:@[ @1 ] shape:@[ @3 ] dataType:ExecuTorchDataTypeInt];
  } @catch (NSException *exception) {
    hasRaised = [exception.reason isEqual:@"a tensor of these sizes has 3 elements, found 1"];
  }
  CHECK(hasRaised, numbers);

  ExecuTorchTensor *zeros = [ExecuTorchTensor zerosTensorWithShape:shape dataType:ExecuTorchDataTypeFloat];
  ExecuTorchTensor *ones = [ExecuTorchTensor onesTensorLikeTensor:zeros];
  CHECK(FirstOf(zeros) == 0 && FirstOf(ones) == 1 && [ones.shape isEqual:shape], ones);
  CHECK([[ExecuTorchTensor fullTensorLikeTensor:ones scalar:@1] isEqual:ones], ones);
  CHECK([[ExecuTorchTensor zerosTensorLikeTensor:ones] isEqual:zeros], zeros);
  CHECK([ExecuTorchTensor emptyTensorLikeTensor:ones].count == 4, ones);
  const float uniform = FirstOf([ExecuTorchTensor randTensorLikeTensor:ones]);
  CHECK(uniform >= 0 && uniform < 1, ones);
  CHECK([ExecuTorchTensor randnTensorLikeTensor:ones].count == 4, ones);
  const float whole = FirstOf([ExecuTorchTensor randintTensorLikeTensor:ones low:3 high:5]);
  CHECK(whole == 3 || whole == 4, ones);
  ExecuTorchTensor *wide = [ExecuTorchTensor randintTensorWithLow:NSIntegerMin
                                                             high:NSIntegerMax
                                                            shape:@[ @64 ]
                                                         dataType:ExecuTorchDataTypeLong];
  // Of 64 numbers with 24 random bits, the last 40 bits would be the same.
  __block BOOL differs = NO;
  [wide bytesWithHandler:^(const void *pointer, NSInteger count, ExecuTorchDataType dataType) {
    (void)dataType;
    for (NSInteger i = 1; i < count; ++i) {
      differs = differs || (((const int64_t *)pointer)[i] & 0xFFFF) != (((const int64_t *)pointer)[0] & 0xFFFF);
    }
  }];
  CHECK(differs, wide);
}

/// Views use the same memory, also after the bytes of an NSData were copied for a change: IOS-12, IOS-15.
static void TestViewsOfData(void) {
  float data[] = {1, 2, 3, 4};
  ExecuTorchTensor *tensor = nil, *view = nil;
  @autoreleasepool {
    NSData *bytes = [NSData dataWithBytes:data length:sizeof(data)];
    tensor = [[ExecuTorchTensor alloc] initWithData:bytes shape:@[ @4 ] dataType:ExecuTorchDataTypeFloat];
    view = [[ExecuTorchTensor alloc] initWithTensor:tensor];
    [tensor mutableBytesWithHandler:^(void *pointer, NSInteger count, ExecuTorchDataType dataType) {
      CHECK(pointer != bytes.bytes && count == 4 && dataType == ExecuTorchDataTypeFloat, tensor);
      ((float *)pointer)[0] = 5;
    }];
    CHECK(((const float *)bytes.bytes)[0] == 1, tensor);
  }
  CHECK(FirstOf(tensor) == 5 && FirstOf(view) == 5 && [view isEqual:tensor], view);
  CHECK([view resizeToShape:(@[ @2, @2 ]) error:NULL], view);
  [view mutableBytesWithHandler:^(void *pointer, NSInteger count, ExecuTorchDataType dataType) {
    CHECK(count == 4 && dataType == ExecuTorchDataTypeFloat, view);
    ((float *)pointer)[0] = 6;
  }];
  CHECK(FirstOf(tensor) == 6 && FirstOf(view) == 6 && FirstOf([view copy]) == 6, view);

  NSMutableData *growing = [NSMutableData dataWithBytes:data length:sizeof(data)];
  ExecuTorchTensor *fixed = [[ExecuTorchTensor alloc] initWithData:growing
                                                             shape:@[ @4 ]
                                                          dataType:ExecuTorchDataTypeFloat];
  ((float *)growing.mutableBytes)[0] = 7;
  [growing setLength:1 << 20];
  CHECK(FirstOf(fixed) == 1, fixed);
}

/// Whether elements of `randint` of that range cannot be made.
static BOOL Refuses(NSInteger low, NSInteger high, ExecuTorchDataType dataType) {
  @try {
    (void)[ExecuTorchTensor randintTensorWithLow:low high:high shape:@[ @1 ] dataType:dataType];
  } @catch (NSException *exception) {
    return [exception.name isEqual:NSInvalidArgumentException];
  }
  return NO;
}

/// IOS-14.
static void TestRangesOfRandomIntegers(void) {
  CHECK(Refuses(3, 3, ExecuTorchDataTypeLong) && Refuses(4, 3, ExecuTorchDataTypeLong), @"empty ranges");
  CHECK(Refuses(0, 257, ExecuTorchDataTypeByte) && !Refuses(0, 256, ExecuTorchDataTypeByte), @"bytes");
  CHECK(Refuses(-129, 0, ExecuTorchDataTypeChar) && !Refuses(-128, 128, ExecuTorchDataTypeChar), @"chars");
  CHECK(Refuses(-1, 1, ExecuTorchDataTypeUInt64) && Refuses(0, 3, ExecuTorchDataTypeBool), @"unsigned, Booleans");
}

/// IOS-06, IOS-19, IOS-21.
static void TestModules(NSString *corpus) {
  NSError *error = nil;
  ExecuTorchModule *module =
      [[ExecuTorchModule alloc] initWithFilePath:[corpus stringByAppendingPathComponent:@"add/model.pte"]];
  CHECK(![module isLoaded] && ![module isMethodLoaded:@"forward"], module);
  CHECK([[module methodNames:&error] isEqual:[NSSet setWithObject:@"forward"]], error);
  ExecuTorchMethodMetadata *metadata = [module methodMetadata:@"forward" error:&error];
  CHECK([metadata.name isEqual:@"forward"] && metadata.inputValueTags.count == 2, error);
  CHECK([At(metadata.inputValueTags, 0) unsignedIntValue] == ExecuTorchValueTagTensor, metadata);
  ExecuTorchTensorMetadata *input = Of(metadata.inputTensorMetadata, @0);
  CHECK([input.shape isEqual:(@[ @2, @3 ])] && input.dataType == ExecuTorchDataTypeFloat, metadata);
  CHECK([input.dimensionOrder isEqual:(@[ @0, @1 ])] && input.isMemoryPlanned && input.name.length == 0, metadata);
  CHECK(metadata.outputTensorMetadata.count == 1 && metadata.outputValueTags.count == 1, metadata);
  CHECK(metadata.instructionCount > 0 && metadata.memoryPlannedBufferSizes.count > 0, metadata);
  CHECK(metadata.backendNames.count == 0 && metadata.attributeTensorMetadata.count == 0, metadata);
  CHECK([module methodMetadata:@"backward" error:&error] == nil, module);
  CHECK(error.code == ExecuTorchErrorCodeInvalidArgument && [error.domain isEqual:ExecuTorchErrorDomain], error);
  CHECK([error.localizedDescription rangeOfString:@"'backward'"].length > 0, error);

  CHECK([module loadMethod:@"forward" error:&error] && [module isMethodLoaded:@"forward"], error);
  ExecuTorchTensor *ones = [ExecuTorchTensor onesTensorWithShape:input.shape dataType:input.dataType];
  NSArray<ExecuTorchValue *> *outputs = [module forwardWithTensors:@[ ones, ones ] error:&error];
  CHECK(FirstOf(outputs.firstObject.tensorValue) == 2, error);
  CHECK([module forwardWithTensor:ones error:&error] == nil && error != nil, module);
  CHECK([module unloadMethod:@"forward"] && ![module unloadMethod:@"forward"], module);

  ExecuTorchModule *several =
      [[ExecuTorchModule alloc] initWithFilePath:[corpus stringByAppendingPathComponent:@"multi_method/model.pte"]
                                        loadMode:ExecuTorchModuleLoadModeMmap];
  CHECK([several loadWithVerification:ExecuTorchVerificationMinimal error:&error], error);
  ExecuTorchValue *number = [several executeMethod:@"get_max_seq_len" error:&error].firstObject;
  CHECK(number.isInteger && number.isScalar && number.integerValue == 128 && [number.scalarValue isEqual:@128], error);
  number = [several executeMethod:@"get_scale" error:&error].firstObject;
  CHECK(number.isDouble && number.isFloat && number.doubleValue == 0.125 && number.floatValue == 0.125f, error);
  CHECK([several executeMethod:@"use_kv" error:&error].firstObject.boolValue, error);
}

static void TestListsAndCancellation(NSString *data) {
  NSError *error = nil;
  ExecuTorchModule *lists =
      [[ExecuTorchModule alloc] initWithFilePath:[data stringByAppendingPathComponent:@"list_outputs.pte"]];
  ExecuTorchTensor *ones = [ExecuTorchTensor onesTensorWithShape:(@[ @2, @3 ]) dataType:ExecuTorchDataTypeFloat];
  NSArray<ExecuTorchValue *> *outputs = [lists forwardWithTensors:@[ ones, ones ] error:&error];
  CHECK(outputs.count == 5, error);
  CHECK(At(outputs, 0).tag == ExecuTorchValueTagTensorList && At(outputs, 0).tensorsValue.count > 0, outputs);
  CHECK([At(outputs, 0).tensorsValue.firstObject isKindOfClass:[ExecuTorchTensor class]], outputs);
  CHECK(At(outputs, 1).tag == ExecuTorchValueTagOptionalTensorList, outputs);
  CHECK([At(outputs, 1).tensorsValue containsObject:[NSNull null]], outputs);
  CHECK(At(outputs, 2).tag == ExecuTorchValueTagIntegerList && At(outputs, 2).numbersValue.count > 0, outputs);
  CHECK(At(outputs, 3).tag == ExecuTorchValueTagDoubleList && At(outputs, 4).tag == ExecuTorchValueTagBooleanList,
        outputs);
  CHECK(At(outputs, 0).numbersValue == nil && At(outputs, 2).tensorsValue == nil && At(outputs, 2).scalarValue == nil,
        outputs);
  CHECK([lists forwardWithInputs:(@[ At(outputs, 2), At(outputs, 2) ]) error:&error] == nil, lists);
  CHECK(error.code == ExecuTorchErrorCodeInvalidType, error);

  ExecuTorchModule *endless =
      [[ExecuTorchModule alloc] initWithFilePath:[data stringByAppendingPathComponent:@"endless.pte"]];
  ExecuTorchCancellation *cancellation = [[ExecuTorchCancellation alloc] init];
  CHECK(!cancellation.isCancelled, cancellation);
  [cancellation performSelector:@selector(cancel)];
  ExecuTorchValue *three =
      [ExecuTorchValue valueWithTensor:[ExecuTorchTensor onesTensorWithShape:@[ @3 ] dataType:ExecuTorchDataTypeFloat]];
  CHECK([endless executeMethod:@"forward" withInputs:@[ three ] cancellation:cancellation error:&error] == nil,
        endless);
  CHECK(error.code == ExecuTorchErrorCodeCancelled && cancellation.isCancelled, error);
  // From another thread, while it runs.
  ExecuTorchCancellation *other = [[ExecuTorchCancellation alloc] init];
  [NSThread detachNewThreadSelector:@selector(cancel) toTarget:other withObject:nil];
  CHECK([endless executeMethod:@"forward" withInputs:@[ three ] cancellation:other error:&error] == nil, endless);
  CHECK(error.code == ExecuTorchErrorCodeCancelled, error);
}

/// IOS-22.
static void TestLog(void) {
  Sink *sink = [[Sink alloc] init];
  [[ExecuTorchLog sharedLog] addSink:sink];
  CHECK(![[[ExecuTorchModule alloc] initWithFilePath:@"/no/such/file.pte"] load:NULL] && lines > 0, sink);
  [[ExecuTorchLog sharedLog] removeSink:sink];
  const int before = lines;
  CHECK(![[[ExecuTorchModule alloc] initWithFilePath:@"/no/such/file.pte"] load:NULL] && lines == before, sink);
}

/// The system's log gets lines again after the last sink has removed itself: IOS-22.
static void TestSinkThatRemovesItself(void) {
  NSString *path = [NSTemporaryDirectory() stringByAppendingPathComponent:[NSUUID UUID].UUIDString];
  const int terminal = dup(STDERR_FILENO);
  const int file = open(path.fileSystemRepresentation, O_CREAT | O_RDWR, 0600);
  CHECK(terminal >= 0 && file >= 0 && dup2(file, STDERR_FILENO) >= 0, path);
  OnceSink *sink = [[OnceSink alloc] init];
  [[ExecuTorchLog sharedLog] addSink:sink];
  off_t written = 0;
  // Another thread gives the log back.
  for (int i = 0; i < 2000 && written == 0; ++i) {
    (void)[[[ExecuTorchModule alloc] initWithFilePath:@"/no/such/file.pte"] load:NULL];
    written = lseek(file, 0, SEEK_END);
    usleep(5000);
  }
  dup2(terminal, STDERR_FILENO);
  close(terminal);
  close(file);
  unlink(path.fileSystemRepresentation);
  CHECK(written > 0, sink);
}

int main(int count, char **arguments) {
  @autoreleasepool {
    CHECK(count == 2, @"the folder of the corpus is the one argument");
    NSString *corpus = [NSString stringWithUTF8String:arguments[1]];
    TestTensors();
    TestViewsOfData();
    TestRangesOfRandomIntegers();
    TestModules(corpus);
    TestListsAndCancellation([corpus stringByDeletingLastPathComponent]);
    TestLog();
    TestSinkThatRemovesItself();
    if (et_has_llm()) {
      TestLanguageModels(corpus);
      TestMultimodalModels(corpus);
    }
    printf("the Objective-C classes ran %d calls of the corpus\n", RunCorpus(corpus));
    fflush(stdout);
    _Exit(0);  // without ARC no object has freed its memory
  }
}
