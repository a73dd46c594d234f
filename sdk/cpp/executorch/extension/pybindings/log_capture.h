// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace executorch {
namespace extension {
namespace pybindings {

/// Sends the runtime's log lines to Python's stderr from now on, except errors inside a LogCapture. Called once.
void register_log_sink();

/// While the object exists, error lines of this thread are kept instead of printed, for the text of an exception.
/// Captures may nest: the innermost one receives the lines.
class LogCapture final {
 public:
  LogCapture();
  ~LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  /// The lines so far, oldest first, without time and place.
  const std::vector<std::string>& lines() const { return lines_; }

  void add(const char* message, size_t length) { lines_.emplace_back(message, length); }

 private:
  std::vector<std::string> lines_;
  LogCapture* outer_;
};

}  // namespace pybindings
}  // namespace extension
}  // namespace executorch
