// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

#include <pytorch/tokenizers/error.h>

namespace tokenizers::detail {

/// Replaces `bytes` by what RFC 4648's base64 in `text` stands for. Error::Base64DecodeFailure names the place.
Error decode_base64(std::string_view text, std::string& bytes);

}  // namespace tokenizers::detail
