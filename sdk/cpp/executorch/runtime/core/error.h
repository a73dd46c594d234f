// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Error codes of the runtime and the macros that check a condition and return one. The numbers are part of the public
 * contract (they cross language borders and appear in logs of devices): never renumber.
 */
#pragma once

#include <cstdint>

#include <executorch/runtime/core/defines.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace runtime {

/// Integer type of an Error.
typedef uint32_t error_code_t;

enum class Error : error_code_t {
  // System errors.
  Ok = 0x00,             ///< Success.
  Internal = 0x01,       ///< An invariant of the runtime does not hold.
  InvalidState = 0x02,   ///< The object is in the wrong state for this call.
  EndOfMethod = 0x03,    ///< No instruction is left to execute.
  AlreadyLoaded = 0x04,  ///< The resource is already loaded.
  // Logical errors.
  NotSupported = 0x10,                     ///< The operation is not supported in this context.
  NotImplemented = 0x11,                   ///< The operation is not implemented.
  InvalidArgument = 0x12,                  ///< An argument has a wrong value.
  InvalidType = 0x13,                      ///< An object has the wrong type.
  OperatorMissing = 0x14,                  ///< One or more operators of the program are not registered.
  RegistrationExceedingMaxKernels = 0x15,  ///< The kernel table is full.
  RegistrationAlreadyRegistered = 0x16,    ///< The kernel is registered already.
  // Resource errors.
  NotFound = 0x20,                ///< The resource does not exist.
  MemoryAllocationFailed = 0x21,  ///< Not enough memory.
  AccessFailed = 0x22,            ///< The resource cannot be read or written.
  InvalidProgram = 0x23,          ///< The program is malformed.
  InvalidExternalData = 0x24,     ///< The external data is malformed or does not fit the program.
  OutOfResources = 0x25,          ///< A limit is exceeded, such as one of ResourceLimits, or a buffer is full.
  // Delegate errors.
  DelegateInvalidCompatibility = 0x30,    ///< The backend is incompatible with the delegate's data or the device.
  DelegateMemoryAllocationFailed = 0x31,  ///< The backend could not get memory.
  DelegateInvalidHandle = 0x32,           ///< The delegate handle is invalid or stale.
  // Requested by the caller; ExecuTorch does not have this number.
  Cancelled = 0x40,  ///< The run was stopped, see Method::set_interrupt().
};

/// Name of an error as it is written in code, for example "Error::InvalidProgram". Static text; never null.
constexpr const char* to_string(const Error error) {
#if ET_ENABLE_ENUM_STRINGS
  switch (error) {
    case Error::Ok:
      return "Error::Ok";
    case Error::Internal:
      return "Error::Internal";
    case Error::InvalidState:
      return "Error::InvalidState";
    case Error::EndOfMethod:
      return "Error::EndOfMethod";
    case Error::AlreadyLoaded:
      return "Error::AlreadyLoaded";
    case Error::NotSupported:
      return "Error::NotSupported";
    case Error::NotImplemented:
      return "Error::NotImplemented";
    case Error::InvalidArgument:
      return "Error::InvalidArgument";
    case Error::InvalidType:
      return "Error::InvalidType";
    case Error::OperatorMissing:
      return "Error::OperatorMissing";
    case Error::RegistrationExceedingMaxKernels:
      return "Error::RegistrationExceedingMaxKernels";
    case Error::RegistrationAlreadyRegistered:
      return "Error::RegistrationAlreadyRegistered";
    case Error::NotFound:
      return "Error::NotFound";
    case Error::MemoryAllocationFailed:
      return "Error::MemoryAllocationFailed";
    case Error::AccessFailed:
      return "Error::AccessFailed";
    case Error::InvalidProgram:
      return "Error::InvalidProgram";
    case Error::InvalidExternalData:
      return "Error::InvalidExternalData";
    case Error::OutOfResources:
      return "Error::OutOfResources";
    case Error::DelegateInvalidCompatibility:
      return "Error::DelegateInvalidCompatibility";
    case Error::DelegateMemoryAllocationFailed:
      return "Error::DelegateMemoryAllocationFailed";
    case Error::DelegateInvalidHandle:
      return "Error::DelegateInvalidHandle";
    case Error::Cancelled:
      return "Error::Cancelled";
  }
  return "Error::Unknown";
#else
  return error == Error::Ok ? "Error::Ok" : "Error::Unknown";
#endif
}

/// The same without the prefix, for messages: "InvalidProgram".
constexpr const char* error_name(const Error error) {
  return to_string(error) + sizeof("Error::") - 1;
}

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::Error;
using ::executorch::runtime::error_code_t;
}  // namespace executor
}  // namespace torch

/// Logs the message and returns Error::error__ when the condition is false. Usable where Error or Result<T> is
/// returned.
#define ET_CHECK_OR_RETURN_ERROR(cond__, error__, message__, ...) \
  do {                                                            \
    if (ET_UNLIKELY(!(cond__))) {                                 \
      ET_LOG(Error, message__, ##__VA_ARGS__);                    \
      return ::executorch::runtime::Error::error__;               \
    }                                                             \
  } while (0)

/// Logs the message and returns false when the condition is false.
#define ET_CHECK_OR_RETURN_FALSE(cond__, message__, ...)                      \
  do {                                                                        \
    if (ET_UNLIKELY(!(cond__))) {                                             \
      ET_LOG(Error, "Check failed (%s): " message__, #cond__, ##__VA_ARGS__); \
      return false;                                                           \
    }                                                                         \
  } while (0)

/// ET_CHECK_OK_OR_RETURN_ERROR(error[, format, ...]): returns the error when it is not Ok, after logging the message.
#define ET_CHECK_OK_OR_RETURN_ERROR(...) \
  ET_INTERNAL_ONE_OR_MORE(ET_INTERNAL_CHECK_OK_ONE, ET_INTERNAL_CHECK_OK_MORE, __VA_ARGS__)(__VA_ARGS__)

#define ET_INTERNAL_CHECK_OK_ONE(error__)                              \
  do {                                                                 \
    const ::executorch::runtime::Error et_error__ = (error__);         \
    if (ET_UNLIKELY(et_error__ != ::executorch::runtime::Error::Ok)) { \
      return et_error__;                                               \
    }                                                                  \
  } while (0)

#define ET_INTERNAL_CHECK_OK_MORE(error__, message__, ...)             \
  do {                                                                 \
    const ::executorch::runtime::Error et_error__ = (error__);         \
    if (ET_UNLIKELY(et_error__ != ::executorch::runtime::Error::Ok)) { \
      ET_LOG(Error, message__, ##__VA_ARGS__);                         \
      return et_error__;                                               \
    }                                                                  \
  } while (0)

// Expands to `one` when exactly one argument follows and to `more` for 2 to 16.
#define ET_INTERNAL_ONE_OR_MORE(one, more, ...)                                                                      \
  ET_INTERNAL_EXPAND(ET_INTERNAL_17TH(__VA_ARGS__, more, more, more, more, more, more, more, more, more, more, more, \
                                      more, more, more, more, one, ))
#define ET_INTERNAL_EXPAND(x) x
#define ET_INTERNAL_17TH(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, name, ...) name
