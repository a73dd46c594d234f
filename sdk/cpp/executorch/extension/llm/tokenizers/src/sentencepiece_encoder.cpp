// SPDX-License-Identifier: BSD-3-Clause
#include "sentencepiece_encoder.h"

#include <algorithm>
#include <cstdlib>
#include <unordered_map>
#include <utility>

#include "failure.h"
#include "score_ranks.h"
#include "utf8.h"

namespace tokenizers::detail {
namespace {

/// The score of an unknown character is lower by this than the lowest score of a piece.
constexpr float kUnknownPenalty = 10;
/// A symbol that is never merged.
constexpr uint32_t kFrozen = kNoToken - 1;

bool has_mark_inside(std::string_view piece) {
  for (size_t at = piece.find(kSpaceMark, 1); at != std::string_view::npos; at = piece.find(kSpaceMark, at + 1)) {
    if (at < kSpaceMark.size() || piece.substr(at - kSpaceMark.size(), kSpaceMark.size()) != kSpaceMark) {
      return true;
    }
  }
  return false;
}

}  // namespace

Error SentencePieceEncoder::load(const SentencePieceModel& model) {
  algorithm_ = model.algorithm;
  if (algorithm_ < SentencePieceModel::kUnigram || algorithm_ > SentencePieceModel::kChar) {
    return fail(Error::LoadFailure,
                "the model type %u of SentencePiece is not supported; supported are 1 (Unigram) to 4 (char)",
                algorithm_);
  }
  byte_fallback_ = model.byte_fallback;
  space_is_suffix_ = model.space_is_suffix;
  dummy_prefix_ = model.add_dummy_prefix;
  remove_spaces_ = model.remove_extra_spaces;
  escape_ = model.escape_spaces;
  if (!model.character_map.empty()) {
    TK_CHECK_OK_OR_RETURN_ERROR(map_.load(model.character_map));
  }
  bool has_unknown = false, has_normal = false;
  ends_before_marks_ = true;
  for (size_t id = 0; id < model.pieces.size(); id++) {
    const SentencePieceModel::Piece& piece = model.pieces[id];
    if (piece.text.empty() || find_invalid_utf8(piece.text) != std::string_view::npos || find(piece.text) != kNoToken ||
        !all_.add(piece.text, id)) {
      return fail(Error::ParseFailure, "piece %zu of the model is empty, not UTF-8, or occurs twice", id);
    }
    kinds_.push_back(piece.kind);
    scores_.push_back(piece.score);
    switch (piece.kind) {
      case SentencePieceModel::kNormal:
        smallest_ = has_normal ? std::min(smallest_, piece.score) : piece.score;
        has_normal = true;
        trie_.set(piece.text, static_cast<uint32_t>(id));
        break;
      case SentencePieceModel::kUserDefined:
        user_defined_.set(piece.text, static_cast<uint32_t>(id));
        trie_.set(piece.text, static_cast<uint32_t>(id));
        break;
      case SentencePieceModel::kUnused:
        trie_.set(piece.text, static_cast<uint32_t>(id));
        break;
      case SentencePieceModel::kUnknown:
        if (has_unknown) {
          return fail(Error::ParseFailure, "piece %zu of the model is a second unknown one", id);
        }
        has_unknown = true;
        unknown_ = static_cast<uint32_t>(id);
        break;
      default:
        break;
    }
    ends_before_marks_ = ends_before_marks_ && !has_mark_inside(piece.text);
  }
  if (!has_unknown) {
    return fail(Error::ParseFailure, "the model has no piece for unknown text");
  }
  ranks_ = ranks_by_score(scores_);
  bytes_ = byte_tokens(all_);
  for (const uint32_t id : bytes_) {
    if (byte_fallback_ && (id == kNoToken || kinds_[id] != SentencePieceModel::kByte)) {
      return fail(Error::ParseFailure, "the model falls back to bytes, but has no piece for each");
    }
  }
  return Error::Ok;
}

unsigned char SentencePieceEncoder::byte(uint64_t id) const {
  const auto found = std::find(bytes_.begin(), bytes_.end(), static_cast<uint32_t>(id));
  return static_cast<unsigned char>(found - bytes_.begin());
}

size_t SentencePieceEncoder::symbol_length(std::string_view text, bool& user_defined, size_t& steps) const {
  size_t length = 0;
  steps += user_defined_.prefixes(text, [&](size_t size, uint32_t) { length = size; });
  user_defined = length > 0;
  return user_defined ? length : utf8_length(static_cast<unsigned char>(text[0]));
}

std::string_view SentencePieceEncoder::normal_prefix(std::string_view text, size_t& length, size_t& steps) const {
  bool user_defined = false;
  length = symbol_length(text, user_defined, steps);
  if (!user_defined && !map_.empty()) {
    size_t mapped = 0;
    const std::string_view replacement = map_.longest(text, mapped, steps);
    if (mapped > 0) {
      length = mapped;
      return replacement;
    }
  }
  return text.substr(0, length);
}

Error SentencePieceEncoder::normalize(std::string_view text, NewText& made, Work& work) const {
  const std::string_view mark = escape_ ? kSpaceMark : std::string_view(" ");
  TK_CHECK_OK_OR_RETURN_ERROR(made.make_room(text.size() + text.size() / 2));
  std::string& out = made.text();
  size_t length = 0, steps = text.size();
  while (remove_spaces_ && !text.empty() && normal_prefix(text, length, steps) == " ") {
    text.remove_prefix(length);
    TK_CHECK_OK_OR_RETURN_ERROR(work.steps(std::exchange(steps, 0)));
  }
  if (text.empty()) {
    return Error::Ok;
  }
  if (dummy_prefix_ && !space_is_suffix_) {
    TK_CHECK_OK_OR_RETURN_ERROR(made.append(mark));
  }
  bool after_space = remove_spaces_;
  while (!text.empty()) {
    std::string_view part = normal_prefix(text, length, steps);
    TK_CHECK_OK_OR_RETURN_ERROR(work.steps(std::exchange(steps, 0) + part.size()));
    while (after_space && !part.empty() && part[0] == ' ') {
      part.remove_prefix(1);
    }
    TK_CHECK_OK_OR_RETURN_ERROR(made.make_room(part.size() * mark.size()));
    for (const char c : part) {
      if (c == ' ') {
        out += mark;
      } else {
        out += c;
      }
    }
    if (!part.empty()) {
      after_space = remove_spaces_ && part.back() == ' ';
    }
    text.remove_prefix(length);
  }
  while (remove_spaces_ && out.size() >= mark.size() && out.compare(out.size() - mark.size(), mark.size(), mark) == 0) {
    out.resize(out.size() - mark.size());
  }
  return dummy_prefix_ && space_is_suffix_ ? made.append(mark) : Error::Ok;
}

uint32_t SentencePieceEncoder::id_of(std::string_view piece) const {
  const uint32_t id = all_.find(piece);
  return id == kNoToken ? unknown_ : id;
}

/// Byte-pair encoding of one part, which begins at `offset` of the text.
Error SentencePieceEncoder::encode_pairs(std::string_view text, Workspace& workspace, std::vector<Segment>& segments,
                                         size_t offset) const {
  const uint64_t bytes = (kBytesPerSymbol + 3 * sizeof(Segment)) * text.size();
  TK_CHECK_OK_OR_RETURN_ERROR(workspace.work.take(bytes));
  std::vector<Symbol>& symbols = workspace.symbols;
  symbols.clear();
  for (size_t at = 0; at < text.size();) {
    bool user_defined = false;
    size_t steps = 1;
    const size_t length = symbol_length(text.substr(at), user_defined, steps);
    TK_CHECK_OK_OR_RETURN_ERROR(workspace.work.steps(steps));
    symbols.push_back({user_defined ? kFrozen : kNoToken, static_cast<uint32_t>(at), static_cast<uint32_t>(length)});
    at += length;
  }
  // The size of the left part of each merged kUnused piece, which is split there again.
  std::unordered_map<std::string_view, uint32_t> unused;
  merge_symbols(symbols, workspace.merges, [&](const Symbol& left, const Symbol& right) {
    const size_t size = left.size + right.size;
    if (left.token == kFrozen || right.token == kFrozen || size > all_.longest()) {
      return Merge{kNoRank, kNoToken};
    }
    const std::string_view piece = text.substr(left.begin, size);
    const uint32_t id = all_.find(piece);
    if (id == kNoToken ||
        (kinds_[id] != SentencePieceModel::kNormal && kinds_[id] != SentencePieceModel::kUserDefined &&
         kinds_[id] != SentencePieceModel::kUnused)) {
      return Merge{kNoRank, kNoToken};
    }
    if (kinds_[id] == SentencePieceModel::kUnused) {
      unused[piece] = left.size;
    }
    return Merge{ranks_[id], id};
  });
  std::vector<std::pair<size_t, size_t>> waiting;
  for (const Symbol& symbol : symbols) {
    waiting.emplace_back(symbol.begin, symbol.size);
    while (!waiting.empty()) {
      const auto [begin, size] = waiting.back();
      waiting.pop_back();
      const std::string_view piece = text.substr(begin, size);
      const uint32_t id = id_of(piece);
      const auto parts = kinds_[id] == SentencePieceModel::kUnused ? unused.find(piece) : unused.end();
      if (parts == unused.end()) {
        segments.push_back({offset + begin, offset + begin + size, id});
      } else {
        waiting.emplace_back(begin + parts->second, size - parts->second);
        waiting.emplace_back(begin, parts->second);
      }
    }
  }
  workspace.work.give_back(bytes);
  return workspace.work.take(sizeof(Segment) * symbols.size());
}

Error SentencePieceEncoder::encode_normalized(std::string_view text, Work& work, std::vector<Segment>& segments) const {
  Workspace workspace(work);
  if (algorithm_ == SentencePieceModel::kUnigram) {
    TK_CHECK_OK_OR_RETURN_ERROR(best_segments<float>(
        trie_, text, smallest_ - kUnknownPenalty,
        [this](uint32_t id, size_t length, float& score) {
          // A user-defined symbol is better than any piece, the longer the better.
          score = kinds_[id] == SentencePieceModel::kUserDefined
                      ? static_cast<float>(0.1 * static_cast<double>(length - 1))
                      : scores_[id];
          return kinds_[id] != SentencePieceModel::kUnused;
        },
        work, segments));
    for (Segment& segment : segments) {
      segment.token = segment.token == Trie::kNothing ? unknown_ : segment.token;
    }
    return work.take(sizeof(Segment) * segments.size());
  }
  for (size_t begin = 0; begin < text.size();) {
    size_t end = text.size();
    bool user_defined = false;
    size_t steps = 1;
    if (algorithm_ == SentencePieceModel::kChar) {
      end = begin + symbol_length(text.substr(begin), user_defined, steps);
    } else if (algorithm_ == SentencePieceModel::kWord) {
      // Words begin with the mark for a space, even if sentencepiece writes the mark after them.
      end = std::min(text.find(kSpaceMark, begin + 1), text.size());
    } else if (ends_before_marks_ && user_defined_.empty()) {
      size_t at = begin;
      while (text.substr(at, kSpaceMark.size()) == kSpaceMark) {
        at += kSpaceMark.size();
      }
      end = std::min(text.find(kSpaceMark, at), text.size());
    }
    const std::string_view part = text.substr(begin, end - begin);
    TK_CHECK_OK_OR_RETURN_ERROR(work.steps(steps + part.size()));
    if (algorithm_ == SentencePieceModel::kBpe) {
      TK_CHECK_OK_OR_RETURN_ERROR(encode_pairs(part, workspace, segments, begin));
    } else {
      TK_CHECK_OK_OR_RETURN_ERROR(work.take(3 * sizeof(Segment)));
      segments.push_back({begin, end, id_of(part)});
    }
    begin = end;
  }
  return Error::Ok;
}

Error SentencePieceEncoder::encode(std::string_view text, std::vector<uint64_t>& ids) const {
  Work work(Work::Kind::kEncode, text.size());
  NewText made(work);
  TK_CHECK_OK_OR_RETURN_ERROR(normalize(text, made, work));
  const std::string& normalized = made.text();
  std::vector<Segment> segments;
  TK_CHECK_OK_OR_RETURN_ERROR(encode_normalized(normalized, work, segments));
  TK_CHECK_OK_OR_RETURN_ERROR(work.take(kBytesPerId * normalized.size()));
  ids.reserve(ids.size() + segments.size());
  bool after_unknown = false;
  for (const Segment& segment : segments) {
    const bool is_unknown = segment.token == unknown_;
    if (is_unknown && byte_fallback_) {
      for (size_t i = segment.begin; i < segment.end; i++) {
        ids.push_back(bytes_[static_cast<unsigned char>(normalized[i])]);
      }
    } else if (!is_unknown || !after_unknown) {
      ids.push_back(segment.token);
    }
    after_unknown = is_unknown;
  }
  return Error::Ok;
}

}  // namespace tokenizers::detail
