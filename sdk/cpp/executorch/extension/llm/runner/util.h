// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor_ptr.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>
#include <pytorch/tokenizers/error.h>

/// The value of a Result of tokenizers or of the runtime. If there is an error, logs it and returns InvalidArgument
/// from the function.
#define ET_UNWRAP_TOKENIZER(result__)                                           \
  __extension__({                                                               \
    auto et_tokens__ = (result__);                                              \
    if (!et_tokens__.ok()) {                                                    \
      ::executorch::extension::llm::internal::log_failure(et_tokens__.error()); \
      return ::executorch::runtime::Error::InvalidArgument;                     \
    }                                                                           \
    std::move(*et_tokens__);                                                    \
  })

/// Declares `var__` with the value of ET_UNWRAP_TOKENIZER.
#define ET_ASSIGN_OR_RETURN_TOKENIZER(var__, result__) auto var__ = ET_UNWRAP_TOKENIZER(result__)

/// Logs the message and returns InvalidArgument from the function unless `result__` is tokenizers::Error::Ok.
#define ET_CHECK_TK_OK_OR_RETURN_ERROR(result__, ...)                     \
  do {                                                                    \
    const ::tokenizers::Error et_tk_error__ = (result__);                 \
    if (et_tk_error__ != ::tokenizers::Error::Ok) {                       \
      ::executorch::extension::llm::internal::log_failure(et_tk_error__); \
      ET_INTERNAL_LOG_IF_MESSAGE(0, ##__VA_ARGS__);                       \
      return ::executorch::runtime::Error::InvalidArgument;               \
    }                                                                     \
  } while (0)

namespace executorch {
namespace extension {
namespace llm {

namespace internal {
inline void log_failure(::tokenizers::Error error) {
  ET_LOG(Error, "%s: %s", ::tokenizers::to_string(error), ::tokenizers::last_error_message());
}
inline void log_failure(runtime::Error error) {
  ET_LOG(Error, "%s", runtime::to_string(error));
}
}  // namespace internal

/// Prints a piece of text to stdout. Prints nothing for null, and for a single control character, which would change
/// the terminal.
void safe_printf(const char* piece);

/// Length of the longest prefix that does not end inside of a UTF-8 character.
size_t utf8_complete_prefix_len(const std::string& s);

/// The largest length, at most `len`, at which `s` can be cut without dividing a UTF-8 character.
size_t utf8_safe_prefix_len(const std::string& s, size_t len);

/// Length of the part of `text` that can be shown before more text follows. The part ends at the first of `stops` in
/// `text`, and `stop_hit` becomes true then; otherwise it ends before an incomplete stop at the end of the text.
/// Empty stops are ignored.
size_t stop_safe_prefix_len(const std::string& text, const std::vector<std::string>& stops, bool& stop_hit);

/// Milliseconds since the epoch.
long time_in_ms();

/// Bytes of this process in memory; 0 where the system does not say.
size_t get_rss_bytes();

/// Makes the second input of a method, as the method expects it: the position of the first of `seq_len` tokens, int64
/// [1], or the positions of all tokens, int64 [seq_len]. The result is a view of `start_pos` or `cache_positions_vec`,
/// which must outlive it.
runtime::Result<TensorPtr> populate_start_pos_or_cache_position(Module* module, int64_t& start_pos,
                                                                std::vector<int64_t>& cache_positions_vec, int seq_len,
                                                                const char* method_name = "forward");

/// The elements of a float32 tensor in bfloat16; InvalidArgument for another dtype.
runtime::Result<TensorPtr> convert_to_bfloat16(const TensorPtr& src_tensor);

namespace internal {
/// The bytes of a file. AccessFailed, after a log line, if it cannot be read.
runtime::Result<std::vector<uint8_t>> read_file(const std::string& path);

/// Microseconds of a clock that never goes back.
int64_t time_in_us();
}  // namespace internal

}  // namespace llm
}  // namespace extension
}  // namespace executorch

namespace torch {
namespace executor {
namespace util {
using ::executorch::extension::llm::get_rss_bytes;
using ::executorch::extension::llm::safe_printf;
using ::executorch::extension::llm::time_in_ms;
}  // namespace util
}  // namespace executor
}  // namespace torch
