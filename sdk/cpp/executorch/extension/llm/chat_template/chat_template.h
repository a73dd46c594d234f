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
/// trim_blocks, lstrip_blocks, loop controls, tojson, raise_exception and strftime_now. Missing features (other files,
/// autoescape) are errors, and so are unknown arguments of filters and methods. A template is not trusted: its steps,
/// its bytes and its use of the thread's stack are limited. Immutable: any number of threads may render.
class ChatTemplate {
 public:
  /// Parses a template. InvalidArgument, after a log line with line and column, if that is not possible.
  static runtime::Result<ChatTemplate> parse(const std::string& source);

  /// The text for a model, from the template's variables as a JSON object: `messages`, `add_generation_prompt`,
  /// `bos_token`, `eos_token`, `tools` and other variables of the template. `tools` and `documents` default to None,
  /// and the `thinking` or `reasoning` of a message is also its `reasoning_content`. Errors, which are logged:
  /// InvalidArgument with line and column when the template fails, refuses the conversation, or takes more than 20
  /// million steps or 64 MiB; MemoryAllocationFailed.
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
