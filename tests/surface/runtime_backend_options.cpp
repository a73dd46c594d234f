// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/backend/options.h>

#include "signatures.h"

namespace surface {

static_assert(std::is_same_v<decltype(BackendOption::key), char[kMaxOptionKeyLength]>);
static_assert(std::is_same_v<decltype(BackendOption::value), OptionValue>);
static_assert(std::is_constructible_v<BackendOptions<4>, const BackendOptions<4>&>);
static_assert(is<BackendOptions<4>& (BackendOptions<4>::*)(const BackendOptions<4>&)>(&BackendOptions<4>::operator=));
static_assert(std::is_constructible_v<BackendOptions<4>>);
static_assert(is<Span<BackendOption> (BackendOptions<4>::*)()>(&BackendOptions<4>::view));
static_assert(kMaxOptionKeyLength == 64 && kMaxOptionValueLength == 256);
static_assert(std::is_same_v<OptionValue, std::variant<bool, int, std::array<char, kMaxOptionValueLength>>>);
static_assert(std::is_same_v<decltype(BackendOption::key), char[kMaxOptionKeyLength]>);
static_assert(is<Error (BackendOptions<4>::*)(const char (&)[3], bool) noexcept>(&BackendOptions<4>::set_option<3>));
static_assert(is<Error (BackendOptions<4>::*)(const char (&)[3], int) noexcept>(&BackendOptions<4>::set_option<3>));
static_assert(
    is<Error (BackendOptions<4>::*)(const char (&)[3], const char*) noexcept>(&BackendOptions<4>::set_option<3>));
static_assert(is<Error (BackendOptions<4>::*)(const char (&)[3], int&) const>(&BackendOptions<4>::get_option<int, 3>));

}  // namespace surface
