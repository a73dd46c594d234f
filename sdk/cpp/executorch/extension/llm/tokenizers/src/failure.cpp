// SPDX-License-Identifier: BSD-3-Clause
#include "failure.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>

#include <executorch/runtime/platform/log.h>

#include "utf8.h"

namespace tokenizers {
namespace {

/// Not a std::string, because a message about exhausted memory must not need memory.
thread_local char message[1024];

}  // namespace

const char* last_error_message() {
  return message;
}

const char* to_string(Error error) {
  switch (error) {
    case Error::Ok:
      return "Ok";
    case Error::Internal:
      return "Internal";
    case Error::Uninitialized:
      return "Uninitialized";
    case Error::OutOfRange:
      return "OutOfRange";
    case Error::LoadFailure:
      return "LoadFailure";
    case Error::EncodeFailure:
      return "EncodeFailure";
    case Error::Base64DecodeFailure:
      return "Base64DecodeFailure";
    case Error::ParseFailure:
      return "ParseFailure";
    case Error::DecodeFailure:
      return "DecodeFailure";
    case Error::RegexFailure:
      return "RegexFailure";
    case Error::OutOfMemory:
      return "OutOfMemory";
  }
  return "unknown";
}

namespace detail {

Error fail(Error error, const char* format, ...) {
  char text[sizeof(message)];  // an argument may be the last message
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  std::memcpy(message, text, sizeof(message));
  ET_LOG(Error, "tokenizers: %s", text);
  return error;
}

Error read_file(const std::string& path, std::string& bytes) {
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
#if !defined(_WIN32)
  // Opening a pipe would wait for its writer, and a device may never end.
  struct stat found{};
  if (::stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode)) {
    return fail(Error::LoadFailure, "%s: expected a file, found a device or a pipe; write its content to a file first",
                path.c_str());
  }
#endif
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rb"));
  if (!file) {
    return fail(Error::LoadFailure, "%s cannot be opened: %s", path.c_str(), std::strerror(errno));
  }
  bytes.clear();
  char block[1 << 16];
  size_t count = 0;
  while ((count = std::fread(block, 1, sizeof(block), file.get())) > 0) {
    bytes.append(block, count);
  }
  if (std::ferror(file.get()) != 0) {
    return fail(Error::LoadFailure, "%s cannot be read: %s", path.c_str(), std::strerror(errno));
  }
  return Error::Ok;
}

Error check_text(std::string_view text) {
  const size_t invalid = find_invalid_utf8(text);
  if (invalid != std::string_view::npos) {
    return fail(Error::EncodeFailure, "the text is not UTF-8: byte 0x%02x at offset %zu is not part of a character",
                static_cast<unsigned>(static_cast<unsigned char>(text[invalid])), invalid);
  }
  if (text.size() > 0x7FFFFFFF) {
    return fail(Error::EncodeFailure, "the text has %zu bytes, at most 2147483647 are supported", text.size());
  }
  return Error::Ok;
}

}  // namespace detail
}  // namespace tokenizers
