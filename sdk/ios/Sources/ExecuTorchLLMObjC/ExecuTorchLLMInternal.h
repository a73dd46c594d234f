// SPDX-License-Identifier: BSD-3-Clause
// What the runners share: errors, settings and pieces of text of the C interface.
#import <CExecuTorch/llm.h>
#import <Foundation/Foundation.h>

#import "ExecuTorchLLMConfig.h"

NS_ASSUME_NONNULL_BEGIN

/// Whether `status` is Ok. Otherwise, `*error` gets the message of `failure`, which this frees.
BOOL ExecuTorchLLMCheck(et_status status, et_error *_Nullable failure, NSError **error);

/// A configuration of the C interface, which the caller frees. NULL with an error.
et_llm_config *_Nullable ExecuTorchLLMMakeConfig(ExecuTorchLLMConfig *from, NSError **error);

typedef void (^ExecuTorchLLMTokenCallback)(NSString *);

/// Gives a piece of text to the ExecuTorchLLMTokenCallback `context`.
bool ExecuTorchLLMReceive(const char *text, size_t size, void *context);

/// A runner of the C interface, which is loaded at first use.
@interface ExecuTorchLLMModel : NSObject
- (instancetype)initWithModelPath:(NSString *)modelPath
                    tokenizerPath:(nullable NSString *)tokenizerPath
                    specialTokens:(NSArray<NSString *> *)specialTokens NS_DESIGNATED_INITIALIZER;
- (instancetype)init NS_UNAVAILABLE;
- (BOOL)isLoaded;
- (BOOL)loadWithError:(NSError **)error;
/// Loads the model and calls `function` with it, a configuration, and a callback that receives the text.
- (BOOL)generateWithConfig:(ExecuTorchLLMConfig *)config
             tokenCallback:(nullable ExecuTorchLLMTokenCallback)callback
                     error:(NSError **)error
                  function:(et_status (^)(et_llm *llm, const et_llm_config *config, et_llm_text _Nullable text,
                                          void *_Nullable context, et_error *_Nullable *_Nonnull failure))function;
/// The result of a function of the C interface for a text; nil with an error.
- (nullable NSString *)textOf:(NSString *)given
                        error:(NSError **)error
                     function:(et_status (*)(et_llm *, const char *, const char *_Nullable *_Nonnull,
                                             et_error *_Nullable *_Nonnull))function;
/// `draft` cannot be used any more, unless this fails.
- (BOOL)setDraft:(ExecuTorchLLMModel *)draft error:(NSError **)error;
- (void)stop;
- (void)reset;
@end

NS_ASSUME_NONNULL_END
