// SPDX-License-Identifier: BSD-3-Clause
// Language models for Objective-C, like the Swift module ExecuTorchLLM, over the same C interface.
#import "ExecuTorchLLMConfig.h"
#import "ExecuTorchLLMMultimodalRunner.h"
#import "ExecuTorchLLMTextRunner.h"
