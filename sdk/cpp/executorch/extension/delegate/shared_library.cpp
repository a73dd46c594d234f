// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/delegate/shared_library.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#ifdef _WIN32
#ifndef NOMINMAX
#define NOMINMAX
#endif
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <dirent.h>
#include <dlfcn.h>

#include <memory>
#endif

namespace executorch {
namespace extension {
namespace delegate {

using runtime::Error;

namespace {

namespace fs = std::filesystem;

// Paths are UTF-8 on every system.
#ifdef _WIN32
fs::path path_of(const std::string& text) {
  return fs::u8path(text);
}
#else
fs::path path_of(const std::string& text) {
  return text;
}
#endif

std::string text_of(const fs::path& path) {
  const auto text = path.u8string();
  return {text.begin(), text.end()};
}

// Wrappers of the system's loader: open_file() returns nullptr and sets `why` if it fails.
#ifdef _WIN32

void* open_file(const std::string& name, std::string& why) {
  const fs::path path = path_of(name);
  // The current folder and PATH are not searched: others may write there.
  const DWORD flags = path.is_absolute() ? LOAD_WITH_ALTERED_SEARCH_PATH : LOAD_LIBRARY_SEARCH_DEFAULT_DIRS;
  const HMODULE library = ::LoadLibraryExW(path.c_str(), nullptr, flags);
  if (library == nullptr) {
    why = std::system_category().message(static_cast<int>(::GetLastError()));
  }
  return library;
}

void* find_symbol(void* library, const char* name) {
  return reinterpret_cast<void*>(::GetProcAddress(static_cast<HMODULE>(library), name));
}

void close_file(void* library) {
  ::FreeLibrary(static_cast<HMODULE>(library));
}

#else

void* open_file(const std::string& name, std::string& why) {
  void* const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const text = ::dlerror();
    why = text != nullptr ? text : "it cannot be opened";
  }
  return library;
}

void* find_symbol(void* library, const char* name) {
  return ::dlsym(library, name);
}

void close_file(void* library) {
  ::dlclose(library);
}

#endif

/// The numbers in a file's name after its first `skip` characters.
std::vector<unsigned long> version_of(const std::string& file, size_t skip) {
  std::vector<unsigned long> numbers;
  const char* at = file.c_str() + skip;
  while (*at != '\0') {
    char* end = nullptr;
    if (*at >= '0' && *at <= '9') {
      numbers.push_back(std::strtoul(at, &end, 10));
      at = end;
    } else {
      ++at;
    }
  }
  return numbers;
}

/// Calls `function` with the name of each file of a folder. libstdc++'s iterators end the process where memory runs
/// out.
template <typename Function>
void for_each_name(const fs::path& folder, const Function& function) {
#ifdef _WIN32
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    function(text_of(entry->path().filename()));
  }
#else
  struct Close {
    void operator()(DIR* opened) const { ::closedir(opened); }
  };
  const std::unique_ptr<DIR, Close> opened(::opendir(folder.c_str()));
  const dirent* entry = opened ? ::readdir(opened.get()) : nullptr;
  for (; entry != nullptr; entry = ::readdir(opened.get())) {
    function(std::string(entry->d_name));
  }
#endif
}

/// Whether a text is a version behind a dot (".2", ".10.1"), or empty.
bool is_version_or_empty(const std::string& text) {
  return text.empty() || (text[0] == '.' && text.find_first_not_of(".0123456789") == std::string::npos);
}

/// Whether a file's name is `start` and `end`, with a version between them or behind them.
bool is_name_with_version(const std::string& file, const std::string& start, const std::string& end) {
  const size_t at = file.find(end, start.size());
  return file.compare(0, start.size(), start) == 0 && at != std::string::npos &&
         is_version_or_empty(file.substr(start.size(), at - start.size())) &&
         is_version_or_empty(file.substr(at + end.size()));
}

/// Of the files in a folder that are called `name`, or `name` with a version at its end or inside (libx.so.2,
/// libx.2.dylib), the one with the highest version; `name` alone is the lowest. "" if the folder has none.
std::string file_in(const fs::path& folder, const std::string& name) {
  const size_t dot = std::min(name.rfind('.'), name.size());
  const std::string start = name.substr(0, dot);
  const std::string end = name.substr(dot);
  std::string found;
  for_each_name(folder, [&](const std::string& file) {
    if (is_name_with_version(file, start, end) &&
        (found.empty() || version_of(found, start.size()) < version_of(file, start.size()))) {
      found = file;
    }
  });
  return found.empty() ? found : text_of(folder / path_of(found));
}

/// The libraries to try, in this order. If the variable is set, its library is the only one.
std::vector<std::string> candidates(const LibrarySearch& search) {
  const char* const value = search.variable != nullptr ? std::getenv(search.variable) : nullptr;
  if (value == nullptr || *value == '\0') {
    return search.names;
  }
  std::error_code error;
  const fs::path path = path_of(value);
  return {fs::is_directory(path, error) ? text_of(fs::path(".") / path) : std::string(value)};
}

/// Whether `name` contains a folder. The system's loader searches for file names without a folder.
bool is_folder(const std::string& name) {
  std::error_code error;
  const fs::path path = path_of(name);
  return path.has_parent_path() && fs::is_directory(path, error);
}

/// Puts the addresses of all symbols into `addresses`. Returns "", or the names of those that the library lacks.
std::string find_symbols(void* library, const std::vector<Symbol>& symbols, std::vector<void*>& addresses) {
  constexpr size_t kMostNames = 4;
  std::string missing;
  size_t count = 0;
  addresses.clear();
  for (const Symbol& symbol : symbols) {
    addresses.push_back(find_symbol(library, symbol.name()));
    if (addresses.back() == nullptr && ++count <= kMostNames) {
      missing += std::string(missing.empty() ? "" : ", ") + symbol.name();
    }
  }
  return count <= kMostNames ? missing : missing + " and " + std::to_string(count - kMostNames) + " more functions";
}

/// The loader's message in one line, without the name that precedes it.
std::string one_line(std::string why, const std::string& name) {
  if (why.compare(0, name.size() + 2, name + ": ") == 0) {
    why.erase(0, name.size() + 2);
  }
  why.resize(why.find_last_not_of(" \r\n") + 1);
  std::replace(why.begin(), why.end(), '\n', ' ');
  return why;
}

}  // namespace

SharedLibrary SharedLibrary::open(const LibrarySearch& search, const std::vector<Symbol>& symbols) {
  SharedLibrary opened;
  std::string tried;
  std::vector<void*> addresses;
  for (const std::string& name : candidates(search)) {
    std::string why;
    const bool in_folder = is_folder(name);
    const std::string file = in_folder ? file_in(path_of(name), search.names.front()) : name;
    if (file.empty()) {
      why = "it has no " + search.names.front();
    } else {
      opened.handle_ = open_file(file, why);
    }
    if (opened.handle_ != nullptr) {
      const std::string missing = find_symbols(opened.handle_, symbols, addresses);
      if (missing.empty()) {
        for (size_t i = 0; i < symbols.size(); ++i) {
          symbols[i].set(addresses[i]);
        }
        opened.error_ = Error::Ok;
        return opened;
      }
      close_file(std::exchange(opened.handle_, nullptr));
      opened.error_ = Error::NotSupported;
      why = "it lacks " + missing;
    }
    const std::string& shown = file.empty() ? name : file;
    tried += (tried.empty() ? "" : ", ") + shown + " (" + one_line(std::move(why), shown) + ")";
  }
  opened.problem_ = search.product + " cannot be loaded: tried " + tried + "; " + search.remedy;
  return opened;
}

SharedLibrary::~SharedLibrary() {
  if (handle_ != nullptr) {
    close_file(handle_);
  }
}

Error check_call(const char* vendor, int code, const char* function, const char* step, Error error) {
  if (code == 0) {
    return Error::Ok;
  }
  ET_LOG(Error, "%s: %s failed with the code %d while %s", vendor, function, code, step);
  return error;
}

std::string file_of_code(const void* address) {
#ifdef _WIN32
  HMODULE module = nullptr;
  wchar_t path[32768];  // the longest path
  const DWORD flags = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  if (::GetModuleHandleExW(flags, static_cast<const wchar_t*>(address), &module) == 0) {
    return "";
  }
  const DWORD size = ::GetModuleFileNameW(module, path, static_cast<DWORD>(std::size(path)));
  return text_of(fs::path(path, path + size));
#else
  Dl_info info{};
  return ::dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
#endif
}

}  // namespace delegate
}  // namespace extension
}  // namespace executorch
