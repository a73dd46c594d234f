// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "character_map.h"
#include "model.h"
#include "sentencepiece_model.h"
#include "trie.h"
#include "vocabulary.h"
#include "work.h"

namespace tokenizers::detail {

/// U+2581, which replaces spaces.
inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

/// The algorithms of SentencePiece over a model, whose bytes are not needed once it is loaded.
class SentencePieceEncoder {
 public:
  Error load(const SentencePieceModel& model);
  /// Appends the ids of a valid UTF-8 text.
  Error encode(std::string_view text, std::vector<uint64_t>& ids) const;

  size_t size() const { return kinds_.size(); }
  std::string_view piece(uint64_t id) const { return all_.text(id); }
  uint32_t kind(uint64_t id) const { return kinds_[id]; }
  float score(uint64_t id) const { return scores_[id]; }
  /// The byte of a token of kind kByte.
  unsigned char byte(uint64_t id) const;
  uint32_t find(std::string_view piece) const { return all_.find(piece); }
  uint32_t unknown() const { return unknown_; }

 private:
  Error normalize(std::string_view text, NewText& out, Work& work) const;
  /// Normalises the beginning of `text`. `length` is the number of bytes that were replaced; `steps` grows by the bytes
  /// that were read.
  std::string_view normal_prefix(std::string_view text, size_t& length, size_t& steps) const;
  /// The length of a user-defined symbol or, without one, of a character.
  size_t symbol_length(std::string_view text, bool& user_defined, size_t& steps) const;
  Error encode_pairs(std::string_view text, Workspace& workspace, std::vector<Segment>& segments, size_t offset) const;
  Error encode_normalized(std::string_view text, Work& work, std::vector<Segment>& segments) const;
  uint32_t id_of(std::string_view piece) const;

  uint32_t algorithm_ = SentencePieceModel::kUnigram;
  bool byte_fallback_ = false, space_is_suffix_ = false, dummy_prefix_ = true, remove_spaces_ = true, escape_ = true;
  bool ends_before_marks_ = false;
  CharacterMap map_;
  Vocabulary all_;
  std::vector<uint32_t> kinds_;
  std::vector<float> scores_;
  std::vector<uint32_t> ranks_;
  Trie trie_;  // pieces that text is encoded to
  Trie user_defined_;
  std::vector<uint32_t> bytes_;
  uint32_t unknown_ = 0;
  float smallest_ = 0;  // score of a normal piece
};

}  // namespace tokenizers::detail
