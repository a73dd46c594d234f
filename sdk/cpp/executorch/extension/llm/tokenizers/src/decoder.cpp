// SPDX-License-Identifier: BSD-3-Clause
#include "decoder.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "byte_level.h"
#include "failure.h"
#include "normalizer.h"
#include "text_pieces.h"
#include "utf8.h"

namespace tokenizers::detail {
namespace {

/// Replaces all tokens by one text.
Error become(std::vector<std::string>& tokens, NewText& text, Work& work) {
  for (std::string& token : tokens) {
    work.give_back(heap_bytes(token));
  }
  tokens.resize(1);
  tokens[0] = std::string();
  text.replace(tokens[0]);
  return Error::Ok;
}

Error replace_all(std::string& text, std::string_view from, std::string_view to, Work& work) {
  TK_CHECK_OK_OR_RETURN_ERROR(work.steps(1 + text.size()));
  const std::string_view old = text;
  size_t at = old.find(from);
  if (from.empty() || at == std::string_view::npos) {
    return Error::Ok;
  }
  NewText out(work);
  size_t kept = 0;
  for (; at != std::string_view::npos; at = old.find(from, kept)) {
    TK_CHECK_OK_OR_RETURN_ERROR(out.append(old.substr(kept, at - kept)));
    TK_CHECK_OK_OR_RETURN_ERROR(out.append(to));
    kept = at + from.size();
  }
  TK_CHECK_OK_OR_RETURN_ERROR(out.append(old.substr(kept)));
  out.replace(text);
  return Error::Ok;
}

/// Removes the spaces that splitting into words has put before punctuation and English contractions.
Error clean_up(std::string& text, Work& work) {
  const char* const pairs[][2] = {{" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
                                  {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
                                  {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& pair : pairs) {
    TK_CHECK_OK_OR_RETURN_ERROR(replace_all(text, pair[0], pair[1], work));
  }
  return Error::Ok;
}

/// A decoder that handles each token separately.
class EachToken : public Decoder {
 public:
  Error apply(std::vector<std::string>& tokens, Work& work) const override {
    for (size_t i = 0; i < tokens.size(); i++) {
      TK_CHECK_OK_OR_RETURN_ERROR(change(tokens[i], i == 0, i + 1 == tokens.size(), work));
    }
    return Error::Ok;
  }
  Error apply_to_one(std::string& token, bool is_first, Work& work) const override {
    return change(token, is_first, false, work);
  }

 protected:
  virtual Error change(std::string& token, bool is_first, bool is_last, Work& work) const = 0;
};

class ByteLevelDecoder final : public Decoder {
 public:
  Error load(const JsonValue&, Work&) { return Error::Ok; }
  Error apply(std::vector<std::string>& tokens, Work& work) const override {
    NewText bytes(work);
    for (const std::string& token : tokens) {
      TK_CHECK_OK_OR_RETURN_ERROR(work.steps(token.size()));
      TK_CHECK_OK_OR_RETURN_ERROR(bytes.make_room(token.size()));
      if (!append_byte_level_bytes(bytes.text(), token)) {
        bytes.text() += token;
      }
    }
    // A byte that is not valid UTF-8 becomes three bytes.
    NewText text(work);
    TK_CHECK_OK_OR_RETURN_ERROR(text.make_room(3 * bytes.text().size()));
    text.text() += replace_invalid_utf8(bytes.text());
    return become(tokens, text, work);
  }
  Error apply_to_one(std::string& token, bool, Work& work) const override {
    NewText bytes(work);
    TK_CHECK_OK_OR_RETURN_ERROR(work.steps(token.size()));
    TK_CHECK_OK_OR_RETURN_ERROR(bytes.make_room(token.size()));
    if (append_byte_level_bytes(bytes.text(), token)) {
      bytes.replace(token);
    }
    return Error::Ok;
  }
};

class WordPieceDecoder final : public EachToken {
 public:
  Error load(const JsonValue& json, Work&) {
    TK_CHECK_OK_OR_RETURN_ERROR(json.read("prefix", prefix_, "##"));
    return json.read("cleanup", cleanup_, true);
  }

 protected:
  Error change(std::string& token, bool is_first, bool, Work& work) const override {
    TK_CHECK_OK_OR_RETURN_ERROR(work.steps(token.size()));
    if (!is_first) {
      if (token.compare(0, prefix_.size(), prefix_) == 0) {
        token.erase(0, prefix_.size());
      } else {
        NewText text(work);
        TK_CHECK_OK_OR_RETURN_ERROR(text.append(" "));
        TK_CHECK_OK_OR_RETURN_ERROR(text.append(token));
        text.replace(token);
      }
    }
    return cleanup_ ? clean_up(token, work) : Error::Ok;
  }

 private:
  std::string prefix_;
  bool cleanup_ = true;
};

class MetaspaceDecoder final : public EachToken {
 public:
  Error load(const JsonValue& json, Work&) {
    TK_CHECK_OK_OR_RETURN_ERROR(read_space_mark(json, replacement_));
    bool prefix_space = true;
    TK_CHECK_OK_OR_RETURN_ERROR(json.read("add_prefix_space", prefix_space, true));
    std::string scheme;
    TK_CHECK_OK_OR_RETURN_ERROR(json.read("prepend_scheme", scheme, prefix_space ? "always" : "never"));
    prepended_ = scheme != "never";
    return Error::Ok;
  }

 protected:
  Error change(std::string& token, bool is_first, bool, Work& work) const override {
    return replace_all(token, replacement_, is_first && prepended_ ? "" : " ", work);
  }

 private:
  std::string replacement_;
  bool prepended_ = true;
};

class BpeDecoder final : public EachToken {
 public:
  Error load(const JsonValue& json, Work&) { return json.read("suffix", suffix_, "</w>"); }

 protected:
  Error change(std::string& token, bool, bool is_last, Work& work) const override {
    return replace_all(token, suffix_, is_last ? "" : " ", work);
  }

 private:
  std::string suffix_;
};

class CtcDecoder final : public Decoder {
 public:
  Error load(const JsonValue& json, Work&) {
    TK_CHECK_OK_OR_RETURN_ERROR(json.read("pad_token", pad_, "<pad>"));
    TK_CHECK_OK_OR_RETURN_ERROR(json.read("word_delimiter_token", delimiter_, "|"));
    return json.read("cleanup", cleanup_, true);
  }
  Error apply(std::vector<std::string>& tokens, Work& work) const override {
    // Equal neighbours are merged into one.
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    for (std::string& token : tokens) {
      TK_CHECK_OK_OR_RETURN_ERROR(apply_to_one(token, false, work));
    }
    tokens.erase(std::remove(tokens.begin(), tokens.end(), std::string()), tokens.end());
    return Error::Ok;
  }
  Error apply_to_one(std::string& token, bool, Work& work) const override {
    TK_CHECK_OK_OR_RETURN_ERROR(replace_all(token, pad_, "", work));
    if (!cleanup_) {
      return Error::Ok;
    }
    TK_CHECK_OK_OR_RETURN_ERROR(clean_up(token, work));
    return replace_all(token, delimiter_, " ", work);
  }

 private:
  std::string pad_, delimiter_;
  bool cleanup_ = true;
};

class ReplaceDecoder final : public EachToken {
 public:
  Error load(const JsonValue& json, Work& work) {
    TK_CHECK_OK_OR_RETURN_ERROR(pattern_.load(json["pattern"], work));
    return json.read("content", content_);
  }

 protected:
  Error change(std::string& token, bool, bool, Work& work) const override {
    return pattern_.replace(token, content_, work);
  }

 private:
  Pattern pattern_;
  std::string content_;
};

class FuseDecoder final : public Decoder {
 public:
  Error load(const JsonValue&, Work&) { return Error::Ok; }
  Error apply(std::vector<std::string>& tokens, Work& work) const override {
    NewText text(work);
    for (const std::string& token : tokens) {
      TK_CHECK_OK_OR_RETURN_ERROR(text.append(token));
    }
    return become(tokens, text, work);
  }
  Error apply_to_one(std::string&, bool, Work&) const override { return Error::Ok; }
};

/// Removes a character from both ends of every string, or of the whole text after a Fuse.
class StripDecoder final : public Decoder {
 public:
  Error load(const JsonValue& json, Work&) {
    TK_CHECK_OK_OR_RETURN_ERROR(json.read("content", content_));
    TK_CHECK_OK_OR_RETURN_ERROR(json.read("start", start_, 0));
    return json.read("stop", stop_, 0);
  }
  void set_behind_fuse() { behind_fuse_ = true; }
  Error apply(std::vector<std::string>& tokens, Work& work) const override {
    for (std::string& token : tokens) {
      TK_CHECK_OK_OR_RETURN_ERROR(strip(token, start_, stop_, work));
    }
    return Error::Ok;
  }
  Error apply_to_one(std::string& token, bool is_first, Work& work) const override {
    return strip(token, behind_fuse_ && !is_first ? 0 : start_, behind_fuse_ ? 0 : stop_, work);
  }

 private:
  Error strip(std::string& token, uint64_t start, uint64_t stop, Work& work) const {
    TK_CHECK_OK_OR_RETURN_ERROR(work.steps(token.size()));
    if (content_.empty()) {
      return Error::Ok;
    }
    size_t begin = 0, end = token.size();
    for (uint64_t i = 0; i < start && token.compare(begin, content_.size(), content_) == 0; i++) {
      begin += content_.size();
    }
    for (uint64_t i = 0; i < stop && end >= begin + content_.size() &&
                         token.compare(end - content_.size(), content_.size(), content_) == 0;
         i++) {
      end -= content_.size();
    }
    token.erase(end);
    token.erase(0, begin);
    return Error::Ok;
  }

  std::string content_;
  uint64_t start_ = 0, stop_ = 0;
  bool behind_fuse_ = false;
};

/// "<0x0A>" is the byte 10.
class ByteFallbackDecoder final : public Decoder {
 public:
  Error load(const JsonValue&, Work&) { return Error::Ok; }
  Error apply(std::vector<std::string>& tokens, Work&) const override {
    // Works in place, because a run of bytes becomes at most as many strings.
    size_t kept = 0;
    std::string bytes;
    const auto keep = [&](std::string token) { tokens[kept++] = std::move(token); };
    const auto flush = [&] {
      if (bytes.empty()) {
        return;
      }
      const size_t count = bytes.size();
      if (find_invalid_utf8(bytes) == std::string_view::npos) {
        keep(std::exchange(bytes, {}));
      } else {
        for (size_t i = 0; i < count; i++) {
          keep("\xEF\xBF\xBD");
        }
      }
      bytes.clear();
    };
    for (size_t i = 0; i < tokens.size(); i++) {
      char byte = 0;
      if (byte_of(tokens[i], byte)) {
        bytes += byte;
        continue;
      }
      std::string token = std::move(tokens[i]);
      flush();
      keep(std::move(token));
    }
    flush();
    tokens.resize(kept);
    return Error::Ok;
  }
  Error apply_to_one(std::string& token, bool, Work&) const override {
    char byte = 0;
    if (byte_of(token, byte)) {
      token.assign(1, byte);
    }
    return Error::Ok;
  }

 private:
  static bool byte_of(const std::string& token, char& byte) {
    if (token.size() != 6 || token.compare(0, 3, "<0x") != 0 || token[5] != '>') {
      return false;
    }
    char* end = nullptr;
    const std::string digits = token.substr(3, 2);
    if (std::isxdigit(static_cast<unsigned char>(digits[0])) == 0) {
      return false;
    }
    const long value = std::strtol(digits.c_str(), &end, 16);
    byte = static_cast<char>(static_cast<unsigned char>(value));
    return *end == '\0';
  }
};

class SequenceDecoder final : public Decoder {
 public:
  std::vector<std::unique_ptr<Decoder>> parts;
  Error apply(std::vector<std::string>& tokens, Work& work) const override {
    for (const auto& part : parts) {
      TK_CHECK_OK_OR_RETURN_ERROR(work.steps(1 + tokens.size()));
      TK_CHECK_OK_OR_RETURN_ERROR(part->apply(tokens, work));
    }
    return Error::Ok;
  }
  Error apply_to_one(std::string& token, bool is_first, Work& work) const override {
    for (const auto& part : parts) {
      TK_CHECK_OK_OR_RETURN_ERROR(work.steps(1));
      TK_CHECK_OK_OR_RETURN_ERROR(part->apply_to_one(token, is_first, work));
    }
    return Error::Ok;
  }
};

template <typename Kind>
Error make(const JsonValue& json, bool, Work& work, std::unique_ptr<Decoder>& decoder) {
  auto made = std::make_unique<Kind>();
  TK_CHECK_OK_OR_RETURN_ERROR(made->load(json, work));
  decoder = std::move(made);
  return Error::Ok;
}

Error make_strip(const JsonValue& json, bool behind_fuse, Work& work, std::unique_ptr<Decoder>& decoder) {
  auto made = std::make_unique<StripDecoder>();
  TK_CHECK_OK_OR_RETURN_ERROR(made->load(json, work));
  if (behind_fuse) {
    made->set_behind_fuse();
  }
  decoder = std::move(made);
  return Error::Ok;
}

/// `fused`: whether the decoders before join all tokens.
Error make_nested(const JsonValue& json, int depth, bool& fused, Work& work, std::unique_ptr<Decoder>& decoder) {
  std::string kind;
  TK_CHECK_OK_OR_RETURN_ERROR(json.read("type", kind));
  const struct {
    const char* name;
    Error (*make)(const JsonValue&, bool, Work&, std::unique_ptr<Decoder>&);
  } kinds[] = {
      {"ByteLevel", make<ByteLevelDecoder>},
      {"WordPiece", make<WordPieceDecoder>},
      {"Metaspace", make<MetaspaceDecoder>},
      {"BPEDecoder", make<BpeDecoder>},
      {"CTC", make<CtcDecoder>},
      {"Replace", make<ReplaceDecoder>},
      {"Fuse", make<FuseDecoder>},
      {"Strip", make_strip},
      {"ByteFallback", make<ByteFallbackDecoder>},
  };
  for (const auto& entry : kinds) {
    if (kind == entry.name) {
      TK_CHECK_OK_OR_RETURN_ERROR(entry.make(json, fused, work, decoder));
      fused = fused || kind == "Fuse" || kind == "ByteLevel";
      return Error::Ok;
    }
  }
  if (kind != "Sequence") {
    return fail(Error::LoadFailure, "%.100s: the decoder \"%.100s\" is not supported", json.path().c_str(),
                kind.c_str());
  }
  if (depth == kDeepestSequence) {
    return fail(Error::LoadFailure, "decoder: more than %d Sequences are nested in each other", kDeepestSequence);
  }
  JsonValue parts;
  TK_CHECK_OK_OR_RETURN_ERROR(json.read_array("decoders", parts));
  auto made = std::make_unique<SequenceDecoder>();
  TK_CHECK_OK_OR_RETURN_ERROR(parts.for_each([&](const JsonValue& part) {
    made->parts.emplace_back();
    return make_nested(part, depth + 1, fused, work, made->parts.back());
  }));
  decoder = std::move(made);
  return Error::Ok;
}

}  // namespace

Error make_decoder(const JsonValue& json, Work& work, std::unique_ptr<Decoder>& decoder) {
  decoder.reset();
  bool fused = false;
  return json ? make_nested(json, 0, fused, work, decoder) : Error::Ok;
}

}  // namespace tokenizers::detail
