// SPDX-License-Identifier: BSD-3-Clause
#import <Foundation/Foundation.h>

@class ExecuTorchMethodMetadata;
@class ExecuTorchTensor;
@class ExecuTorchValue;

NS_ASSUME_NONNULL_BEGIN

typedef NS_ENUM(NSInteger, ExecuTorchModuleLoadMode) {
  ExecuTorchModuleLoadModeFile = 0,  ///< read into memory
  ExecuTorchModuleLoadModeMmap,
  ExecuTorchModuleLoadModeMmapUseMlock,
  ExecuTorchModuleLoadModeMmapUseMlockIgnoreErrors,
};

/// How much of a program is checked when it is loaded. `load:` and all methods that load a program on first use check
/// InternalConsistency.
typedef NS_ENUM(NSInteger, ExecuTorchVerification) {
  ExecuTorchVerificationMinimal = 0,              ///< only the headers: for trusted bytes
  ExecuTorchVerificationInternalConsistency = 1,  ///< everything: a program that passes is safe to run
};

/// Stops every run that it was passed to, also those that begin later. Any thread may call it. It cannot be reset.
@interface ExecuTorchCancellation : NSObject
- (instancetype)init;
- (void)cancel;
@property(nonatomic, readonly) BOOL isCancelled;
@end

/// A program and its methods. A program or method is loaded by `load`, or when it is first needed. Any thread may call
/// it; calls wait for each other. Outputs are copies.
@interface ExecuTorchModule : NSObject

- (instancetype)initWithFilePath:(NSString *)filePath;
- (instancetype)initWithFilePath:(NSString *)filePath loadMode:(ExecuTorchModuleLoadMode)loadMode;
- (instancetype)initWithFilePath:(NSString *)filePath
                   dataFilePaths:(NSArray<NSString *> *)dataFilePaths
                        loadMode:(ExecuTorchModuleLoadMode)loadMode NS_DESIGNATED_INITIALIZER;
- (instancetype)init NS_UNAVAILABLE;

/// Loads and verifies the program.
- (BOOL)load:(NSError **)error;
- (BOOL)loadWithVerification:(ExecuTorchVerification)verification error:(NSError **)error;
- (BOOL)isLoaded;
- (BOOL)loadMethod:(NSString *)methodName error:(NSError **)error;
- (BOOL)isMethodLoaded:(NSString *)methodName;
/// NO when it was not loaded.
- (BOOL)unloadMethod:(NSString *)methodName;
- (nullable NSSet<NSString *> *)methodNames:(NSError **)error;
/// The signature of a method. Loads the program, not the method.
- (nullable ExecuTorchMethodMetadata *)methodMetadata:(NSString *)methodName error:(NSError **)error;

- (nullable NSArray<ExecuTorchValue *> *)executeMethod:(NSString *)methodName
                                            withInputs:(NSArray<ExecuTorchValue *> *)inputs
                                                 error:(NSError **)error;
- (nullable NSArray<ExecuTorchValue *> *)executeMethod:(NSString *)methodName
                                           withTensors:(NSArray<ExecuTorchTensor *> *)inputs
                                                 error:(NSError **)error;
- (nullable NSArray<ExecuTorchValue *> *)executeMethod:(NSString *)methodName
                                             withInput:(ExecuTorchValue *)input
                                                 error:(NSError **)error;
- (nullable NSArray<ExecuTorchValue *> *)executeMethod:(NSString *)methodName error:(NSError **)error;
/// If `cancellation` stops the method, before its next instruction, the error is ExecuTorchErrorCodeCancelled. The
/// method can run again after that.
- (nullable NSArray<ExecuTorchValue *> *)executeMethod:(NSString *)methodName
                                            withInputs:(NSArray<ExecuTorchValue *> *)inputs
                                          cancellation:(nullable ExecuTorchCancellation *)cancellation
                                                 error:(NSError **)error;
/// The method "forward".
- (nullable NSArray<ExecuTorchValue *> *)forwardWithInputs:(NSArray<ExecuTorchValue *> *)inputs error:(NSError **)error;
- (nullable NSArray<ExecuTorchValue *> *)forwardWithTensors:(NSArray<ExecuTorchTensor *> *)inputs
                                                      error:(NSError **)error;
- (nullable NSArray<ExecuTorchValue *> *)forwardWithInput:(ExecuTorchValue *)input error:(NSError **)error;
- (nullable NSArray<ExecuTorchValue *> *)forwardWithTensor:(ExecuTorchTensor *)input error:(NSError **)error;

@end

NS_ASSUME_NONNULL_END
