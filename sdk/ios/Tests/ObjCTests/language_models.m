// SPDX-License-Identifier: BSD-3-Clause
// Text from a language model. tests/data/make_language_model.py says what eager mode makes of the prompt.
#import "ExecuTorchLLM.h"
#import "check.h"

static NSString *const kPrompt = @"Once upon a time";
static NSString *const kEager = @"pDl*!Vn8{l9W{l9W{l9W";

static NSString *Answer(ExecuTorchLLMTextRunner *runner, NSString *prompt, ExecuTorchLLMConfig *config) {
  NSMutableString *text = [NSMutableString string];
  NSError *error = nil;
  const BOOL done = [runner generateWithPrompt:prompt
                                        config:config
                                 tokenCallback:^(NSString *piece) {
                                   [text appendString:piece];
                                 }
                                         error:&error];
  CHECK(done, error);
  return text;
}

/// LI-02 to LI-08, in Objective-C.
void TestLanguageModels(NSString *corpus) {
  NSString *program = [[corpus stringByDeletingLastPathComponent] stringByAppendingPathComponent:@"language_model.pte"];
  ExecuTorchLLMTextRunner *runner = [[ExecuTorchLLMTextRunner alloc] initWithModelPath:program tokenizerPath:nil];
  ExecuTorchLLMConfig *greedy = [[ExecuTorchLLMConfig alloc] initWithBlock:^(ExecuTorchLLMConfig *config) {
    CHECK(config.isEchoEnabled && !config.isWarming && config.temperature == 0.8, config);
    CHECK(config.maximumNewTokens == -1 && config.sequenceLength == -1, config);
    config.temperature = 0;
    config.echoEnabled = NO;
    config.maximumNewTokens = 20;
  }];
  NSError *error = nil;
  CHECK(![runner isLoaded], runner);
  CHECK([runner loadWithError:&error] && [runner isLoaded], error);
  CHECK([Answer(runner, kPrompt, greedy) isEqual:kEager], kEager);

  [runner reset];
  ExecuTorchLLMConfig *echo = [greedy copy];
  echo.echoEnabled = YES;
  echo.maximumNewTokens = 4;
  CHECK([Answer(runner, kPrompt, echo) isEqual:@"Once upon a timepDl*"], echo);
  CHECK(greedy.maximumNewTokens == 20 && !greedy.isEchoEnabled, greedy);
  [runner reset];
  echo.warming = YES;
  CHECK([Answer(runner, kPrompt, echo) isEqual:@""], echo);

  [runner reset];
  __block int pieces = 0;
  CHECK([runner generateWithPrompt:kPrompt
                            config:greedy
                     tokenCallback:^(NSString *piece) {
                       CHECK([kEager hasPrefix:piece] || pieces > 0, piece);
                       pieces++;
                       [runner stop];
                     }
                             error:&error],
        error);
  CHECK(pieces >= 1 && pieces <= 2, runner);
  [runner reset];
  CHECK([runner generateWithPrompt:kPrompt config:greedy tokenCallback:nil error:&error], error);

  [runner reset];
  ExecuTorchLLMConfig *digits = [greedy copy];
  digits.grammar = @"[0-9]{3}";
  digits.grammarType = @"regex";
  NSString *number = Answer(runner, kPrompt, [digits copy]);
  CHECK(number.length == 3 &&
            [number rangeOfCharacterFromSet:[[NSCharacterSet decimalDigitCharacterSet] invertedSet]].length == 0,
        number);

  NSString *tooLong = [@"" stringByPaddingToLength:100 withString:@"x" startingAtIndex:0];
  [runner reset];
  CHECK(![runner generateWithPrompt:tooLong config:greedy tokenCallback:nil error:&error], runner);
  CHECK([error.domain isEqual:ExecuTorchLLMErrorDomain] && error.code == 0x12, error);
  CHECK([error.localizedDescription rangeOfString:@"it has 100 tokens"].length > 0, error);
  ExecuTorchLLMTextRunner *none = [[ExecuTorchLLMTextRunner alloc] initWithModelPath:@"/none.pte" tokenizerPath:nil];
  CHECK(![none loadWithError:&error] && error.code == 0x22 && ![none isLoaded], error);
  ExecuTorchLLMTextRunner *special = [[ExecuTorchLLMTextRunner alloc] initWithModelPath:program
                                                                          tokenizerPath:@"/none.tiktoken"
                                                                          specialTokens:@[ @"<a>", @"<b>" ]];
  CHECK(![special loadWithError:NULL], special);
}
