// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace extension {
namespace llm {

/// A turn of a conversation.
struct ChatMessage {
  /// "system", "user" or "assistant", as the template expects.
  std::string role;
  std::string content;
};

/// A chat template as models ship it: jinja2 as far as templates use it, rendered as `transformers` does, with
/// trim_blocks, lstrip_blocks, loop controls, tojson, raise_exception and strftime_now. What it does not have (other
/// files, autoescape) is an error, and so is an argument that a filter or method does not know. A template is not
/// trusted: steps, bytes and the stack of the calling thread bound it. Immutable: any number of threads may render.
class ChatTemplate {
 public:
  /// Parses a template. InvalidArgument, after a log line with line and column, if that is not possible.
  static runtime::Result<ChatTemplate> parse(const std::string& source);

  /// The text for a model, from the template's variables as a JSON object: `messages`, `add_generation_prompt`,
  /// `bos_token`, `eos_token`, `tools` and other variables of the template. `tools` and `documents` are none where they
  /// are left out, and the `thinking` or `reasoning` of a message is its `reasoning_content` too. Errors, with a log
  /// line: InvalidArgument with the line and column of what fails, when the template refuses the conversation, and when
  /// it takes more than 20 million steps or 64 MiB; MemoryAllocationFailed.
  runtime::Result<std::string> render(const std::string& variables_json) const;

  /// Renders a conversation. With `add_generation_prompt` the text ends where the answer begins.
  runtime::Result<std::string> render(const std::vector<ChatMessage>& messages, bool add_generation_prompt = true,
                                      const std::string& bos_token = "", const std::string& eos_token = "") const;

  ~ChatTemplate();
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;

 private:
  struct Parsed;
  explicit ChatTemplate(std::shared_ptr<const Parsed> parsed);
  std::shared_ptr<const Parsed> parsed_;
};

}  // namespace llm
}  // namespace extension
}  // namespace executorch
