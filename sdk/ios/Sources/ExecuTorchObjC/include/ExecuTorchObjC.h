// SPDX-License-Identifier: BSD-3-Clause
// The runtime for Objective-C, like the Swift module ExecuTorch, over the same C interface.
#import "ExecuTorchError.h"
#import "ExecuTorchLog.h"
#import "ExecuTorchMetadata.h"
#import "ExecuTorchModule.h"
#import "ExecuTorchTensor.h"
#import "ExecuTorchValue.h"
