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

static NSString *AnswerTo(ExecuTorchLLMMultimodalRunner *runner, NSArray *inputs, ExecuTorchLLMConfig *config) {
  NSMutableString *text = [NSMutableString string];
  NSError *error = nil;
  const BOOL done = [runner generateWithInputs:inputs
                                        config:config
                                 tokenCallback:^(NSString *piece) {
                                   [text appendString:piece];
                                 }
                                         error:&error];
  CHECK(done, error);
  return text;
}

/// The text of tests/data/make_multimodal.py, which transformers made.
static NSString *Expected(NSString *folder, NSString *name) {
  NSString *path = [folder stringByAppendingPathComponent:[name stringByAppendingString:@".expected"]];
  NSString *tokens = [NSString stringWithContentsOfFile:path encoding:NSUTF8StringEncoding error:NULL];
  NSString *first = [[tokens componentsSeparatedByString:@"\n"] objectAtIndex:0];
  NSMutableString *text = [NSMutableString string];
  for (NSString *token in [first componentsSeparatedByString:@" "]) {
    [text appendFormat:@"%c", (char)([token intValue] + ' ')];
  }
  return text;
}

/// LI-09 to LI-11, in Objective-C.
void TestMultimodalModels(NSString *corpus) {
  NSString *folder = [[corpus stringByDeletingLastPathComponent] stringByAppendingPathComponent:@"multimodal"];
  NSMutableData *pixels = [NSMutableData dataWithLength:3 * 28 * 28];
  for (NSUInteger i = 0; i < pixels.length; ++i) {
    ((uint8_t *)pixels.mutableBytes)[i] = (uint8_t)(i * 37 % 256);
  }
  NSMutableData *features = [NSMutableData dataWithLength:16 * 200 * sizeof(float)];
  for (NSUInteger i = 0; i < 16 * 200; ++i) {
    ((float *)features.mutableBytes)[i] = (float)(i * 37 % 256) / 256;
  }
  ExecuTorchLLMConfig *greedy = [[ExecuTorchLLMConfig alloc] initWithBlock:^(ExecuTorchLLMConfig *config) {
    config.temperature = 0;
    config.echoEnabled = NO;
    config.maximumNewTokens = 8;
  }];
  ExecuTorchLLMImage *image = [[ExecuTorchLLMImage alloc] initWithData:pixels width:28 height:28 channels:3];
  ExecuTorchLLMAudio *audio = [[ExecuTorchLLMAudio alloc] initWithFloatData:features batchSize:1 bins:16 frames:200];
  CHECK(!image.isFloat && image.width == 28 && image.height == 28 && image.channels == 3, image);
  CHECK(audio.isFloat && audio.batchSize == 1 && audio.bins == 16 && audio.frames == 200, audio);
  ExecuTorchLLMMultimodalInput *picture = [ExecuTorchLLMMultimodalInput inputWithImage:image];
  ExecuTorchLLMMultimodalInput *sound = [ExecuTorchLLMMultimodalInput inputWithAudio:audio];
  ExecuTorchLLMMultimodalInput *before = [ExecuTorchLLMMultimodalInput inputWithText:@"ab"];
  ExecuTorchLLMMultimodalInput *after = [ExecuTorchLLMMultimodalInput inputWithText:@"cd"];
  CHECK(picture.type == ExecuTorchLLMMultimodalInputTypeImage && picture.image == image && picture.text == nil,
        picture);
  CHECK(sound.type == ExecuTorchLLMMultimodalInputTypeAudio && sound.audio == audio, sound);
  CHECK(before.type == ExecuTorchLLMMultimodalInputTypeText && [before.text isEqual:@"ab"], before);
  NSError *error = nil;
  for (NSString *name in @[ @"llava", @"voxtral" ]) {
    NSString *path = [folder stringByAppendingPathComponent:[name stringByAppendingString:@".pte"]];
    ExecuTorchLLMMultimodalRunner *runner = [[ExecuTorchLLMMultimodalRunner alloc] initWithModelPath:path
                                                                                       tokenizerPath:nil];
    CHECK(![runner isLoaded] && [runner loadWithError:&error] && [runner isLoaded], error);
    const BOOL isPicture = [name isEqual:@"llava"];
    NSArray *other = @[ before, isPicture ? sound : picture ];
    CHECK(![runner generateWithInputs:other config:greedy tokenCallback:nil error:&error] && error.code == 0x10, error);
    NSArray *prompt = @[ before, isPicture ? picture : sound, after ];
    CHECK([AnswerTo(runner, prompt, greedy) isEqual:Expected(folder, name)], name);
    [runner stop];
    [runner reset];
    CHECK([AnswerTo(runner, prompt, greedy) isEqual:Expected(folder, name)], name);
    CHECK(![runner generateWithInputs:@[] config:greedy tokenCallback:nil error:&error] && error.code == 0x12, error);
  }
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
  const unichar cut[] = {'O', 'n', 0, 'c', 'e'};
  NSString *whole = [NSString stringWithCharacters:cut length:5];
  NSString *answer = Answer(runner, whole, echo);
  CHECK([answer hasPrefix:whole], answer);
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

  [runner reset];
  NSString *prompt = [runner applyChatTemplate:@"{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}"
                                         error:&error];
  CHECK([prompt isEqual:@"<user>Hi"], error);
  CHECK([runner parseToolCalls:@"a" error:&error] == nil && error.code == 0x10, error);
  ExecuTorchLLMTextRunner *draft = [[ExecuTorchLLMTextRunner alloc] initWithModelPath:program tokenizerPath:nil];
  CHECK(![runner setDraft:runner error:&error] && error.code == 0x12, error);
  CHECK([runner setDraft:draft error:&error], error);
  CHECK(![draft isLoaded] && ![draft loadWithError:&error] && error.code == 0x02, error);
  ExecuTorchLLMConfig *drafted = [greedy copy];
  drafted.draftTokens = 3;
  CHECK(![runner generateWithPrompt:kPrompt config:[drafted copy] tokenCallback:nil error:&error], runner);
  CHECK([error.localizedDescription rangeOfString:@"generate_full_logits"].length > 0, error);

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
