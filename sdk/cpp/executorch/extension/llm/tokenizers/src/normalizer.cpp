// SPDX-License-Identifier: BSD-3-Clause
#include "normalizer.h"

#include <functional>
#include <vector>

#include "base64.h"
#include "byte_level.h"
#include "character_map.h"
#include "failure.h"
#include "text_pieces.h"
#include "unicode.h"
#include "utf8.h"

namespace tokenizers::detail {
namespace {

/// Replaces each character by what `change(text, character)` appends: at most twice as many bytes as the character has.
template <typename Change>
Error change_characters(std::string& text, Work& work, Change&& change) {
  NewText out(work);
  TK_CHECK_OK_OR_RETURN_ERROR(work.steps(text.size()));
  TK_CHECK_OK_OR_RETURN_ERROR(out.make_room(2 * text.size()));
  for (size_t at = 0; at < text.size();) {
    change(out.text(), next_character(text, at));
  }
  out.replace(text);
  return Error::Ok;
}

/// A normalizer without parameters.
class Function final : public Normalizer {
 public:
  explicit Function(Error (*change)(std::string&, Work&)) : change_(change) {}
  Error apply(std::string& text, Work& work) const override { return change_(text, work); }

 private:
  Error (*change_)(std::string&, Work&);
};

Error lower(std::string& text, Work& work) {
  return change_characters(text, work, append_lower);
}

Error strip_accents(std::string& text, Work& work) {
  return change_characters(text, work, [](std::string& out, uint32_t c) {
    if (!is_mark(c)) {
      append_character(out, c);
    }
  });
}

Error byte_level(std::string& text, Work& work) {
  NewText out(work);
  TK_CHECK_OK_OR_RETURN_ERROR(work.steps(text.size()));
  TK_CHECK_OK_OR_RETURN_ERROR(out.make_room(2 * text.size()));
  append_byte_level(out.text(), text);
  out.replace(text);
  return Error::Ok;
}

template <NormalForm kForm>
Error to_form(std::string& text, Work& work) {
  return to_normal_form(text, kForm, work);
}

/// The rules of SentencePiece's "nmt": removes some control characters, and replaces others, some spaces, marks without
/// width and U+FFFD by ' '.
Error nmt(std::string& text, Work& work) {
  return change_characters(text, work, [](std::string& out, uint32_t c) {
    if ((c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F) {
      return;
    }
    const bool space = c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
                       (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF ||
                       c == 0xFFFD;
    append_character(out, space ? ' ' : c);
  });
}

/// Whether BERT puts spaces around the ideograph. The third-last range begins later than its block, as in BERT's code.
bool is_chinese(uint32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

class BertNormalizer final : public Normalizer {
 public:
  Error load(const JsonValue& json, Work&) {
    TK_CHECK_OK_OR_RETURN_ERROR(json.read("clean_text", clean_, true));
    TK_CHECK_OK_OR_RETURN_ERROR(json.read("handle_chinese_chars", chinese_, true));
    TK_CHECK_OK_OR_RETURN_ERROR(json.read("lowercase", lower_, true));
    return json.read("strip_accents", strip_accents_, lower_);
  }
  Error apply(std::string& text, Work& work) const override {
    TK_CHECK_OK_OR_RETURN_ERROR(change_characters(text, work, [this](std::string& out, uint32_t c) {
      if (clean_) {
        const bool blank = c == '\t' || c == '\n' || c == '\r';
        if (c == 0 || c == 0xFFFD || (!blank && is_other(c))) {
          return;
        }
        c = blank || is_space(c) ? ' ' : c;
      }
      if (chinese_ && is_chinese(c)) {
        out += ' ';
        append_character(out, c);
        out += ' ';
      } else {
        append_character(out, c);
      }
    }));
    if (strip_accents_) {
      TK_CHECK_OK_OR_RETURN_ERROR(to_normal_form(text, NormalForm::kD, work));
      TK_CHECK_OK_OR_RETURN_ERROR(change_characters(text, work, [](std::string& out, uint32_t c) {
        if (!is_nonspacing_mark(c)) {
          append_character(out, c);
        }
      }));
    }
    return lower_ ? lower(text, work) : Error::Ok;
  }

 private:
  bool clean_ = true, chinese_ = true, lower_ = true, strip_accents_ = true;
};

class StripNormalizer final : public Normalizer {
 public:
  Error load(const JsonValue& json, Work&) {
    TK_CHECK_OK_OR_RETURN_ERROR(json.read("strip_left", left_, true));
    return json.read("strip_right", right_, true);
  }
  Error apply(std::string& text, Work& work) const override {
    TK_CHECK_OK_OR_RETURN_ERROR(work.steps(text.size()));
    size_t begin = 0, end = text.size();
    for (size_t at = 0; left_ && at < text.size() && is_space(next_character(text, at));) {
      begin = at;
    }
    while (right_ && end > begin) {
      const size_t start = previous_character(text, end);
      size_t at = start;
      if (!is_space(next_character(text, at))) {
        break;
      }
      end = start;
    }
    text.erase(end);
    text.erase(0, begin);
    return Error::Ok;
  }

 private:
  bool left_ = true, right_ = true;
};

class ReplaceNormalizer final : public Normalizer {
 public:
  Error load(const JsonValue& json, Work& work) {
    TK_CHECK_OK_OR_RETURN_ERROR(pattern_.load(json["pattern"], work));
    return json.read("content", content_);
  }
  Error apply(std::string& text, Work& work) const override { return pattern_.replace(text, content_, work); }

 private:
  Pattern pattern_;
  std::string content_;
};

class PrependNormalizer final : public Normalizer {
 public:
  Error load(const JsonValue& json, Work&) { return json.read("prepend", prepend_); }
  Error apply(std::string& text, Work& work) const override {
    if (text.empty()) {
      return Error::Ok;
    }
    NewText out(work);
    TK_CHECK_OK_OR_RETURN_ERROR(out.make_room(prepend_.size() + text.size()));
    TK_CHECK_OK_OR_RETURN_ERROR(out.append(prepend_));
    TK_CHECK_OK_OR_RETURN_ERROR(out.append(text));
    out.replace(text);
    return Error::Ok;
  }

 private:
  std::string prepend_;
};

class PrecompiledNormalizer final : public Normalizer {
 public:
  Error load(const JsonValue& json, Work&) {
    std::string encoded, bytes;
    TK_CHECK_OK_OR_RETURN_ERROR(json.read("precompiled_charsmap", encoded));
    TK_CHECK_OK_OR_RETURN_ERROR(decode_base64(encoded, bytes));
    return map_.load(bytes);
  }
  Error apply(std::string& text, Work& work) const override { return map_.replace_by_clusters(text, work); }

 private:
  CharacterMap map_;
};

class SequenceNormalizer final : public Normalizer {
 public:
  std::vector<std::unique_ptr<Normalizer>> parts;
  Error apply(std::string& text, Work& work) const override {
    for (const auto& part : parts) {
      TK_CHECK_OK_OR_RETURN_ERROR(work.steps(1));
      TK_CHECK_OK_OR_RETURN_ERROR(part->apply(text, work));
    }
    return Error::Ok;
  }
};

template <typename Kind>
Error make(const JsonValue& json, Work& work, std::unique_ptr<Normalizer>& normalizer) {
  auto made = std::make_unique<Kind>();
  TK_CHECK_OK_OR_RETURN_ERROR(made->load(json, work));
  normalizer = std::move(made);
  return Error::Ok;
}

Error make_nested(const JsonValue& json, int depth, Work& work, std::unique_ptr<Normalizer>& normalizer);

Error make_sequence(const JsonValue& json, int depth, Work& work, std::unique_ptr<Normalizer>& normalizer) {
  if (depth == kDeepestSequence) {
    return fail(Error::LoadFailure, "normalizer: more than %d Sequences are nested in each other", kDeepestSequence);
  }
  JsonValue parts;
  TK_CHECK_OK_OR_RETURN_ERROR(json.read_array("normalizers", parts));
  auto made = std::make_unique<SequenceNormalizer>();
  TK_CHECK_OK_OR_RETURN_ERROR(parts.for_each([&](const JsonValue& part) {
    made->parts.emplace_back();
    return make_nested(part, depth + 1, work, made->parts.back());
  }));
  normalizer = std::move(made);
  return Error::Ok;
}

Error make_nested(const JsonValue& json, int depth, Work& work, std::unique_ptr<Normalizer>& normalizer) {
  std::string kind;
  TK_CHECK_OK_OR_RETURN_ERROR(json.read("type", kind));
  const struct {
    const char* name;
    Error (*change)(std::string&, Work&);
  } functions[] = {
      {"NFC", to_form<NormalForm::kC>},
      {"NFD", to_form<NormalForm::kD>},
      {"NFKC", to_form<NormalForm::kKC>},
      {"NFKD", to_form<NormalForm::kKD>},
      {"Lowercase", lower},
      {"StripAccents", strip_accents},
      {"Nmt", nmt},
      {"ByteLevel", byte_level},
  };
  for (const auto& function : functions) {
    if (kind == function.name) {
      normalizer = std::make_unique<Function>(function.change);
      return Error::Ok;
    }
  }
  const struct {
    const char* name;
    Error (*make)(const JsonValue&, Work&, std::unique_ptr<Normalizer>&);
  } kinds[] = {
      {"BertNormalizer", make<BertNormalizer>},     {"Strip", make<StripNormalizer>},
      {"Replace", make<ReplaceNormalizer>},         {"Prepend", make<PrependNormalizer>},
      {"Precompiled", make<PrecompiledNormalizer>},
  };
  for (const auto& entry : kinds) {
    if (kind == entry.name) {
      return entry.make(json, work, normalizer);
    }
  }
  if (kind == "Sequence") {
    return make_sequence(json, depth, work, normalizer);
  }
  return fail(Error::LoadFailure, "%.100s: the normalizer \"%.100s\" is not supported", json.path().c_str(),
              kind.c_str());
}

}  // namespace

Error make_normalizer(const JsonValue& json, Work& work, std::unique_ptr<Normalizer>& normalizer) {
  normalizer.reset();
  return json ? make_nested(json, 0, work, normalizer) : Error::Ok;
}

}  // namespace tokenizers::detail
