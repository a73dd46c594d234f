// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

namespace executorch {
namespace runtime {

#ifndef USE_ATEN_LIB  // PyTorch has these
const char* toString(aten::ScalarType t) {
#if ET_ENABLE_ENUM_STRINGS
  switch (t) {
#define DEFINE_CASE(_, name)   \
  case aten::ScalarType::name: \
    return #name;
    ET_FORALL_SCALAR_TYPES(DEFINE_CASE)
#undef DEFINE_CASE
    case aten::ScalarType::Undefined:
      return "Undefined";
    default:
      break;
  }
#else
  (void)t;
#endif
  return "UNKNOWN_SCALAR";
}

size_t elementSize(aten::ScalarType t) {
  static constexpr uint8_t kSizes[] = {
#define CASE_ELEMENTSIZE_CASE(ctype, name) sizeof(ctype),
      ET_FORALL_SCALAR_TYPES(CASE_ELEMENTSIZE_CASE)
#undef CASE_ELEMENTSIZE_CASE
  };
  ET_CHECK_MSG(isValid(t), "expected an element type from 0 to %d, found %d",
               static_cast<int>(aten::ScalarType::Undefined) - 1, static_cast<int>(t));
  return kSizes[static_cast<size_t>(t)];
}

bool isSignedType(aten::ScalarType t) {
  ET_CHECK_MSG(isValid(t) && !isQIntType(t) && !isBitsType(t), "%s (%d) has no numeric values", toString(t),
               static_cast<int>(t));
  return !isBarebonesUnsignedType(t) && t != aten::ScalarType::Byte && t != aten::ScalarType::Bool;
}
#endif

namespace internal {

void log_unsupported_dtype(const char* name, aten::ScalarType type) {
  ET_LOG(Error,
         "%s: the dtype %s (%d) is not supported here. Export the model with a supported dtype, or register a kernel "
         "for it",
         name, toString(type), static_cast<int>(type));
}

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
