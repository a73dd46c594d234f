// SPDX-License-Identifier: BSD-3-Clause
#import "ExecuTorchLLMMultimodalRunner.h"

#import "ExecuTorchLLMInternal.h"

static int32_t Size(NSInteger size) {
  // The C interface refuses 0, so it also refuses sizes that do not fit in an int32_t.
  return size > 0 && size <= INT32_MAX ? (int32_t)size : 0;
}

/// The same input for the C interface. It points to memory of `input`.
static et_llm_input PartOf(ExecuTorchLLMMultimodalInput *input) {
  et_llm_input part = {ET_LLM_INPUT_TEXT, {0, 0, 0}, "", 0};
  NSData *data = nil;
  if (input.text != nil) {
    part.data = input.text.UTF8String;
    part.size = [input.text lengthOfBytesUsingEncoding:NSUTF8StringEncoding];
    return part;
  }
  if (input.image != nil) {
    ExecuTorchLLMImage *image = input.image;
    part.type = image.isFloat ? ET_LLM_INPUT_NORMALIZED_IMAGE : ET_LLM_INPUT_IMAGE;
    part.sizes[0] = Size(image.width);
    part.sizes[1] = Size(image.height);
    part.sizes[2] = Size(image.channels);
    data = image.data;
  } else {
    ExecuTorchLLMAudio *audio = input.audio;
    part.type = audio.isFloat ? ET_LLM_INPUT_AUDIO : ET_LLM_INPUT_AUDIO_BYTES;
    part.sizes[0] = Size(audio.batchSize);
    part.sizes[1] = Size(audio.bins);
    part.sizes[2] = Size(audio.frames);
    data = audio.data;
  }
  if (data.length > 0) {
    part.data = data.bytes;
    part.size = data.length;
  }
  return part;
}

@implementation ExecuTorchLLMImage {
  NSData *_data;
  NSInteger _width;
  NSInteger _height;
  NSInteger _channels;
  BOOL _isFloat;
}
@synthesize data = _data;
@synthesize width = _width;
@synthesize height = _height;
@synthesize channels = _channels;
@synthesize isFloat = _isFloat;

- (instancetype)initWithData:(NSData *)data
                       width:(NSInteger)width
                      height:(NSInteger)height
                    channels:(NSInteger)channels {
  self = [super init];
  _data = [data copy];
  _width = width;
  _height = height;
  _channels = channels;
  return self;
}

- (instancetype)initWithFloatData:(NSData *)data
                            width:(NSInteger)width
                           height:(NSInteger)height
                         channels:(NSInteger)channels {
  self = [self initWithData:data width:width height:height channels:channels];
  _isFloat = YES;
  return self;
}

- (id)copyWithZone:(NSZone *)zone {
  return self;  // it cannot be changed
}

@end

@implementation ExecuTorchLLMAudio {
  NSData *_data;
  NSInteger _batchSize;
  NSInteger _bins;
  NSInteger _frames;
  BOOL _isFloat;
}
@synthesize data = _data;
@synthesize batchSize = _batchSize;
@synthesize bins = _bins;
@synthesize frames = _frames;
@synthesize isFloat = _isFloat;

- (instancetype)initWithData:(NSData *)data
                   batchSize:(NSInteger)batchSize
                        bins:(NSInteger)bins
                      frames:(NSInteger)frames {
  self = [super init];
  _data = [data copy];
  _batchSize = batchSize;
  _bins = bins;
  _frames = frames;
  return self;
}

- (instancetype)initWithFloatData:(NSData *)data
                        batchSize:(NSInteger)batchSize
                             bins:(NSInteger)bins
                           frames:(NSInteger)frames {
  self = [self initWithData:data batchSize:batchSize bins:bins frames:frames];
  _isFloat = YES;
  return self;
}

- (id)copyWithZone:(NSZone *)zone {
  return self;  // it cannot be changed
}

@end

@interface ExecuTorchLLMMultimodalInput ()
- (instancetype)initWithText:(nullable NSString *)text
                       image:(nullable ExecuTorchLLMImage *)image
                       audio:(nullable ExecuTorchLLMAudio *)audio NS_DESIGNATED_INITIALIZER;
@end

@implementation ExecuTorchLLMMultimodalInput {
  NSString *_text;
  ExecuTorchLLMImage *_image;
  ExecuTorchLLMAudio *_audio;
}
@synthesize text = _text;
@synthesize image = _image;
@synthesize audio = _audio;

- (instancetype)initWithText:(NSString *)text image:(ExecuTorchLLMImage *)image audio:(ExecuTorchLLMAudio *)audio {
  self = [super init];
  _text = [text copy];
  _image = [image copy];
  _audio = [audio copy];
  return self;
}

+ (instancetype)inputWithText:(NSString *)text {
  return [[self alloc] initWithText:text image:nil audio:nil];
}

+ (instancetype)inputWithImage:(ExecuTorchLLMImage *)image {
  return [[self alloc] initWithText:nil image:image audio:nil];
}

+ (instancetype)inputWithAudio:(ExecuTorchLLMAudio *)audio {
  return [[self alloc] initWithText:nil image:nil audio:audio];
}

- (ExecuTorchLLMMultimodalInputType)type {
  return _text != nil    ? ExecuTorchLLMMultimodalInputTypeText
         : _image != nil ? ExecuTorchLLMMultimodalInputTypeImage
         : _audio != nil ? ExecuTorchLLMMultimodalInputTypeAudio
                         : ExecuTorchLLMMultimodalInputTypeUnsupported;
}

- (id)copyWithZone:(NSZone *)zone {
  return self;  // it cannot be changed
}

@end

@implementation ExecuTorchLLMMultimodalRunner {
  ExecuTorchLLMModel *_model;
}

- (instancetype)initWithModelPath:(NSString *)modelPath tokenizerPath:(NSString *)tokenizerPath {
  self = [super init];
  _model = [[ExecuTorchLLMModel alloc] initWithModelPath:modelPath tokenizerPath:tokenizerPath specialTokens:@[]];
  return self;
}

- (BOOL)isLoaded {
  return [_model isLoaded];
}

- (BOOL)loadWithError:(NSError **)error {
  return [_model loadWithError:error];
}

- (BOOL)generateWithInputs:(NSArray<ExecuTorchLLMMultimodalInput *> *)inputs
                    config:(ExecuTorchLLMConfig *)config
             tokenCallback:(void (^)(NSString *))callback
                     error:(NSError **)error {
  const NSUInteger count = inputs.count;
  et_llm_input *parts = calloc(count + 1, sizeof(et_llm_input));
  for (NSUInteger i = 0; i < count; ++i) {
    parts[i] = PartOf([inputs objectAtIndex:i]);
  }
  const BOOL done =
      [_model generateWithConfig:config
                   tokenCallback:callback
                           error:error
                        function:^(et_llm *llm, const et_llm_config *settings, et_llm_text text, void *context,
                                   et_error **failure) {
                          return et_llm_generate_inputs(llm, parts, count, settings, text, context, failure);
                        }];
  free(parts);
  return done;
}

- (void)stop {
  [_model stop];
}

- (void)reset {
  [_model reset];
}

@end
