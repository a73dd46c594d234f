// SPDX-License-Identifier: BSD-3-Clause
// The model BPE of a tokenizer.json.
#include <algorithm>
#include <array>
#include <atomic>
#include <cinttypes>

#include "byte_level.h"
#include "failure.h"
#include "model.h"
#include "utf8.h"

namespace tokenizers::detail {
namespace {

/// The merges by their pairs of tokens: a hash table with open addressing, at most three quarters full.
class PairTable {
 public:
  void reserve(size_t count) {
    size_t slots = 16;
    while (slots * 3 < count * 4) {
      slots *= 2;
    }
    entries_.edit([&](std::vector<Entry>& entries) { entries.assign(slots, {}); });
    mask_ = slots - 1;
  }
  /// A later merge of the same pair replaces an earlier one.
  void set(uint32_t left, uint32_t right, Merge merge) { entries_.change(slot(left, right)) = {left, right, merge}; }
  Merge find(uint32_t left, uint32_t right) const {
    return entries_.empty() ? Merge{kNoRank, kNoToken} : entries_[slot(left, right)].merge;
  }
  void write(CompiledWriter& writer) const { writer.add(entries_); }
  /// Does not read the entries: tokenize_part() checks that the vocabulary contains the tokens that it returns.
  Error read(CompiledReader& reader) {
    TK_CHECK_OK_OR_RETURN_ERROR(reader.next(entries_));
    if ((entries_.size() & (entries_.size() - 1)) != 0) {
      return reader.damaged("the size of a table");
    }
    // A search ends at an unused entry, so there must be one.
    const auto is_unused = [](const Entry& entry) { return entry.merge.rank == kNoRank; };
    if (!entries_.empty() && std::none_of(entries_.begin(), entries_.end(), is_unused)) {
      return reader.damaged("the table of merges, which is full");
    }
    mask_ = entries_.empty() ? 0 : entries_.size() - 1;
    return Error::Ok;
  }

 private:
  struct Entry {
    uint32_t left = kNoToken;
    uint32_t right = kNoToken;
    Merge merge{kNoRank, kNoToken};
  };
  size_t slot(uint32_t left, uint32_t right) const {
    const uint64_t hash = (static_cast<uint64_t>(left) << 32 | right) * 0x9E3779B97F4A7C15U;
    size_t at = (hash >> 32 ^ hash >> 17) & mask_;
    while (entries_[at].merge.rank != kNoRank && (entries_[at].left != left || entries_[at].right != right)) {
      at = (at + 1) & mask_;
    }
    return at;
  }

  Column<Entry> entries_;
  size_t mask_ = 0;
};

/// The character that vocabularies of sentencepiece use instead of a space.
constexpr std::string_view kMark = "\xE2\x96\x81";

class Bpe final : public Model {
 public:
  Error load(const JsonValue& json, bool byte_level, CompiledReader* tables);
  Error tokenize(std::string_view word, Workspace& workspace, std::vector<uint64_t>& ids) const override;
  bool takes_bytes() const override { return bytes_; }
  Error write(CompiledWriter& writer) const override;
  size_t size() const override { return std::max(vocabulary_.size(), not_bytes_.size()); }
  bool piece(uint64_t id, std::string& text) const override;
  uint32_t find(std::string_view piece) const override;

 private:
  enum Whole : uint8_t { kUnknown, kIsItself, kIsNot };

  Error read_tables(const JsonValue& json);
  Error read_tables(CompiledReader& tables);
  Error read_merges(const JsonValue& json);
  Error add_merge(std::string_view left, std::string_view right, uint32_t rank);
  Error tokenize_part(std::string_view word, Workspace& workspace, std::vector<uint64_t>& ids) const;
  void split_characters(std::string_view word, Workspace& workspace) const;

