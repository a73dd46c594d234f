// SPDX-License-Identifier: BSD-3-Clause
#include "pre_tokenizer.h"

#include <algorithm>

#include "byte_level.h"
#include "failure.h"
#include "normalizer.h"
#include "unicode.h"
#include "utf8.h"

namespace tokenizers::detail {
namespace {

/// A pre-tokenizer that splits every piece separately.
class PieceSplitter : public PreTokenizer {
 public:
  Error apply(PieceList& list) const override {
    return list.split_each([&](std::string_view piece, size_t offset, std::vector<Range>& pieces) {
      return split(piece, offset, list.work, pieces);
    });
  }

 protected:
  virtual Error split(std::string_view piece, size_t offset, Work& work, std::vector<Range>& pieces) const = 0;
};

/// Splits at the matches of a pattern.
class Split final : public PieceSplitter {
 public:
  Error load(const JsonValue& json, Work& work) {
    TK_CHECK_OK_OR_RETURN_ERROR(pattern_.load(json["pattern"], work));
    TK_CHECK_OK_OR_RETURN_ERROR(json.read("invert", invert_, false));
    return read_behavior(json, behavior_);
  }
  Error load(std::string_view regex, SplitBehavior behavior, bool invert, Work& work) {
    behavior_ = behavior;
    invert_ = invert;
    return pattern_.load_regex(regex, work);
  }

 protected:
  Error split(std::string_view piece, size_t offset, Work& work, std::vector<Range>& pieces) const override {
    if (behavior_ == SplitBehavior::kIsolated) {
      // The most common behaviour, without a separate list.
      size_t at = 0;
      const auto add = [&](size_t begin, size_t end) {
        if (begin < end) {
          pieces.push_back({begin + offset, end + offset});
        }
      };
      TK_CHECK_OK_OR_RETURN_ERROR(pattern_.for_each(piece, work, [&](size_t begin, size_t end) {
        add(at, begin);
        add(begin, end);
        at = end;
        return Error::Ok;
      }));
      add(at, piece.size());
      return Error::Ok;
    }
    Splitter splitter(piece.size(), behavior_, invert_);
    TK_CHECK_OK_OR_RETURN_ERROR(pattern_.for_each(piece, work, [&](size_t begin, size_t end) {
      splitter.match(begin, end);
      return Error::Ok;
    }));
    splitter.finish(offset, pieces);
    return Error::Ok;
  }

 private:
  Pattern pattern_;
  SplitBehavior behavior_ = SplitBehavior::kIsolated;
  bool invert_ = false;
};

/// Splits at characters for which `is_match` is true.
class CharacterSplit final : public PieceSplitter {
 public:
  CharacterSplit(bool (*is_match)(uint32_t), SplitBehavior behavior) : is_match_(is_match), behavior_(behavior) {}

 protected:
  Error split(std::string_view piece, size_t offset, Work&, std::vector<Range>& pieces) const override {
    Splitter splitter(piece.size(), behavior_, false);
    for (size_t at = 0; at < piece.size();) {
      const size_t begin = at;
      if (is_match_(next_character(piece, at))) {
        splitter.match(begin, at);
      }
    }
    splitter.finish(offset, pieces);
    return Error::Ok;
  }

 private:
  bool (*is_match_)(uint32_t);
  SplitBehavior behavior_;
};

class FixedLength final : public PieceSplitter {
 public:
  Error load(const JsonValue& json, Work&) {
    TK_CHECK_OK_OR_RETURN_ERROR(json.read("length", length_, 5));
    return length_ > 0 ? Error::Ok
                       : fail(Error::ParseFailure, "%.100s.length is 0, expected at least 1", json.path().c_str());
  }

 protected:
  Error split(std::string_view piece, size_t offset, Work&, std::vector<Range>& pieces) const override {
    for (size_t at = 0; at < piece.size();) {
      const size_t begin = at;
      for (uint64_t i = 0; i < length_ && at < piece.size(); i++) {
        next_character(piece, at);
      }
      pieces.push_back({begin + offset, at + offset});
    }
    return Error::Ok;
  }

