// SPDX-License-Identifier: BSD-3-Clause
#import <Foundation/Foundation.h>

@class ExecuTorchLLMConfig;

NS_ASSUME_NONNULL_BEGIN

/// The domain of all errors here. The codes are those of ExecuTorchErrorCode; the localizedDescription says what was
/// expected, what was found and what to do.
extern NSString *const ExecuTorchLLMErrorDomain;

/// A language model with its tokenizer, and the conversation so far as its context. Any thread may use it. It makes one
/// call at a time: another one meanwhile fails with the code 0x02, except `stop`.
@interface ExecuTorchLLMTextRunner : NSObject

/// Loads nothing yet.
/// @param tokenizerPath a `tokenizer.json`, `tokenizer.model` or `tokenizer.bin`; nil: the tokenizer in the program.
/// @param specialTokens the special tokens of a tiktoken tokenizer, in the order of their numbers; empty: those of
/// Llama 3. Other tokenizers have theirs in the file.
- (instancetype)initWithModelPath:(NSString *)modelPath
                    tokenizerPath:(nullable NSString *)tokenizerPath
                    specialTokens:(NSArray<NSString *> *)specialTokens NS_DESIGNATED_INITIALIZER;
- (instancetype)initWithModelPath:(NSString *)modelPath tokenizerPath:(nullable NSString *)tokenizerPath;
- (instancetype)init NS_UNAVAILABLE;

- (BOOL)isLoaded;
/// Loads the program and the tokenizer, so that the first answer need not.
- (BOOL)loadWithError:(NSError **)error;

/// Continues the conversation by a prompt and by the model's answer.
/// @param callback receives the pieces of the answer, in this thread: whole characters, usually of one token. It may
/// call `stop`.
- (BOOL)generateWithPrompt:(NSString *)prompt
                    config:(ExecuTorchLLMConfig *)config
             tokenCallback:(nullable void (^)(NSString *))callback
                     error:(NSError **)error;

/// The prompt of a conversation, by the chat template in the program. `variables` is a JSON object,
/// {"messages": [{"role": "user", "content": "Hi"}]}. Nil with an error, of the code 0x20 for a program without one.
- (nullable NSString *)applyChatTemplate:(NSString *)variables error:(NSError **)error;
/// An answer as a message of the conversation, a JSON object with "tool_calls" if it calls tools. Nil with an error, of
/// the code 0x10 for a chat template that has no known form of calls.
- (nullable NSString *)parseToolCalls:(NSString *)answer error:(NSError **)error;
/// Lets `draft`, a smaller model of the same vocabulary, draft tokens for this one (`draftTokens`); drafts change no
/// answer. `draft` cannot be used any more, unless this fails. Neither runner may generate meanwhile.
- (BOOL)setDraft:(ExecuTorchLLMTextRunner *)draft error:(NSError **)error;

/// Ends the current answer after the current token.
- (void)stop;
/// Begins a new conversation. Also makes the runner usable again after an error.
- (void)reset;

@end

NS_ASSUME_NONNULL_END
