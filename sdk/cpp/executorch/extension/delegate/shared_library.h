// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Opens the shared library of a vendor at run time, so that programs start on machines that lack it. Needs
 * `extension_shared_library`.
 */
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {
namespace delegate {

/// The paths where a library is searched for, and the texts of the error message.
struct LibrarySearch {
  /// The name of the vendor's product, for messages.
  std::string product;
  /// Tried in this order: file names, which the system's loader searches for, and paths of files and folders. In a
  /// folder, the first of these names that it has is opened, with the highest version that is in its name.
  std::vector<std::string> names;
  /// An environment variable with the path of the library, or of its folder. If it is set, only that path is tried. May
  /// be null.
  const char* variable = nullptr;
  /// What the user must install or set, for messages.
  std::string remedy;
};

/// A function that the library must have, and the pointer that gets its address.
class Symbol {
 public:
  template <typename Function>
  Symbol(const char* name, Function** pointer)
      : name_(name),
        pointer_(pointer),
        set_([](void* to, void* address) { *static_cast<Function**>(to) = reinterpret_cast<Function*>(address); }) {}

  const char* name() const { return name_; }
  void set(void* address) const { set_(pointer_, address); }

 private:
  const char* name_;
  void* pointer_;
  void (*set_)(void* to, void* address);
};

/// A library that is open as long as this object exists, or as long as the process after keep().
class SharedLibrary {
 public:
  /**
   * Opens the first library that has all symbols, and sets their pointers. If there is none, no pointer is changed, and
   * error() and problem() say why. Throws std::bad_alloc.
   */
  static SharedLibrary open(const LibrarySearch& search, const std::vector<Symbol>& symbols);

  SharedLibrary(SharedLibrary&& other) noexcept { *this = std::move(other); }
  SharedLibrary& operator=(SharedLibrary&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(error_, other.error_);
    problem_.swap(other.problem_);
    return *this;
  }
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;
  ~SharedLibrary();

  /// Error::Ok; NotFound if no library could be opened; NotSupported if each that could be opened lacks a symbol.
  runtime::Error error() const { return error_; }
  /// One line with every library that was tried, the reason why it cannot be used, and the remedy. "" if error() is Ok.
  const std::string& problem() const { return problem_; }

  /// Never unloads the library, for libraries with threads or with destructors that run at exit, and for delegates that
  /// use it without this object.
  void keep() { handle_ = nullptr; }

 private:
  SharedLibrary() = default;

  void* handle_ = nullptr;
  runtime::Error error_ = runtime::Error::NotFound;
  std::string problem_;
};

/**
 * The functions of a vendor's library: `Functions` is a struct of pointers, of which the process has one. The first
 * call that succeeds loads the library, which is never unloaded. After a failure the next call tries again, because the
 * variable may be set by then.
 *
 * @param search Returns what SharedLibrary::open() searches for.
 * @param symbols Returns the symbols, with the pointers in `Functions` that they set.
 * @param check Null, or a function that completes `Functions` and returns "" or one line that says why this release of
 * the library cannot be used.
 * @retval Error::NotFound (logged in one line, which says what to install or set) there is no such library.
 * @retval Error::NotSupported (logged) it lacks a function, or `check` refuses it.
 */
template <typename Functions>
runtime::Result<const Functions*> load_once(LibrarySearch (*search)(), std::vector<Symbol> (*symbols)(Functions&),
                                            std::string (*check)(Functions&) = nullptr) {
  static std::mutex mutex;
  static const Functions* loaded = nullptr;  // never deleted: delegates may call functions at exit
  const std::lock_guard<std::mutex> lock(mutex);
  if (loaded != nullptr) {
    return loaded;
  }
  Functions functions{};
  SharedLibrary library = SharedLibrary::open(search(), symbols(functions));
  if (library.error() != runtime::Error::Ok) {
    ET_LOG(Error, "%s", library.problem().c_str());
    return library.error();
  }
  const std::string problem = check == nullptr ? "" : check(functions);
  ET_CHECK_OR_RETURN_ERROR(problem.empty(), NotSupported, "%s", problem.c_str());
  loaded = new Functions(std::move(functions));
  library.keep();
  return loaded;
}

/// Error::Ok for the code 0, which is success in most vendors' C interfaces. Otherwise logs the vendor, the function,
/// its code and what was being done ("the network was run"), and returns `error`.
runtime::Error check_call(const char* vendor, int code, const char* function, const char* step, runtime::Error error);

/// Returns the path of the executable or shared library that contains the code at `address`, to find libraries that are
/// installed in the same folder; "" if it is unknown.
std::string file_of_code(const void* address);

}  // namespace delegate
}  // namespace extension
}  // namespace executorch
