// SPDX-License-Identifier: BSD-3-Clause
// The extensions of Armv8.0 that the processor of this process has, as the system reports them.
#pragma once

#if defined(__aarch64__) || defined(_M_ARM64)

#if defined(_WIN32)
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>

#include <cstddef>
#elif defined(__linux__)
#include <sys/auxv.h>
#endif

namespace torch::executor::native::simd {

#if defined(_WIN32)
// The numbers are PF_ARM_V82_DP_INSTRUCTIONS_AVAILABLE and PF_ARM_V82_I8MM_INSTRUCTIONS_AVAILABLE, the second of which
// older SDKs lack.
inline bool has_dotprod() {
  return IsProcessorFeaturePresent(43) != 0;
}
inline bool has_i8mm() {
  return IsProcessorFeaturePresent(66) != 0;
}
#elif defined(__APPLE__)
inline bool has_feature(const char* name) {
  int value = 0;
  size_t size = sizeof(value);
  return sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
}
// Systems before iOS 15 and macOS 12 do not have these names; all Macs with Arm processors have the dot product.
inline bool has_dotprod() {
#ifdef __ARM_FEATURE_DOTPROD
  return true;
#else
  return has_feature("hw.optional.arm.FEAT_DotProd");
#endif
}
inline bool has_i8mm() {
  return has_feature("hw.optional.arm.FEAT_I8MM");
}
#elif defined(__linux__)
// HWCAP_ASIMDDP and HWCAP2_I8MM, which older headers lack.
inline bool has_dotprod() {
  return (getauxval(AT_HWCAP) & (1ul << 20)) != 0;
}
inline bool has_i8mm() {
  return (getauxval(AT_HWCAP2) & (1ul << 13)) != 0;
}
#else
// Only the extensions that the compiler was given.
inline bool has_dotprod() {
#ifdef __ARM_FEATURE_DOTPROD
  return true;
#else
  return false;
#endif
}
inline bool has_i8mm() {
#ifdef __ARM_FEATURE_MATMUL_INT8
  return true;
#else
  return false;
#endif
}
#endif

}  // namespace torch::executor::native::simd

#endif
