// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/tag.h>

#include "signatures.h"

#if !defined(EXECUTORCH_FORALL_TAGS)
#error "A macro of this header is missing."
#endif

namespace surface {

static_assert(static_cast<long>(Tag::None) == 0);
static_assert(static_cast<long>(Tag::Tensor) == 1);
static_assert(static_cast<long>(Tag::String) == 2);
static_assert(static_cast<long>(Tag::Double) == 3);
static_assert(static_cast<long>(Tag::Int) == 4);
static_assert(static_cast<long>(Tag::Bool) == 5);
static_assert(static_cast<long>(Tag::ListBool) == 6);
static_assert(static_cast<long>(Tag::ListDouble) == 7);
static_assert(static_cast<long>(Tag::ListInt) == 8);
static_assert(static_cast<long>(Tag::ListTensor) == 9);
static_assert(static_cast<long>(Tag::ListScalar) == 10);
static_assert(static_cast<long>(Tag::ListOptionalTensor) == 11);
static_assert(std::is_same_v<std::underlying_type_t<Tag>, uint32_t>);
static_assert(is<const char* (*)(Tag)>(&tag_to_string));
static_assert(is<size_t (*)(Tag, char*, size_t)>(&tag_to_string));
static_assert(kTagNameBufferSize == 19);

}  // namespace surface
