// SPDX-License-Identifier: BSD-3-Clause
#import <Foundation/Foundation.h>

@class ExecuTorchTensor;
@class ExecuTorchValue;

NS_ASSUME_NONNULL_BEGIN

typedef NS_ENUM(NSInteger, ExecuTorchModuleLoadMode) {
  ExecuTorchModuleLoadModeFile = 0,  ///< read into memory
  ExecuTorchModuleLoadModeMmap,
  ExecuTorchModuleLoadModeMmapUseMlock,
  ExecuTorchModuleLoadModeMmapUseMlockIgnoreErrors,
};

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
- (BOOL)isLoaded;
- (BOOL)loadMethod:(NSString *)methodName error:(NSError **)error;
- (BOOL)isMethodLoaded:(NSString *)methodName;
/// NO when it was not loaded.
- (BOOL)unloadMethod:(NSString *)methodName;
- (nullable NSSet<NSString *> *)methodNames:(NSError **)error;

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
/// The method "forward".
- (nullable NSArray<ExecuTorchValue *> *)forwardWithInputs:(NSArray<ExecuTorchValue *> *)inputs error:(NSError **)error;
- (nullable NSArray<ExecuTorchValue *> *)forwardWithTensors:(NSArray<ExecuTorchTensor *> *)inputs
                                                      error:(NSError **)error;
- (nullable NSArray<ExecuTorchValue *> *)forwardWithInput:(ExecuTorchValue *)input error:(NSError **)error;
- (nullable NSArray<ExecuTorchValue *> *)forwardWithTensor:(ExecuTorchTensor *)input error:(NSError **)error;

@end

NS_ASSUME_NONNULL_END