  bool bytes_ = false;
  bool byte_fallback_ = false;
  bool fuse_unknown_ = false;
  bool ignore_merges_ = false;
  /// No merge joins a mark to a preceding character that is not a mark: a word ends before each such mark.
  bool ends_before_marks_ = false;
  uint32_t unknown_ = kNoToken;
  std::string prefix_, suffix_;
  Vocabulary not_bytes_;  // with bytes_: tokens with characters that do not encode bytes
  std::array<uint32_t, 256> byte_symbols_{};
  std::vector<uint32_t> fallback_;
  PairTable merges_;
  /// Whether encoding a token's text gives that token; computed when the text is a whole word for the first time.
  std::unique_ptr<std::atomic<uint8_t>[]> whole_;
};

Error Bpe::load(const JsonValue& json, bool byte_level, CompiledReader* tables) {
  TK_CHECK_OK_OR_RETURN_ERROR(json.read("byte_fallback", byte_fallback_, false));
  TK_CHECK_OK_OR_RETURN_ERROR(json.read("fuse_unk", fuse_unknown_, false));
  TK_CHECK_OK_OR_RETURN_ERROR(json.read("ignore_merges", ignore_merges_, false));
  TK_CHECK_OK_OR_RETURN_ERROR(json.read("continuing_subword_prefix", prefix_, ""));
  TK_CHECK_OK_OR_RETURN_ERROR(json.read("end_of_word_suffix", suffix_, ""));
  // Affixes and byte fallback work on characters.
  bytes_ = byte_level && prefix_.empty() && suffix_.empty() && !byte_fallback_;
  TK_CHECK_OK_OR_RETURN_ERROR(tables != nullptr ? read_tables(*tables) : read_tables(json));
  if (json["unk_token"]) {
    std::string unknown;
    TK_CHECK_OK_OR_RETURN_ERROR(json.read("unk_token", unknown));
    unknown_ = find(unknown);
    if (unknown_ == kNoToken) {
      return fail(Error::ParseFailure, "model.unk_token is \"%.100s\", which is not in model.vocab", unknown.c_str());
    }
  }
  for (size_t byte = 0; byte < byte_symbols_.size(); byte++) {
    const char c = static_cast<char>(static_cast<unsigned char>(byte));
    byte_symbols_[byte] = vocabulary_.find({&c, 1});
  }
  if (byte_fallback_) {
    fallback_ = byte_tokens(vocabulary_);
  }
  whole_.reset(new std::atomic<uint8_t>[vocabulary_.size()]());
  return Error::Ok;
}

Error Bpe::read_tables(const JsonValue& json) {
  std::string bytes;
  TK_CHECK_OK_OR_RETURN_ERROR(for_each_token(json, [&](std::string_view token, uint64_t id) {
    bytes.clear();
    if (bytes_ && append_byte_level_bytes(bytes, token)) {
      return add_token(vocabulary_, bytes, id);
    }
    return add_token(bytes_ ? not_bytes_ : vocabulary_, token, id);
  }));
  ends_before_marks_ =
      !bytes_ && !ignore_merges_ && prefix_.empty() && suffix_.empty() && vocabulary_.find(kMark) != kNoToken;
  return read_merges(json);
}

Error Bpe::read_tables(CompiledReader& tables) {
  TK_CHECK_OK_OR_RETURN_ERROR(vocabulary_.read(tables));
  TK_CHECK_OK_OR_RETURN_ERROR(not_bytes_.read(tables));
  TK_CHECK_OK_OR_RETURN_ERROR(merges_.read(tables));
  std::string_view flags;
  TK_CHECK_OK_OR_RETURN_ERROR(tables.next(flags));
  if (flags.size() != 1) {
    return tables.damaged("the size of the flags");
  }
  ends_before_marks_ = flags[0] != 0;
  return Error::Ok;
}

Error Bpe::write(CompiledWriter& writer) const {
  vocabulary_.write(writer);
  not_bytes_.write(writer);
  merges_.write(writer);
  writer.add(std::string_view(ends_before_marks_ ? "\1" : "\0", 1));
  return Error::Ok;
}

bool Bpe::piece(uint64_t id, std::string& text) const {
  if (!bytes_) {
    return Model::piece(id, text);
  }
  text.clear();
  if (vocabulary_.contains(id)) {
    append_byte_level(text, vocabulary_.text(id));
    return true;
  }
  if (not_bytes_.contains(id)) {
    text = not_bytes_.text(id);
    return true;
  }
  return false;
}

uint32_t Bpe::find(std::string_view piece) const {
  std::string bytes;
  if (!bytes_) {
    return vocabulary_.find(piece);
  }
  return append_byte_level_bytes(bytes, piece) ? vocabulary_.find(bytes) : not_bytes_.find(piece);
}

Error Bpe::read_merges(const JsonValue& json) {
  JsonValue merges;
  TK_CHECK_OK_OR_RETURN_ERROR(json.read_array("merges", merges));
  merges_.reserve(merges.size());
  yyjson_arr_iter iterator = yyjson_arr_iter_with(merges.get());
  uint32_t rank = 0;
  while (yyjson_val* merge = yyjson_arr_iter_next(&iterator)) {
    std::string_view left, right;
    if (yyjson_is_str(merge)) {
      const std::string_view text = json_text(merge);
      const size_t space = text.find(' ');
      if (space != std::string_view::npos && text.find(' ', space + 1) == std::string_view::npos) {
        left = text.substr(0, space);
        right = text.substr(space + 1);
      }
    } else if (yyjson_arr_size(merge) == 2 && yyjson_is_str(yyjson_arr_get_first(merge)) &&
               yyjson_is_str(yyjson_arr_get_last(merge))) {
      left = json_text(yyjson_arr_get_first(merge));
      right = json_text(yyjson_arr_get_last(merge));
    }
    if (left.empty() || right.empty()) {
      return JsonValue(merge, "model.merges[" + std::to_string(rank) + "]")
          .expected("\"left right\" or [\"left\", \"right\"]: two tokens");
    }
    TK_CHECK_OK_OR_RETURN_ERROR(add_merge(left, right, rank));
    rank++;
  }
  return Error::Ok;
}

Error Bpe::add_merge(std::string_view left, std::string_view right, uint32_t rank) {
  std::string merged(left);
  merged += right.size() < prefix_.size() ? right : right.substr(prefix_.size());
  const uint32_t ids[] = {find(left), find(right), find(merged)};
  const std::string_view names[] = {left, right, merged};
  for (size_t i = 0; i < 3; i++) {
    if (ids[i] == kNoToken) {
      return fail(Error::ParseFailure, "model.merges[%u] needs the token \"%.100s\", which is not in model.vocab", rank,
                  std::string(names[i]).c_str());
    }
  }
  const bool left_is_mark = left.size() >= kMark.size() && left.substr(left.size() - kMark.size()) == kMark;
  if (!left_is_mark && right.substr(0, kMark.size()) == kMark) {
    ends_before_marks_ = false;
  }
  merges_.set(ids[0], ids[1], {rank, ids[2]});
  return Error::Ok;
}

Error Bpe::tokenize(std::string_view word, Workspace& workspace, std::vector<uint64_t>& ids) const {
  if (!ends_before_marks_) {
    return tokenize_part(word, workspace, ids);
  }
  size_t begin = 0;
  while (begin < word.size()) {
    size_t end = begin;
    while (word.substr(end, kMark.size()) == kMark) {
      end += kMark.size();
    }
    end = std::min(word.find(kMark, end), word.size());
    TK_CHECK_OK_OR_RETURN_ERROR(tokenize_part(word.substr(begin, end - begin), workspace, ids));
    begin = end;
  }
  return Error::Ok;
}

Error Bpe::tokenize_part(std::string_view word, Workspace& workspace, std::vector<uint64_t>& ids) const {
  // A symbol for each byte; with byte fallback, also for the bytes of the affixes.
  const uint64_t most = byte_fallback_ ? word.size() * (1 + prefix_.size()) + suffix_.size() : word.size();
  TK_CHECK_OK_OR_RETURN_ERROR(workspace.work.steps(1 + word.size() * (1 + prefix_.size()) + suffix_.size()));
  TK_CHECK_OK_OR_RETURN_ERROR(workspace.work.take(kBytesPerSymbol * most));
  const size_t before = ids.size();
  const uint32_t whole = vocabulary_.find(word);
  uint8_t known = kIsNot;
  if (whole != kNoToken) {
    known = ignore_merges_ ? static_cast<uint8_t>(kIsItself) : whole_[whole].load(std::memory_order_relaxed);
    if (known == kIsItself) {
      ids.push_back(whole);
      workspace.work.give_back(kBytesPerSymbol * most);
      return workspace.work.take(kBytesPerId);
    }
  }
  split_characters(word, workspace);
  merge_symbols(workspace.symbols, workspace.merges,
                [this](const Symbol& left, const Symbol& right) { return merges_.find(left.token, right.token); });
  if (whole != kNoToken && known == kUnknown) {
    const bool same = workspace.symbols.size() == 1 && workspace.symbols[0].token == whole;
    whole_[whole].store(same ? kIsItself : kIsNot, std::memory_order_relaxed);
  }
  for (const Symbol& symbol : workspace.symbols) {
    if (!vocabulary_.contains(symbol.token)) {
      return fail(Error::ParseFailure,
                  "the compiled tokenizer is damaged: a merge gives token %" PRIu32
                  ", which the vocabulary does not have. Compile it again.",
                  symbol.token);
    }
    ids.push_back(symbol.token);
  }
  workspace.work.give_back(kBytesPerSymbol * most);
  return workspace.work.take(kBytesPerId * (ids.size() - before));
}

void Bpe::split_characters(std::string_view word, Workspace& workspace) const {
  std::vector<Symbol>& symbols = workspace.symbols;
  symbols.clear();
  bool unknown_is_open = false;
  size_t at = 0;
  while (at < word.size()) {
    const size_t begin = at;
    at += bytes_ ? 1 : utf8_length(static_cast<unsigned char>(word[at]));
    const auto size = static_cast<uint32_t>(at - begin);
    uint32_t token = kNoToken;
    if (size == 1 && prefix_.empty() && suffix_.empty()) {
      token = byte_symbols_[static_cast<unsigned char>(word[begin])];
    } else {
      workspace.text.clear();
      workspace.text += begin > 0 ? prefix_ : std::string_view();
      workspace.text += word.substr(begin, size);
      workspace.text += at == word.size() ? suffix_ : std::string_view();
      token = vocabulary_.find(workspace.text);
    }
    if (token != kNoToken) {
      symbols.push_back({token, static_cast<uint32_t>(begin), size});
      unknown_is_open = false;
      continue;
    }
    if (byte_fallback_) {
      // All bytes of a character, or none.
      bool all = true;
      const std::string_view character = prefix_.empty() && suffix_.empty() ? word.substr(begin, size) : workspace.text;
      for (const char c : character) {
        all = all && fallback_[static_cast<unsigned char>(c)] != kNoToken;
      }
      if (all) {
        for (size_t i = 0; i < character.size(); i++) {
          symbols.push_back({fallback_[static_cast<unsigned char>(character[i])], static_cast<uint32_t>(begin + i), 1});
        }
        unknown_is_open = false;
        continue;
      }
    }
    if (unknown_ == kNoToken) {
      continue;
    }
    if (fuse_unknown_ && unknown_is_open) {
      symbols.back().size += size;
    } else {
      symbols.push_back({unknown_, static_cast<uint32_t>(begin), size});
    }
    unknown_is_open = true;
  }
}

}  // namespace

Error make_bpe(const JsonValue& json, bool byte_level, CompiledReader* tables, std::unique_ptr<Model>& model) {
  auto made = std::make_unique<Bpe>();
  TK_CHECK_OK_OR_RETURN_ERROR(made->load(json, byte_level, tables));
  model = std::move(made);
  return Error::Ok;
}

}  // namespace tokenizers::detail
