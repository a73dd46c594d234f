// SPDX-License-Identifier: BSD-3-Clause
#import <Foundation/Foundation.h>

NS_ASSUME_NONNULL_BEGIN

/// The domain of all errors here. Their localizedDescription says what was expected, what was found and what to do.
extern NSString *const ExecuTorchErrorDomain;

/// The numbers are the same in every language.
typedef NS_ENUM(NSInteger, ExecuTorchErrorCode) {
  ExecuTorchErrorCodeOk = 0x00,
  ExecuTorchErrorCodeInternal = 0x01,
  ExecuTorchErrorCodeInvalidState = 0x02,
  ExecuTorchErrorCodeEndOfMethod = 0x03,
  ExecuTorchErrorCodeAlreadyLoaded = 0x04,
  ExecuTorchErrorCodeNotSupported = 0x10,
  ExecuTorchErrorCodeNotImplemented = 0x11,
  ExecuTorchErrorCodeInvalidArgument = 0x12,
  ExecuTorchErrorCodeInvalidType = 0x13,
  ExecuTorchErrorCodeOperatorMissing = 0x14,
  ExecuTorchErrorCodeRegistrationExceedingMaxKernels = 0x15,
  ExecuTorchErrorCodeRegistrationAlreadyRegistered = 0x16,
  ExecuTorchErrorCodeNotFound = 0x20,
  ExecuTorchErrorCodeMemoryAllocationFailed = 0x21,
  ExecuTorchErrorCodeAccessFailed = 0x22,
  ExecuTorchErrorCodeInvalidProgram = 0x23,
  ExecuTorchErrorCodeInvalidExternalData = 0x24,
  ExecuTorchErrorCodeOutOfResources = 0x25,
  ExecuTorchErrorCodeDelegateInvalidCompatibility = 0x30,
  ExecuTorchErrorCodeDelegateMemoryAllocationFailed = 0x31,
  ExecuTorchErrorCodeDelegateInvalidHandle = 0x32,
  ExecuTorchErrorCodeCancelled = 0x40,
};

NS_ASSUME_NONNULL_END
