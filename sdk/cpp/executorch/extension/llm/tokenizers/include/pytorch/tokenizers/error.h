// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace tokenizers {

using error_code_t = uint32_t;

/// Why a call failed. last_error_message() has the details.
enum class Error : error_code_t {
  Ok = 0x00,
  Internal = 0x01,
  /// The tokenizer is not loaded.
  Uninitialized = 0x02,
  /// A token id or index outside the vocabulary.
  OutOfRange = 0x03,
  /// A file that cannot be read, or that holds something this version does not support.
  LoadFailure = 0x04,
  /// A text that cannot be encoded: not UTF-8, or a character without token in a model without unknown token.
  EncodeFailure = 0x05,
  Base64DecodeFailure = 0x06,
  /// A file that is not in its format; for JSON the message names line and column, or the path of the value.
  ParseFailure = 0x07,
  DecodeFailure = 0x08,
  /// A regular expression that does not compile, or that exceeds the limit of its work.
  RegexFailure = 0x09,
  /// The heap is exhausted.
  OutOfMemory = 0x0A,
};

/// The message of this thread's last failed call: what was expected, what was found. Empty before the first failure.
/// Valid until the next failure in the same thread.
const char* last_error_message();

/// The enumerator's name, for example "ParseFailure".
const char* to_string(Error error);

}  // namespace tokenizers

/// Returns `error__` from the calling function unless it is Error::Ok.
#define TK_CHECK_OK_OR_RETURN_ERROR(error__)          \
  do {                                                \
    const ::tokenizers::Error tk_error__ = (error__); \
    if (tk_error__ != ::tokenizers::Error::Ok) {      \
      return tk_error__;                              \
    }                                                 \
  } while (0)
