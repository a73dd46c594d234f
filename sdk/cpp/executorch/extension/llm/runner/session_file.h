// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <executorch/extension/llm/runner/conversation.h>
#include <executorch/extension/module/module.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {

/// The name of the data in a program that identifies it: 32 bytes, the SHA-256 of its weights and settings.
inline constexpr const char* kProgramDigestKey = "program_digest";

/// A conversation, without the program's state.
struct SessionState {
  std::vector<uint64_t> seen;
  std::optional<uint64_t> pending;
  std::optional<uint64_t> next;
  std::string unfinished;
};

/// Writes a conversation and the mutable state of the method `method` to a file that only its owner can read. The file
/// is replaced as a whole or not at all. Blocks of zeros take no space. Errors, after a log line: NotSupported if the
/// program has no digest or no named buffers; AccessFailed if the file cannot be written.
runtime::Error write_session(const std::string& path, Module& module, const std::string& method,
                             const SessionState& state);

/// Reads such a file and gives the method its state. Errors, after a log line: AccessFailed if the file cannot be read;
/// InvalidExternalData if it is cut or was changed; InvalidArgument if it belongs to another program; NotSupported as
/// above; those of `conversation` for invalid tokens. After an error the method's state is unchanged.
runtime::Result<SessionState> read_session(const std::string& path, Module& module, const std::string& method,
                                           const Conversation& conversation);

}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch
