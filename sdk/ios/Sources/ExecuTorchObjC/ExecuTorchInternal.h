// SPDX-License-Identifier: BSD-3-Clause
// What the classes share: errors of the C interface, tensors as it has them.
#import <CExecuTorch/executorch.h>

#import "ExecuTorchError.h"
#import "ExecuTorchTensor.h"
#import "ExecuTorchValue.h"

NS_ASSUME_NONNULL_BEGIN

/// Whether `status` is Ok; otherwise gives `*error` the words of `failure`, which this frees.
BOOL ExecuTorchCheck(et_status status, et_error *_Nullable failure, NSError **error);

@interface ExecuTorchTensor ()
@property(nonatomic, readonly) et_tensor *runtimeTensor;
/// Owns `tensor`.
- (instancetype)initWithRuntimeTensor:(et_tensor *)tensor NS_DESIGNATED_INITIALIZER;
@end

NS_ASSUME_NONNULL_END
