// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <pytorch/tokenizers/error.h>

namespace tokenizers::detail {

/// Keeps the message for last_error_message(), logs it and returns `error`.
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
Error fail(Error error, const char* format, ...);

/// The bytes of a file. Error::LoadFailure with the path and the reason.
Error read_file(const std::string& path, std::string& bytes);

/// Whether a text can be encoded: Error::EncodeFailure if it is not UTF-8, or has 2 GiB or more.
Error check_text(std::string_view text);

}  // namespace tokenizers::detail
