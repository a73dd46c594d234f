// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

#include <pytorch/tokenizers/error.h>

namespace tokenizers::detail {

/// Decodes RFC 4648's base64 in `text` to `bytes`. Error::Base64DecodeFailure if the length or a character is wrong.
Error decode_base64(std::string_view text, std::string& bytes);

}  // namespace tokenizers::detail
