// SPDX-License-Identifier: BSD-3-Clause
#import "ExecuTorchLLMTextRunner.h"

#import "ExecuTorchLLMInternal.h"

@implementation ExecuTorchLLMTextRunner {
  ExecuTorchLLMModel *_model;
}

- (instancetype)initWithModelPath:(NSString *)modelPath
                    tokenizerPath:(NSString *)tokenizerPath
                    specialTokens:(NSArray<NSString *> *)specialTokens {
  self = [super init];
  _model = [[ExecuTorchLLMModel alloc] initWithModelPath:modelPath
                                           tokenizerPath:tokenizerPath
                                           specialTokens:specialTokens];
  return self;
}

- (instancetype)initWithModelPath:(NSString *)modelPath tokenizerPath:(NSString *)tokenizerPath {
  return [self initWithModelPath:modelPath tokenizerPath:tokenizerPath specialTokens:@[]];
}

- (BOOL)isLoaded {
  return [_model isLoaded];
}

- (BOOL)loadWithError:(NSError **)error {
  return [_model loadWithError:error];
}

- (BOOL)generateWithPrompt:(NSString *)prompt
                    config:(ExecuTorchLLMConfig *)config
             tokenCallback:(void (^)(NSString *))callback
                     error:(NSError **)error {
  // With its size, because a prompt may have a NUL inside.
  const et_llm_input part = {
      ET_LLM_INPUT_TEXT, {0, 0, 0}, prompt.UTF8String, [prompt lengthOfBytesUsingEncoding:NSUTF8StringEncoding]};
  return [_model generateWithConfig:config
                      tokenCallback:callback
                              error:error
                           function:^(et_llm *llm, const et_llm_config *settings, et_llm_text text, void *context,
                                      et_error **failure) {
                             return et_llm_generate_inputs(llm, &part, 1, settings, text, context, failure);
                           }];
}

- (NSString *)applyChatTemplate:(NSString *)variables error:(NSError **)error {
  return [_model textOf:variables error:error function:et_llm_apply_chat_template];
}

- (NSString *)parseToolCalls:(NSString *)answer error:(NSError **)error {
  return [_model textOf:answer error:error function:et_llm_parse_tool_calls];
}

- (BOOL)setDraft:(ExecuTorchLLMTextRunner *)draft error:(NSError **)error {
  return [_model setDraft:draft->_model error:error];
}

- (void)stop {
  [_model stop];
}

- (void)reset {
  [_model reset];
}

@end
