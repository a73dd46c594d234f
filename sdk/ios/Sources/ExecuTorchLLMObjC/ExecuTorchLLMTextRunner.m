// SPDX-License-Identifier: BSD-3-Clause
#import "ExecuTorchLLMTextRunner.h"

#import <CExecuTorch/llm.h>

#import "ExecuTorchLLMConfig.h"

NSString *const ExecuTorchLLMErrorDomain = @"org.pytorch.executorch.llm.error";

/// Whether `status` is Ok. Otherwise, `*error` gets the message of `failure`, which this frees.
static BOOL Check(et_status status, et_error *failure, NSError **error) {
  if (status == ET_STATUS_OK) {
    return YES;
  }
  if (error != NULL) {
    const char *words = failure != NULL ? et_error_message(failure) : et_status_name(status);
    NSString *text = [NSString stringWithUTF8String:words] ?: @"";
    *error = [NSError errorWithDomain:ExecuTorchLLMErrorDomain
                                 code:(NSInteger)status
                             userInfo:@{NSLocalizedDescriptionKey : text}];
  }
  et_error_free(failure);
  return NO;
}

/// A configuration of the C interface, the caller's. NULL with an error.
static et_llm_config *MakeConfig(ExecuTorchLLMConfig *from, NSError **error) {
  et_llm_config *made = NULL;
  et_error *failure = NULL;
  if (!Check(et_llm_config_create(&made, &failure), failure, error)) {
    return NULL;
  }
  const struct {
    const char *name;
    NSInteger value;
  } integers[] = {{"echo", from.echoEnabled},
                  {"max_new_tokens", from.maximumNewTokens},
                  {"seq_len", from.sequenceLength},
                  {"num_bos", from.bosCount},
                  {"num_eos", from.eosCount}};
  BOOL isGood = YES;
  for (size_t i = 0; isGood && i < sizeof(integers) / sizeof(integers[0]); ++i) {
    isGood = Check(et_llm_config_set_int(made, integers[i].name, integers[i].value, &failure), failure, error);
  }
  const struct {
    const char *name;
    NSString *value;
  } texts[] = {{"grammar", from.grammar}, {"grammar_type", from.grammarType}};
  for (size_t i = 0; isGood && i < sizeof(texts) / sizeof(texts[0]); ++i) {
    isGood = Check(et_llm_config_set_string(made, texts[i].name, texts[i].value.UTF8String, &failure), failure, error);
  }
  if (!isGood || !Check(et_llm_config_set_double(made, "temperature", from.temperature, &failure), failure, error)) {
    et_llm_config_free(made);
    return NULL;
  }
  return made;
}

typedef void (^TokenCallback)(NSString *);

static bool Receive(const char *text, size_t size, void *context) {
  @autoreleasepool {
    NSString *piece = [[NSString alloc] initWithBytes:text length:size encoding:NSUTF8StringEncoding];
    ((__bridge TokenCallback)context)(piece ?: @"");
  }
  return true;
}

@implementation ExecuTorchLLMTextRunner {
  NSString *_modelPath;
  NSString *_tokenizerPath;
  NSArray *_specialTokens;
  NSLock *_lock;
  struct et_llm *_handle;
}

- (instancetype)initWithModelPath:(NSString *)modelPath
                    tokenizerPath:(NSString *)tokenizerPath
                    specialTokens:(NSArray<NSString *> *)specialTokens {
  self = [super init];
  _modelPath = [modelPath copy];
  _tokenizerPath = [tokenizerPath copy];
  _specialTokens = [specialTokens copy];
  _lock = [[NSLock alloc] init];
  return self;
}

- (instancetype)initWithModelPath:(NSString *)modelPath tokenizerPath:(NSString *)tokenizerPath {
  return [self initWithModelPath:modelPath tokenizerPath:tokenizerPath specialTokens:@[]];
}

- (void)dealloc {
  et_llm_free(_handle);
}

- (BOOL)isLoaded {
  [_lock lock];
  const BOOL isLoaded = _handle != NULL;
  [_lock unlock];
  return isLoaded;
}

- (BOOL)loadWithError:(NSError **)error {
  [_lock lock];
  BOOL isLoaded = _handle != NULL;
  if (!isLoaded) {
    const NSUInteger count = _specialTokens.count;
    const char **tokens = calloc(count + 1, sizeof(char *));
    for (NSUInteger i = 0; i < count; ++i) {
      tokens[i] = [[_specialTokens objectAtIndex:i] UTF8String];
    }
    et_error *failure = NULL;
    isLoaded = Check(et_llm_load_file_with_special_tokens(_modelPath.UTF8String, _tokenizerPath.UTF8String, tokens,
                                                          count, NULL, &_handle, &failure),
                     failure, error);
    free(tokens);
  }
  [_lock unlock];
  return isLoaded;
}

- (BOOL)generateWithPrompt:(NSString *)prompt
                    config:(ExecuTorchLLMConfig *)config
             tokenCallback:(void (^)(NSString *))callback
                     error:(NSError **)error {
  et_llm_config *made = [self loadWithError:error] ? MakeConfig(config, error) : NULL;
  if (made == NULL) {
    return NO;
  }
  et_error *failure = NULL;
  const BOOL isHeard = callback != nil && !config.warming;
  const et_status status =
      et_llm_generate(_handle, prompt.UTF8String, made, isHeard ? Receive : NULL, (__bridge void *)callback, &failure);
  et_llm_config_free(made);
  return Check(status, failure, error);
}

- (void)stop {
  [_lock lock];
  et_llm_stop(_handle);
  [_lock unlock];
}

- (void)reset {
  [_lock lock];
  if (_handle != NULL) {
    et_llm_reset(_handle, NULL);
  }
  [_lock unlock];
}

@end
