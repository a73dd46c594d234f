// SPDX-License-Identifier: BSD-3-Clause
// The runtime for Objective-C: what the Swift module ExecuTorch is for Swift, over the same C interface.
#import "ExecuTorchError.h"
#import "ExecuTorchLog.h"
#import "ExecuTorchMetadata.h"
#import "ExecuTorchModule.h"
#import "ExecuTorchTensor.h"
#import "ExecuTorchValue.h"
