// SPDX-License-Identifier: BSD-3-Clause
#import <Foundation/Foundation.h>

NS_ASSUME_NONNULL_BEGIN

/// How an answer is generated. The defaults: the prompt before the answer, the context's length, temperature 0.8.
@interface ExecuTorchLLMConfig : NSObject <NSCopying>

/// Whether the callback receives the prompt first.
@property(nonatomic, getter=isEchoEnabled) BOOL echoEnabled;
/// The most tokens of the answer; -1: what the context has room for.
@property(nonatomic) NSInteger maximumNewTokens;
/// Whether this run only warms up: the callback then receives nothing.
@property(nonatomic, getter=isWarming) BOOL warming;
/// The most tokens of prompt and answer together; -1: all of the context.
@property(nonatomic) NSInteger sequenceLength;
/// 0: always the likeliest token; higher values make the answer more random.
@property(nonatomic) double temperature;
/// The number of begin tokens before the prompt.
@property(nonatomic) NSInteger bosCount;
/// The number of end tokens after it.
@property(nonatomic) NSInteger eosCount;
/// The grammar that the answer must follow, of the type that `grammarType` names; @"" allows any text.
@property(nonatomic, copy) NSString *grammar;
/// @"json_schema", @"regex", @"gbnf" or @"lark".
@property(nonatomic, copy) NSString *grammarType;
/// The most tokens that prompt look-up checks at once; 0: no look-up.
@property(nonatomic) NSInteger lookupTokens;
/// The most tokens that a smaller model drafts at once; 0: none.
@property(nonatomic) NSInteger draftTokens;

- (instancetype)init;
/// The defaults, changed by `block`.
- (instancetype)initWithBlock:(void (^)(ExecuTorchLLMConfig *))block;

@end

NS_ASSUME_NONNULL_END
