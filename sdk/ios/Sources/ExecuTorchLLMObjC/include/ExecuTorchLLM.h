// SPDX-License-Identifier: BSD-3-Clause
// Language models for Objective-C: what the Swift module ExecuTorchLLM is for Swift, over the same C interface.
#import "ExecuTorchLLMConfig.h"
#import "ExecuTorchLLMMultimodalRunner.h"
#import "ExecuTorchLLMTextRunner.h"
