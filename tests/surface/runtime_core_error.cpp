// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/error.h>

#include "signatures.h"

#if !defined(ET_CHECK_OR_RETURN_ERROR) || !defined(ET_CHECK_OR_RETURN_FALSE) || !defined(ET_CHECK_OK_OR_RETURN_ERROR)
#error "A macro of this header is missing."
#endif

namespace surface {

static_assert(static_cast<long>(Error::Ok) == 0);
static_assert(static_cast<long>(Error::Internal) == 1);
static_assert(static_cast<long>(Error::InvalidState) == 2);
static_assert(static_cast<long>(Error::EndOfMethod) == 3);
static_assert(static_cast<long>(Error::AlreadyLoaded) == 4);
static_assert(static_cast<long>(Error::NotSupported) == 16);
static_assert(static_cast<long>(Error::NotImplemented) == 17);
static_assert(static_cast<long>(Error::InvalidArgument) == 18);
static_assert(static_cast<long>(Error::InvalidType) == 19);
static_assert(static_cast<long>(Error::OperatorMissing) == 20);
static_assert(static_cast<long>(Error::RegistrationExceedingMaxKernels) == 21);
static_assert(static_cast<long>(Error::RegistrationAlreadyRegistered) == 22);
static_assert(static_cast<long>(Error::NotFound) == 32);
static_assert(static_cast<long>(Error::MemoryAllocationFailed) == 33);
static_assert(static_cast<long>(Error::AccessFailed) == 34);
static_assert(static_cast<long>(Error::InvalidProgram) == 35);
static_assert(static_cast<long>(Error::InvalidExternalData) == 36);
static_assert(static_cast<long>(Error::OutOfResources) == 37);
static_assert(static_cast<long>(Error::DelegateInvalidCompatibility) == 48);
static_assert(static_cast<long>(Error::DelegateMemoryAllocationFailed) == 49);
static_assert(static_cast<long>(Error::DelegateInvalidHandle) == 50);
static_assert(static_cast<long>(Error::Cancelled) == 64);
static_assert(std::is_same_v<std::underlying_type_t<Error>, error_code_t>);
static_assert(is<const char* (*)(const Error)>(&to_string));
static_assert(std::is_same_v<error_code_t, uint32_t>);

}  // namespace surface
