// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <pytorch/tokenizers/error.h>

namespace tokenizers::detail {

/// The contents of a SentencePiece file: its protobuf message ModelProto.
struct SentencePieceModel {
  enum Kind : uint32_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };
  enum Algorithm : uint32_t { kUnigram = 1, kBpe = 2, kWord = 3, kChar = 4 };
  struct Piece {
    std::string_view text;  // in the file's bytes
    float score = 0;
    uint32_t kind = kNormal;
  };

  std::vector<Piece> pieces;
  uint32_t algorithm = kUnigram;
  bool byte_fallback = false;
  bool space_is_suffix = false;  // the mark of a space follows a word
  std::string_view character_map;
  bool add_dummy_prefix = true;
  bool remove_extra_spaces = true;
  bool escape_spaces = true;
  std::string_view bos_name = "<s>";
  std::string_view eos_name = "</s>";
  std::string unknown_surface = " \xE2\x81\x87 ";

  /// Error::ParseFailure names the byte at which the message is wrong. The views are into `bytes`.
  Error load(std::string_view bytes);
};

}  // namespace tokenizers::detail
