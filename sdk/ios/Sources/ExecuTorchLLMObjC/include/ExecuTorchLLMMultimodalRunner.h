// SPDX-License-Identifier: BSD-3-Clause
#import <Foundation/Foundation.h>

@class ExecuTorchLLMConfig;

NS_ASSUME_NONNULL_BEGIN

/// A picture: planes of numbers, [channels, height, width], of the size that the program takes.
@interface ExecuTorchLLMImage : NSObject <NSCopying>

/// Bytes from 0 to 255.
- (instancetype)initWithData:(NSData *)data
                       width:(NSInteger)width
                      height:(NSInteger)height
                    channels:(NSInteger)channels;
/// Floats that the caller has normalised, as the model's image processor in transformers does.
- (instancetype)initWithFloatData:(NSData *)data
                            width:(NSInteger)width
                           height:(NSInteger)height
                         channels:(NSInteger)channels;
- (instancetype)init NS_UNAVAILABLE;

@property(nonatomic, readonly) NSData *data;
@property(nonatomic, readonly) NSInteger width;
@property(nonatomic, readonly) NSInteger height;
@property(nonatomic, readonly) NSInteger channels;
@property(nonatomic, readonly) BOOL isFloat;

@end

/// Features of sound, [batchSize, bins, frames]: a window for each of the batch.
@interface ExecuTorchLLMAudio : NSObject <NSCopying>

/// Bytes, for a program whose encoder takes whole numbers.
- (instancetype)initWithData:(NSData *)data
                   batchSize:(NSInteger)batchSize
                        bins:(NSInteger)bins
                      frames:(NSInteger)frames;
- (instancetype)initWithFloatData:(NSData *)data
                        batchSize:(NSInteger)batchSize
                             bins:(NSInteger)bins
                           frames:(NSInteger)frames;
- (instancetype)init NS_UNAVAILABLE;

@property(nonatomic, readonly) NSData *data;
@property(nonatomic, readonly) NSInteger batchSize;
@property(nonatomic, readonly) NSInteger bins;
@property(nonatomic, readonly) NSInteger frames;
@property(nonatomic, readonly) BOOL isFloat;

@end

/// What a part of a prompt is. No input is `Unsupported`.
typedef NS_ENUM(NSInteger, ExecuTorchLLMMultimodalInputType) {
  ExecuTorchLLMMultimodalInputTypeText,
  ExecuTorchLLMMultimodalInputTypeImage,
  ExecuTorchLLMMultimodalInputTypeAudio,
  ExecuTorchLLMMultimodalInputTypeUnsupported,
};

/// A part of a prompt.
@interface ExecuTorchLLMMultimodalInput : NSObject <NSCopying>

+ (instancetype)inputWithText:(NSString *)text;
+ (instancetype)inputWithImage:(ExecuTorchLLMImage *)image;
+ (instancetype)inputWithAudio:(ExecuTorchLLMAudio *)audio;
- (instancetype)init NS_UNAVAILABLE;

@property(nonatomic, readonly) ExecuTorchLLMMultimodalInputType type;
/// The text; nil for an input of another type. The other properties do the same.
@property(nonatomic, readonly, nullable) NSString *text;
@property(nonatomic, readonly, nullable) ExecuTorchLLMImage *image;
@property(nonatomic, readonly, nullable) ExecuTorchLLMAudio *audio;

@end

/// A language model that also takes pictures or sound. The rules are those of ExecuTorchLLMTextRunner. A prompt with a
/// part that cannot be used leaves the conversation as it was.
@interface ExecuTorchLLMMultimodalRunner : NSObject

/// Loads nothing yet.
/// @param tokenizerPath a `tokenizer.json`, `tokenizer.model` or `tokenizer.bin`; nil: the tokenizer in the program.
- (instancetype)initWithModelPath:(NSString *)modelPath
                    tokenizerPath:(nullable NSString *)tokenizerPath NS_DESIGNATED_INITIALIZER;
- (instancetype)init NS_UNAVAILABLE;

- (BOOL)isLoaded;
/// Loads the program and the tokenizer, so that the first answer need not.
- (BOOL)loadWithError:(NSError **)error;

/// Continues the conversation by a prompt and by the model's answer.
/// @param callback receives the pieces of the answer, in this thread: whole characters, usually of one token. It may
/// call `stop`.
- (BOOL)generateWithInputs:(NSArray<ExecuTorchLLMMultimodalInput *> *)inputs
                    config:(ExecuTorchLLMConfig *)config
             tokenCallback:(nullable void (^)(NSString *))callback
                     error:(NSError **)error;

/// Ends the current answer after the current token.
- (void)stop;
/// Begins a new conversation. Also makes the runner usable again after an error.
- (void)reset;

@end

NS_ASSUME_NONNULL_END
