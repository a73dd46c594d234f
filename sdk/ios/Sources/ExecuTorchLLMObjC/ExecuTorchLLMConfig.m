// SPDX-License-Identifier: BSD-3-Clause
#import "ExecuTorchLLMConfig.h"

@implementation ExecuTorchLLMConfig {
  BOOL _echoEnabled;
  NSInteger _maximumNewTokens;
  BOOL _warming;
  NSInteger _sequenceLength;
  double _temperature;
  NSInteger _bosCount;
  NSInteger _eosCount;
  NSString *_grammar;
  NSString *_grammarType;
  NSInteger _lookupTokens;
  NSInteger _draftTokens;
}
@synthesize echoEnabled = _echoEnabled;
@synthesize maximumNewTokens = _maximumNewTokens;
@synthesize warming = _warming;
@synthesize sequenceLength = _sequenceLength;
@synthesize temperature = _temperature;
@synthesize bosCount = _bosCount;
@synthesize eosCount = _eosCount;
@synthesize grammar = _grammar;
@synthesize grammarType = _grammarType;
@synthesize lookupTokens = _lookupTokens;
@synthesize draftTokens = _draftTokens;

- (instancetype)init {
  self = [super init];
  _echoEnabled = YES;
  _maximumNewTokens = -1;
  _sequenceLength = -1;
  _temperature = 0.8;
  _grammar = @"";
  _grammarType = @"";
  return self;
}

- (instancetype)initWithBlock:(void (^)(ExecuTorchLLMConfig *))block {
  self = [self init];
  block(self);
  return self;
}

- (id)copyWithZone:(NSZone *)zone {
  ExecuTorchLLMConfig *copy = [[ExecuTorchLLMConfig allocWithZone:zone] init];
  copy.echoEnabled = _echoEnabled;
  copy.maximumNewTokens = _maximumNewTokens;
  copy.warming = _warming;
  copy.sequenceLength = _sequenceLength;
  copy.temperature = _temperature;
  copy.bosCount = _bosCount;
  copy.eosCount = _eosCount;
  copy.grammar = _grammar;
  copy.grammarType = _grammarType;
  copy.lookupTokens = _lookupTokens;
  copy.draftTokens = _draftTokens;
  return copy;
}

@end
