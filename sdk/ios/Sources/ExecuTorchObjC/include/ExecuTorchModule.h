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

/// How much of a program is checked when it is loaded. `load:` and what loads by itself take InternalConsistency.
typedef NS_ENUM(NSInteger, ExecuTorchVerification) {
  ExecuTorchVerificationMinimal = 0,              ///< only the headers: for bytes that are known to be good
  ExecuTorchVerificationInternalConsistency = 1,  ///< everything: what passes can do no harm later
};

/// Stops the runs that it is given to, now and later, from any thread; never undone.
@interface ExecuTorchCancellation : NSObject
- (instancetype)init;
- (void)cancel;
@property(nonatomic, readonly) BOOL isCancelled;
@end

/// A program and its methods. Nothing is loaded until it is asked for, or needed. From any thread; calls wait for each
/// other. Outputs have memory of their own.
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
/// What a method takes and gives; loads the program, not the method.
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
/// ExecuTorchErrorCodeCancelled when `cancellation` stops it, before its next instruction. It can run again after that.
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
