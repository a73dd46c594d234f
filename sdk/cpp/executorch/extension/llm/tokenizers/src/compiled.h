// SPDX-License-Identifier: BSD-3-Clause
// A tokenizer with tables in their in-memory form, which loads without parsing them: HFTokenizer::compile().
//
//     bytes 0-7    "PTETOK01"
//     bytes 8-15   number of sections, u64
//     then         offset and size in bytes of each section, u64 each; a section begins at a multiple of 8
//     section 0    tokenizer.json, where "model" has no "vocab" and no "merges"
//     section 1    tokenizer_config.json, or nothing
//     then         the columns of the model's tables, in the order in which it writes them
//
// All numbers are little-endian.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <pytorch/tokenizers/error.h>

#include "column.h"

namespace tokenizers::detail {

/// Whether `bytes` begin as a compiled tokenizer does.
bool is_compiled(std::string_view bytes);

class CompiledWriter {
 public:
  void add(std::string_view section) { sections_.emplace_back(section); }
  template <typename T>
  void add(const Column<T>& column) {
    static_assert(std::is_trivially_copyable_v<T> && std::has_unique_object_representations_v<T>);
    add({reinterpret_cast<const char*>(column.data()), column.size() * sizeof(T)});
  }
  std::string bytes() const;

 private:
  std::vector<std::string> sections_;
};

/// Reads the sections in order, as views of the bytes.
class CompiledReader {
 public:
  /// Error::ParseFailure unless the header is complete and each section is inside `bytes`, which begin at a multiple of
  /// 8.
  Error open(std::string_view bytes);
  Error next(std::string_view& section);
  template <typename T>
  Error next(Column<T>& column) {
    std::string_view section;
    TK_CHECK_OK_OR_RETURN_ERROR(next(section));
    if (section.size() % sizeof(T) != 0) {
      return damaged("the size of a section");
    }
    column.view(reinterpret_cast<const T*>(section.data()), section.size() / sizeof(T));
    return Error::Ok;
  }
  /// Error::ParseFailure, which names the part that is not valid.
  Error damaged(const char* what) const;

 private:
  std::string_view bytes_;
  uint64_t count_ = 0;
  uint64_t next_ = 0;
};

}  // namespace tokenizers::detail
