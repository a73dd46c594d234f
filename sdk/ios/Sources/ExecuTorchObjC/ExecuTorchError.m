// SPDX-License-Identifier: BSD-3-Clause
#import "ExecuTorchInternal.h"

NSString *const ExecuTorchErrorDomain = @"org.pytorch.executorch.error";

BOOL ExecuTorchCheck(et_status status, et_error *failure, NSError **error) {
  if (status == ET_STATUS_OK) {
    return YES;
  }
  if (error != NULL) {
    const char *words = failure != NULL ? et_error_message(failure) : et_status_name(status);
    NSString *text = [NSString stringWithUTF8String:words] ?: @"";
    *error = [NSError errorWithDomain:ExecuTorchErrorDomain
                                 code:(NSInteger)status
                             userInfo:@{NSLocalizedDescriptionKey : text}];
  }
  et_error_free(failure);
  return NO;
}
