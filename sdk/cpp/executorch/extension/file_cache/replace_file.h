// SPDX-License-Identifier: BSD-3-Clause
// How this project writes files from C++: whole or not at all.
#pragma once

#include <cstddef>
#include <string>
#include <system_error>

#include <executorch/runtime/core/span.h>

namespace executorch {
namespace extension {

/// A part of a file's content.
struct FilePart {
  const void* data;  ///< may be null if the part is empty
  size_t size;
};

/**
 * Makes a file of these parts, or replaces one.
 *
 * It is written beside `path`, under an unpredictable name that must not exist, not even as a symbolic link, and
 * renamed when it is complete: after an error the old file is unchanged, and no other file is left. If `path` is a
 * symbolic link that belongs to the process's user or to root, the file that it leads to is replaced, which must exist;
 * another user's link is replaced itself. Files that are not regular, such as a pipe, and standard output and the like
 * (`/dev/stdout`, `/dev/fd/3`, `/proc/self/fd/1`), are written to in place.
 * @param path UTF-8.
 * @param mode Permissions of a new file, reduced by the process's umask; Windows ignores them.
 * @returns The reason of a failure; false, as a condition, after success.
 */
std::error_code replace_file(const std::string& path, runtime::Span<const FilePart> parts, unsigned mode = 0666);

/// Like replace_file() above, for a content in one part.
std::error_code replace_file(const std::string& path, const void* data, size_t size, unsigned mode = 0666);

}  // namespace extension
}  // namespace executorch
