// SPDX-License-Identifier: BSD-3-Clause
#include "decoder.h"

#include <cstdlib>

#include "byte_level.h"
#include "failure.h"
#include "normalizer.h"
#include "text_pieces.h"
#include "utf8.h"

namespace tokenizers::detail {
namespace {

std::string join(const std::vector<std::string>& tokens) {
  std::string text;
  for (const std::string& token : tokens) {
    text += token;
  }
  return text;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  size_t at = text.find(from);
  if (from.empty() || at == std::string::npos) {
    return;
  }
  std::string out;
  size_t kept = 0;
  for (; at != std::string::npos; at = text.find(from, kept)) {
    out.append(text, kept, at - kept);
    out += to;
    kept = at + from.size();
  }
  out.append(text, kept);
  text = std::move(out);
}

/// The spaces that splitting into words has put before punctuation and shortened English words.
void clean_up(std::string& text) {
  const char* const pairs[][2] = {{" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
                                  {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
                                  {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& pair : pairs) {
    replace_all(text, pair[0], pair[1]);
  }
}

/// A decoder that takes each token by itself.
class EachToken : public Decoder {
 public:
  Error apply(std::vector<std::string>& tokens) const override {
    for (size_t i = 0; i < tokens.size(); i++) {
      TK_CHECK_OK_OR_RETURN_ERROR(change(tokens[i], i == 0, i + 1 == tokens.size()));
    }
    return Error::Ok;
  }
  Error apply_to_one(std::string& token, bool is_first) const override { return change(token, is_first, false); }

 protected:
  virtual Error change(std::string& token, bool is_first, bool is_last) const = 0;
};

class ByteLevel final : public Decoder {
 public:
  Error load(const JsonValue&) { return Error::Ok; }
  Error apply(std::vector<std::string>& tokens) const override {
    std::string bytes;
    for (const std::string& token : tokens) {
      if (!append_byte_level_bytes(bytes, token)) {
        bytes += token;
      }
    }
    tokens.assign(1, replace_invalid_utf8(bytes));
    return Error::Ok;
  }
  Error apply_to_one(std::string& token, bool) const override {
    std::string bytes;
    if (append_byte_level_bytes(bytes, token)) {
      token = std::move(bytes);
    }
    return Error::Ok;
  }
};

class WordPiece final : public EachToken {
 public:
  Error load(const JsonValue& json) {
    TK_CHECK_OK_OR_RETURN_ERROR(json.read("prefix", prefix_, "##"));
    return json.read("cleanup", cleanup_, true);
  }

 protected:
  Error change(std::string& token, bool is_first, bool) const override {
    if (!is_first) {
      if (token.compare(0, prefix_.size(), prefix_) == 0) {
        token.erase(0, prefix_.size());
      } else {
        token.insert(0, " ");
      }
    }
    if (cleanup_) {
      clean_up(token);
    }
    return Error::Ok;
  }

 private:
  std::string prefix_;
  bool cleanup_ = true;
};

class Metaspace final : public EachToken {
 public:
  Error load(const JsonValue& json) {
    TK_CHECK_OK_OR_RETURN_ERROR(json.read("replacement", replacement_, "\xE2\x96\x81"));
    bool prefix_space = true;
    TK_CHECK_OK_OR_RETURN_ERROR(json.read("add_prefix_space", prefix_space, true));
    std::string scheme;
    TK_CHECK_OK_OR_RETURN_ERROR(json.read("prepend_scheme", scheme, prefix_space ? "always" : "never"));
    prepended_ = scheme != "never";
    return Error::Ok;
  }

 protected:
  Error change(std::string& token, bool is_first, bool) const override {
    replace_all(token, replacement_, is_first && prepended_ ? "" : " ");
    return Error::Ok;
  }

 private:
  std::string replacement_;
  bool prepended_ = true;
};

class Bpe final : public EachToken {
 public:
  Error load(const JsonValue& json) { return json.read("suffix", suffix_, "</w>"); }

 protected:
  Error change(std::string& token, bool, bool is_last) const override {
    replace_all(token, suffix_, is_last ? "" : " ");
    return Error::Ok;
  }

 private:
  std::string suffix_;
};

class Ctc final : public Decoder {
 public:
  Error load(const JsonValue& json) {
    TK_CHECK_OK_OR_RETURN_ERROR(json.read("pad_token", pad_, "<pad>"));
    TK_CHECK_OK_OR_RETURN_ERROR(json.read("word_delimiter_token", delimiter_, "|"));
    return json.read("cleanup", cleanup_, true);
  }
  Error apply(std::vector<std::string>& tokens) const override {
    std::vector<std::string> out;
    const std::string* previous = nullptr;
    for (const std::string& token : tokens) {
      if (previous == nullptr || *previous != token) {
        out.push_back(token);
        TK_CHECK_OK_OR_RETURN_ERROR(apply_to_one(out.back(), false));
        if (out.back().empty()) {
          out.pop_back();
        }
      }
      previous = &token;
    }
    tokens = std::move(out);
    return Error::Ok;
  }
  Error apply_to_one(std::string& token, bool) const override {
    replace_all(token, pad_, "");
    if (cleanup_) {
      clean_up(token);
      replace_all(token, delimiter_, " ");
    }
    return Error::Ok;
  }

 private:
  std::string pad_, delimiter_;
  bool cleanup_ = true;
};

class Replace final : public EachToken {
 public:
  Error load(const JsonValue& json) {
    TK_CHECK_OK_OR_RETURN_ERROR(pattern_.load(json["pattern"]));
    return json.read("content", content_);
  }

 protected:
  Error change(std::string& token, bool, bool) const override { return pattern_.replace(token, content_); }

 private:
  Pattern pattern_;
  std::string content_;
};

class Fuse final : public Decoder {
 public:
  Error load(const JsonValue&) { return Error::Ok; }
  Error apply(std::vector<std::string>& tokens) const override {
    tokens.assign(1, join(tokens));
    return Error::Ok;
  }
  Error apply_to_one(std::string&, bool) const override { return Error::Ok; }
};

/// Takes characters of one kind off both ends of every string: behind a Fuse, of the text.
class Strip final : public Decoder {
 public:
  Error load(const JsonValue& json) {
    TK_CHECK_OK_OR_RETURN_ERROR(json.read("content", content_));
    TK_CHECK_OK_OR_RETURN_ERROR(json.read("start", start_, 0));
    return json.read("stop", stop_, 0);
  }
  void set_behind_fuse() { behind_fuse_ = true; }
  Error apply(std::vector<std::string>& tokens) const override {
    for (std::string& token : tokens) {
      strip(token, start_, stop_);
    }
    return Error::Ok;
  }
  Error apply_to_one(std::string& token, bool is_first) const override {
    strip(token, behind_fuse_ && !is_first ? 0 : start_, behind_fuse_ ? 0 : stop_);
    return Error::Ok;
  }

 private:
  void strip(std::string& token, uint64_t start, uint64_t stop) const {
    if (content_.empty()) {
      return;
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
    token = token.substr(begin, end - begin);
  }

  std::string content_;
  uint64_t start_ = 0, stop_ = 0;
  bool behind_fuse_ = false;
};

/// "<0x0A>" is the byte 10.
class ByteFallback final : public Decoder {
 public:
  Error load(const JsonValue&) { return Error::Ok; }
  Error apply(std::vector<std::string>& tokens) const override {
    std::vector<std::string> out;
    std::string bytes;
    const auto flush = [&] {
      if (find_invalid_utf8(bytes) == std::string_view::npos) {
        out.push_back(bytes);
      } else {
        for (size_t i = 0; i < bytes.size(); i++) {
          out.emplace_back("\xEF\xBF\xBD");
        }
      }
      bytes.clear();
    };
    for (const std::string& token : tokens) {
      char byte = 0;
      if (byte_of(token, byte)) {
        bytes += byte;
        continue;
      }
      if (!bytes.empty()) {
        flush();
      }
      out.push_back(token);
    }
    if (!bytes.empty()) {
      flush();
    }
    tokens = std::move(out);
    return Error::Ok;
  }
  Error apply_to_one(std::string& token, bool) const override {
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

class Sequence final : public Decoder {
 public:
  std::vector<std::unique_ptr<Decoder>> parts;
  Error apply(std::vector<std::string>& tokens) const override {
    for (const auto& part : parts) {
      TK_CHECK_OK_OR_RETURN_ERROR(part->apply(tokens));
    }
    return Error::Ok;
  }
  Error apply_to_one(std::string& token, bool is_first) const override {
    for (const auto& part : parts) {
      TK_CHECK_OK_OR_RETURN_ERROR(part->apply_to_one(token, is_first));
    }
    return Error::Ok;
  }
};

template <typename Kind>
Error make(const JsonValue& json, bool, std::unique_ptr<Decoder>& decoder) {
  auto made = std::make_unique<Kind>();
  TK_CHECK_OK_OR_RETURN_ERROR(made->load(json));
  decoder = std::move(made);
  return Error::Ok;
}

Error make_strip(const JsonValue& json, bool behind_fuse, std::unique_ptr<Decoder>& decoder) {
  auto made = std::make_unique<Strip>();
  TK_CHECK_OK_OR_RETURN_ERROR(made->load(json));
  if (behind_fuse) {
    made->set_behind_fuse();
  }
  decoder = std::move(made);
  return Error::Ok;
}

/// `fused`: whether the decoders before join all tokens.
Error make_nested(const JsonValue& json, int depth, bool& fused, std::unique_ptr<Decoder>& decoder) {
  std::string kind;
  TK_CHECK_OK_OR_RETURN_ERROR(json.read("type", kind));
  const struct {
    const char* name;
    Error (*make)(const JsonValue&, bool, std::unique_ptr<Decoder>&);
  } kinds[] = {
      {"ByteLevel", make<ByteLevel>},
      {"WordPiece", make<WordPiece>},
      {"Metaspace", make<Metaspace>},
      {"BPEDecoder", make<Bpe>},
      {"CTC", make<Ctc>},
      {"Replace", make<Replace>},
      {"Fuse", make<Fuse>},
      {"Strip", make_strip},
      {"ByteFallback", make<ByteFallback>},
  };
  for (const auto& entry : kinds) {
    if (kind == entry.name) {
      TK_CHECK_OK_OR_RETURN_ERROR(entry.make(json, fused, decoder));
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
  auto made = std::make_unique<Sequence>();
  for (size_t i = 0; i < parts.size(); i++) {
    made->parts.emplace_back();
    TK_CHECK_OK_OR_RETURN_ERROR(make_nested(parts.at(i), depth + 1, fused, made->parts.back()));
  }
  decoder = std::move(made);
  return Error::Ok;
}

}  // namespace

Error make_decoder(const JsonValue& json, std::unique_ptr<Decoder>& decoder) {
  decoder.reset();
  bool fused = false;
  return json ? make_nested(json, 0, fused, decoder) : Error::Ok;
}

}  // namespace tokenizers::detail