 private:
  uint64_t length_ = 5;
};

/// Calls `change(out, piece, is_first)`, which returns an Error, for each piece: it appends the changed piece to `out`.
/// Afterwards the list has the new text.
template <typename Change>
Error change_pieces(PieceList& list, const Change& change) {
  NewText out(list.work);
  TK_CHECK_OK_OR_RETURN_ERROR(out.make_room(list.text.size() + list.text.size() / 2));
  TK_CHECK_OK_OR_RETURN_ERROR(list.work.steps(list.pieces.size()));
  for (Range& range : list.pieces) {
    const size_t begin = out.text().size();
    TK_CHECK_OK_OR_RETURN_ERROR(change(out, list.piece(range), list.at_start && range.begin == 0));
    range = {begin, out.text().size()};
  }
  list.own(out);
  return Error::Ok;
}

class ByteLevelSplitter final : public PreTokenizer {
 public:
  Error load(const JsonValue& json, Work& work) {
    TK_CHECK_OK_OR_RETURN_ERROR(json.read("add_prefix_space", prefix_space_, true));
    TK_CHECK_OK_OR_RETURN_ERROR(json.read("use_regex", use_regex_, true));
    // The expression of GPT-2.
    return use_regex_ ? split_.load(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
                                    SplitBehavior::kIsolated, false, work)
                      : Error::Ok;
  }
  Error apply(PieceList& list) const override {
    if (prefix_space_) {
      TK_CHECK_OK_OR_RETURN_ERROR(change_pieces(list, [](NewText& out, std::string_view piece, bool) {
        TK_CHECK_OK_OR_RETURN_ERROR(out.append(piece.empty() || piece[0] != ' ' ? " " : ""));
        return out.append(piece);
      }));
    }
    if (use_regex_) {
      TK_CHECK_OK_OR_RETURN_ERROR(split_.apply(list));
    }
    if (keeps_bytes_) {
      return Error::Ok;
    }
    return change_pieces(list, [&](NewText& out, std::string_view piece, bool) {
      TK_CHECK_OK_OR_RETURN_ERROR(list.work.steps(piece.size()));
      TK_CHECK_OK_OR_RETURN_ERROR(out.make_room(2 * piece.size()));
      append_byte_level(out.text(), piece);
      return Error::Ok;
    });
  }
  bool is_byte_level() const override { return true; }
  void keep_bytes() override { keeps_bytes_ = true; }

 private:
  bool prefix_space_ = true, use_regex_ = true, keeps_bytes_ = false;
  Split split_;
};

class MetaspaceSplitter final : public PreTokenizer {
 public:
  Error load(const JsonValue& json, Work&) {
    TK_CHECK_OK_OR_RETURN_ERROR(read_space_mark(json, replacement_));
    TK_CHECK_OK_OR_RETURN_ERROR(json.read("split", split_, true));
    bool prefix_space = true;
    TK_CHECK_OK_OR_RETURN_ERROR(json.read("add_prefix_space", prefix_space, true));
    std::string scheme;
    TK_CHECK_OK_OR_RETURN_ERROR(json.read("prepend_scheme", scheme, prefix_space ? "always" : "never"));
    if (scheme != "always" && scheme != "never" && scheme != "first") {
      return fail(Error::LoadFailure, "%.100s.prepend_scheme is \"%.100s\", supported are always, never and first",
                  json.path().c_str(), scheme.c_str());
    }
    always_ = scheme == "always";
    first_ = scheme == "first";
    return Error::Ok;
  }
  Error apply(PieceList& list) const override {
    TK_CHECK_OK_OR_RETURN_ERROR(change_pieces(list, [this](NewText& out, std::string_view piece, bool is_first) {
      const bool marked = piece.substr(0, 1) == " " || piece.substr(0, replacement_.size()) == replacement_;
      if (!marked && (always_ || (first_ && is_first))) {
        TK_CHECK_OK_OR_RETURN_ERROR(out.append(replacement_));
      }
      size_t kept = 0;
      for (size_t at = piece.find(' '); at != std::string_view::npos; at = piece.find(' ', kept)) {
        TK_CHECK_OK_OR_RETURN_ERROR(out.append(piece.substr(kept, at - kept)));
        TK_CHECK_OK_OR_RETURN_ERROR(out.append(replacement_));
        kept = at + 1;
      }
      return out.append(piece.substr(kept));
    }));
    if (!split_) {
      return Error::Ok;
    }
    return list.split_each([this](std::string_view piece, size_t offset, std::vector<Range>& pieces) {
      // A new piece begins with every replacement.
      size_t begin = 0;
      while (begin < piece.size()) {
        const bool at_mark = piece.substr(begin, replacement_.size()) == replacement_;
        const size_t end =
            std::min(piece.find(replacement_, begin + (at_mark ? replacement_.size() : 0)), piece.size());
        pieces.push_back({offset + begin, offset + end});
        begin = end;
      }
      return Error::Ok;
    });
  }

 private:
  std::string replacement_;
  bool split_ = true, always_ = true, first_ = false;
};

class SequencePreTokenizer final : public PreTokenizer {
 public:
  std::vector<std::unique_ptr<PreTokenizer>> parts;
  Error apply(PieceList& list) const override {
    for (const auto& part : parts) {
      TK_CHECK_OK_OR_RETURN_ERROR(list.work.steps(1));
      TK_CHECK_OK_OR_RETURN_ERROR(part->apply(list));
    }
    return Error::Ok;
  }
  bool is_byte_level() const override { return !parts.empty() && parts.back()->is_byte_level(); }
  void keep_bytes() override { parts.back()->keep_bytes(); }
};

using PreTokenizerPointer = std::unique_ptr<PreTokenizer>;

template <typename Kind>
Error make(const JsonValue& json, Work& work, PreTokenizerPointer& pre_tokenizer) {
  auto made = std::make_unique<Kind>();
  TK_CHECK_OK_OR_RETURN_ERROR(made->load(json, work));
  pre_tokenizer = std::move(made);
  return Error::Ok;
}

Error make_bert(const JsonValue&, Work&, PreTokenizerPointer& pre_tokenizer) {
  auto both = std::make_unique<SequencePreTokenizer>();
  both->parts.push_back(std::make_unique<CharacterSplit>(is_space, SplitBehavior::kRemoved));
  both->parts.push_back(std::make_unique<CharacterSplit>(is_punctuation_or_ascii_symbol, SplitBehavior::kIsolated));
  pre_tokenizer = std::move(both);
  return Error::Ok;
}

Error make_whitespace(const JsonValue&, Work& work, PreTokenizerPointer& pre_tokenizer) {
  auto made = std::make_unique<Split>();
  // Unicode's definition of \w. PCRE2's lacks marks and joiners.
  TK_CHECK_OK_OR_RETURN_ERROR(made->load(
      R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d}]+|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d}\s]+)",
      SplitBehavior::kRemoved, true, work));
  pre_tokenizer = std::move(made);
  return Error::Ok;
}

