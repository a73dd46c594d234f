// SPDX-License-Identifier: BSD-3-Clause
#import "ExecuTorchLLMInternal.h"

#import "ExecuTorchLLMTextRunner.h"

NSString *const ExecuTorchLLMErrorDomain = @"org.pytorch.executorch.llm.error";

static void Fail(et_status status, NSString *text, NSError **error) {
  if (error != NULL) {
    *error = [NSError errorWithDomain:ExecuTorchLLMErrorDomain
                                 code:(NSInteger)status
                             userInfo:@{NSLocalizedDescriptionKey : text}];
  }
}

BOOL ExecuTorchLLMCheck(et_status status, et_error *failure, NSError **error) {
  if (status == ET_STATUS_OK) {
    return YES;
  }
  const char *words = failure != NULL ? et_error_message(failure) : et_status_name(status);
  Fail(status, [NSString stringWithUTF8String:words] ?: @"", error);
  et_error_free(failure);
  return NO;
}

et_llm_config *ExecuTorchLLMMakeConfig(ExecuTorchLLMConfig *from, NSError **error) {
  et_llm_config *made = NULL;
  et_error *failure = NULL;
  if (!ExecuTorchLLMCheck(et_llm_config_create(&made, &failure), failure, error)) {
    return NULL;
  }
  const struct {
    const char *name;
    NSInteger value;
  } integers[] = {{"echo", from.echoEnabled},        {"max_new_tokens", from.maximumNewTokens},
                  {"seq_len", from.sequenceLength},  {"num_bos", from.bosCount},
                  {"num_eos", from.eosCount},        {"lookup_tokens", from.lookupTokens},
                  {"draft_tokens", from.draftTokens}};
  BOOL isGood = YES;
  for (size_t i = 0; isGood && i < sizeof(integers) / sizeof(integers[0]); ++i) {
    const et_status status = et_llm_config_set_int(made, integers[i].name, integers[i].value, &failure);
    isGood = ExecuTorchLLMCheck(status, failure, error);
  }
  const struct {
    const char *name;
    NSString *value;
  } texts[] = {{"grammar", from.grammar}, {"grammar_type", from.grammarType}};
  for (size_t i = 0; isGood && i < sizeof(texts) / sizeof(texts[0]); ++i) {
    const et_status status = et_llm_config_set_string(made, texts[i].name, texts[i].value.UTF8String, &failure);
    isGood = ExecuTorchLLMCheck(status, failure, error);
  }
  if (isGood) {
    const et_status status = et_llm_config_set_double(made, "temperature", from.temperature, &failure);
    isGood = ExecuTorchLLMCheck(status, failure, error);
  }
  if (!isGood) {
    et_llm_config_free(made);
    return NULL;
  }
  return made;
}

bool ExecuTorchLLMReceive(const char *text, size_t size, void *context) {
  @autoreleasepool {
    NSString *piece = [[NSString alloc] initWithBytes:text length:size encoding:NSUTF8StringEncoding];
    ((__bridge ExecuTorchLLMTokenCallback)context)(piece ?: @"");
  }
  return true;
}

@implementation ExecuTorchLLMModel {
  NSString *_modelPath;
  NSString *_tokenizerPath;
  NSArray *_specialTokens;
  NSLock *_lock;
  struct et_llm *_handle;
  BOOL _isGivenAway;
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
  if (_isGivenAway) {
    Fail(ET_STATUS_INVALID_STATE, @"the model drafts for another runner: make a new one", error);
  } else if (!isLoaded) {
    const NSUInteger count = _specialTokens.count;
    const char **tokens = calloc(count + 1, sizeof(char *));
    for (NSUInteger i = 0; i < count; ++i) {
      tokens[i] = [[_specialTokens objectAtIndex:i] UTF8String];
    }
    et_error *failure = NULL;
    const et_status status = et_llm_load_file_with_special_tokens(_modelPath.UTF8String, _tokenizerPath.UTF8String,
                                                                  tokens, count, NULL, &_handle, &failure);
    isLoaded = ExecuTorchLLMCheck(status, failure, error);
    free(tokens);
  }
  [_lock unlock];
  return isLoaded;
}

- (BOOL)generateWithConfig:(ExecuTorchLLMConfig *)config
             tokenCallback:(ExecuTorchLLMTokenCallback)callback
                     error:(NSError **)error
                  function:(et_status (^)(et_llm *, const et_llm_config *, et_llm_text, void *, et_error **))function {
  et_llm_config *made = [self loadWithError:error] ? ExecuTorchLLMMakeConfig(config, error) : NULL;
  if (made == NULL) {
    return NO;
  }
  et_error *failure = NULL;
  const BOOL isHeard = callback != nil && !config.warming;
  const et_status status =
      function(_handle, made, isHeard ? ExecuTorchLLMReceive : NULL, (__bridge void *)callback, &failure);
  et_llm_config_free(made);
  return ExecuTorchLLMCheck(status, failure, error);
}

- (NSString *)textOf:(NSString *)given
               error:(NSError **)error
            function:(et_status (*)(et_llm *, const char *, const char **, et_error **))function {
  if (![self loadWithError:error]) {
    return nil;
  }
  const char *made = NULL;
  et_error *failure = NULL;
  return ExecuTorchLLMCheck(function(_handle, given.UTF8String, &made, &failure), failure, error)
             ? [NSString stringWithUTF8String:made]
             : nil;
}

- (BOOL)setDraft:(ExecuTorchLLMModel *)draft error:(NSError **)error {
  if (![self loadWithError:error] || ![draft loadWithError:error]) {
    return NO;
  }
  et_error *failure = NULL;
  [draft->_lock lock];
  const BOOL done = ExecuTorchLLMCheck(et_llm_set_draft(_handle, draft->_handle, &failure), failure, error);
  if (done) {
    draft->_handle = NULL;
    draft->_isGivenAway = YES;
  }
  [draft->_lock unlock];
  return done;
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
