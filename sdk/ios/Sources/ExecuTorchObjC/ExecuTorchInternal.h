// SPDX-License-Identifier: BSD-3-Clause
// Helpers that the classes share: errors and tensors of the C interface.
#import <CExecuTorch/executorch.h>

#import "ExecuTorchError.h"
#import "ExecuTorchMetadata.h"
#import "ExecuTorchModule.h"
#import "ExecuTorchTensor.h"
#import "ExecuTorchValue.h"

NS_ASSUME_NONNULL_BEGIN

/// Whether `status` is Ok. Otherwise, `*error` gets the message of `failure`, which this frees.
BOOL ExecuTorchCheck(et_status status, et_error *_Nullable failure, NSError **error);

@interface ExecuTorchMethodMetadata ()
/// `meta` must belong to a module that is alive. Nil with an error.
- (nullable instancetype)initWithMeta:(const et_method_meta *)meta error:(NSError **)error;
@end

@interface ExecuTorchCancellation ()
@property(nonatomic, readonly) et_cancellation *handle;
@end

@interface ExecuTorchValue ()
/// An output that is a list, of the classes that numbersValue and tensorsValue give.
+ (instancetype)valueWithTag:(ExecuTorchValueTag)tag list:(NSArray *)list;
@end

@interface ExecuTorchTensor ()
@property(nonatomic, readonly) et_tensor *runtimeTensor;
/// Owns `tensor`.
- (instancetype)initWithRuntimeTensor:(et_tensor *)tensor NS_DESIGNATED_INITIALIZER;
- (instancetype)initWithZerosOfShape:(NSArray<NSNumber *> *)shape dataType:(ExecuTorchDataType)dataType;
@end

/// Writes an element. Raises for a type that numbers cannot be converted to.
void ExecuTorchSetElement(ExecuTorchDataType dataType, void *data, NSUInteger index, NSNumber *number);

NS_ASSUME_NONNULL_END