Error make_whitespace_split(const JsonValue&, Work&, PreTokenizerPointer& pre_tokenizer) {
  pre_tokenizer = std::make_unique<CharacterSplit>(is_space, SplitBehavior::kRemoved);
  return Error::Ok;
}

Error make_punctuation(const JsonValue& json, Work&, PreTokenizerPointer& pre_tokenizer) {
  SplitBehavior behavior{};
  TK_CHECK_OK_OR_RETURN_ERROR(read_behavior(json, behavior));
  pre_tokenizer = std::make_unique<CharacterSplit>(is_punctuation_or_ascii_symbol, behavior);
  return Error::Ok;
}

Error make_digits(const JsonValue& json, Work&, PreTokenizerPointer& pre_tokenizer) {
  bool individual = false;
  TK_CHECK_OK_OR_RETURN_ERROR(json.read("individual_digits", individual, false));
  pre_tokenizer =
      std::make_unique<CharacterSplit>(is_numeric, individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous);
  return Error::Ok;
}

Error make_delimiter(const JsonValue& json, Work& work, PreTokenizerPointer& pre_tokenizer) {
  std::string delimiter;
  TK_CHECK_OK_OR_RETURN_ERROR(json.read("delimiter", delimiter));
  auto made = std::make_unique<Split>();
  TK_CHECK_OK_OR_RETURN_ERROR(made->load(quoted_pattern(delimiter), SplitBehavior::kRemoved, false, work));
  pre_tokenizer = std::move(made);
  return Error::Ok;
}

Error make_nested(const JsonValue& json, int depth, Work& work, PreTokenizerPointer& pre_tokenizer);

Error make_sequence(const JsonValue& json, int depth, Work& work, PreTokenizerPointer& pre_tokenizer) {
  if (depth == kDeepestSequence) {
    return fail(Error::LoadFailure, "pre_tokenizer: more than %d Sequences are nested in each other", kDeepestSequence);
  }
  JsonValue parts;
  TK_CHECK_OK_OR_RETURN_ERROR(json.read_array("pretokenizers", parts));
  auto made = std::make_unique<SequencePreTokenizer>();
  TK_CHECK_OK_OR_RETURN_ERROR(parts.for_each([&](const JsonValue& part) {
    made->parts.emplace_back();
    return make_nested(part, depth + 1, work, made->parts.back());
  }));
  pre_tokenizer = std::move(made);
  return Error::Ok;
}

Error make_nested(const JsonValue& json, int depth, Work& work, PreTokenizerPointer& pre_tokenizer) {
  std::string kind;
  TK_CHECK_OK_OR_RETURN_ERROR(json.read("type", kind));
  const struct {
    const char* name;
    Error (*make)(const JsonValue&, Work&, PreTokenizerPointer&);
  } kinds[] = {
      {"ByteLevel", make<ByteLevelSplitter>},
      {"Split", make<Split>},
      {"Metaspace", make<MetaspaceSplitter>},
      {"FixedLength", make<FixedLength>},
      {"BertPreTokenizer", make_bert},
      {"Whitespace", make_whitespace},
      {"WhitespaceSplit", make_whitespace_split},
      {"Punctuation", make_punctuation},
      {"Digits", make_digits},
      {"CharDelimiterSplit", make_delimiter},
      {"UnicodeScripts", make_unicode_scripts},
  };
  for (const auto& entry : kinds) {
    if (kind == entry.name) {
      return entry.make(json, work, pre_tokenizer);
    }
  }
  if (kind == "Sequence") {
    return make_sequence(json, depth, work, pre_tokenizer);
  }
  return fail(Error::LoadFailure, "%.100s: the pre-tokenizer \"%.100s\" is not supported", json.path().c_str(),
              kind.c_str());
}

}  // namespace

Error make_pre_tokenizer(const JsonValue& json, Work& work, PreTokenizerPointer& pre_tokenizer) {
  pre_tokenizer.reset();
  return json ? make_nested(json, 0, work, pre_tokenizer) : Error::Ok;
}

}  // namespace tokenizers::detail
