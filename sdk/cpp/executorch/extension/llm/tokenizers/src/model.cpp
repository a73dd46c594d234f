// SPDX-License-Identifier: BSD-3-Clause
// Makes the models of a tokenizer.json. Implements the two that only look words up: WordPiece and WordLevel.
#include "model.h"

#include <cstdio>

#include "failure.h"
#include "utf8.h"

namespace tokenizers::detail {
namespace {

/// A model with one token for all unknown texts.
class WithUnknown : public Model {
 protected:
  Error load_with_unknown(const JsonValue& json, const char* otherwise) {
    TK_CHECK_OK_OR_RETURN_ERROR(read_vocabulary(json, vocabulary_));
    TK_CHECK_OK_OR_RETURN_ERROR(json.read("unk_token", unknown_name_, otherwise));
    unknown_ = vocabulary_.find(unknown_name_);
    return Error::Ok;
  }
  Error add_unknown(std::string_view word, std::vector<uint64_t>& ids) const {
    if (unknown_ == kNoToken) {
      return fail(Error::EncodeFailure,
                  "\"%.100s\" is not in the vocabulary, and neither is the unknown token \"%.100s\"",
                  std::string(word).c_str(), unknown_name_.c_str());
    }
    ids.push_back(unknown_);
    return Error::Ok;
  }

 private:
  std::string unknown_name_;
  uint32_t unknown_ = kNoToken;
};

/// Whole words.
class WordLevel final : public WithUnknown {
 public:
  Error load(const JsonValue& json) { return load_with_unknown(json, "<unk>"); }
  Error tokenize(std::string_view word, Workspace& workspace, std::vector<uint64_t>& ids) const override {
    TK_CHECK_OK_OR_RETURN_ERROR(workspace.work.steps(1 + word.size()));
    const uint32_t id = vocabulary_.find(word);
    if (id == kNoToken) {
      return add_unknown(word, ids);
    }
    ids.push_back(id);
    return Error::Ok;
  }
};

/// From left to right the longest piece that is in the vocabulary.
class WordPiece final : public WithUnknown {
 public:
  Error load(const JsonValue& json) {
    TK_CHECK_OK_OR_RETURN_ERROR(json.read("continuing_subword_prefix", prefix_, "##"));
    TK_CHECK_OK_OR_RETURN_ERROR(json.read("max_input_chars_per_word", longest_word_, 100));
    return load_with_unknown(json, "[UNK]");
  }
  Error tokenize(std::string_view word, Workspace& workspace, std::vector<uint64_t>& ids) const override {
    Work& work = workspace.work;
    TK_CHECK_OK_OR_RETURN_ERROR(work.steps(1 + word.size()));
    TK_CHECK_OK_OR_RETURN_ERROR(work.take(2 * sizeof(uint64_t) * word.size()));
    size_t characters = 0;
    for (const char c : word) {
      characters += is_continuation(c) ? 0 : 1;
    }
    if (characters > longest_word_) {
      return add_unknown(word, ids);
    }
    const size_t before = ids.size();
    size_t begin = 0;
    while (begin < word.size()) {
      uint32_t id = kNoToken;
      const std::string_view prefix = begin > 0 ? std::string_view(prefix_) : std::string_view();
      // No piece is longer than the longest token.
      size_t end = std::min(word.size(), begin + vocabulary_.longest());
      while (end < word.size() && is_continuation(word[end])) {
        end--;
      }
      for (; end > begin; end = previous_character(word, end)) {
        TK_CHECK_OK_OR_RETURN_ERROR(work.steps(prefix.size() + end - begin));
        workspace.text = prefix;
        workspace.text += word.substr(begin, end - begin);
        id = vocabulary_.find(workspace.text);
        if (id != kNoToken) {
          break;
        }
      }
      if (id == kNoToken) {
        ids.resize(before);
        return add_unknown(word, ids);
      }
      ids.push_back(id);
      begin = end;
    }
    return Error::Ok;
  }

 private:
  std::string prefix_;
  uint64_t longest_word_ = 100;
};

template <typename Kind>
Error make(const JsonValue& json, std::unique_ptr<Model>& model) {
  auto made = std::make_unique<Kind>();
  TK_CHECK_OK_OR_RETURN_ERROR(made->load(json));
  model = std::move(made);
  return Error::Ok;
}

/// Files of old versions do not name the model: its members do.
std::string kind_of(const JsonValue& json) {
  std::string kind;
  if (json["type"]) {
    return json.read("type", kind) == Error::Ok ? kind : "";
  }
  return json["merges"]                     ? "BPE"
         : json["max_input_chars_per_word"] ? "WordPiece"
         : json["vocab"].is_array()         ? "Unigram"
                                            : "WordLevel";
}

}  // namespace

bool Model::piece(uint64_t id, std::string& text) const {
  if (!vocabulary_.contains(id)) {
    return false;
  }
  text = vocabulary_.text(id);
  return true;
}

Error make_word_piece(const JsonValue& json, std::unique_ptr<Model>& model) {
  return make<WordPiece>(json, model);
}
Error make_word_level(const JsonValue& json, std::unique_ptr<Model>& model) {
  return make<WordLevel>(json, model);
}

Error Model::write(CompiledWriter&) const {
  return fail(Error::LoadFailure, "only BPE models have a compiled form: keep the tokenizer.json of this one");
}

Error make_model(const JsonValue& json, bool byte_level, CompiledReader* tables, std::unique_ptr<Model>& model) {
  if (!json.is_object()) {
    return json.expected("an object");
  }
  const std::string kind = kind_of(json);
  if (kind == "BPE") {
    return make_bpe(json, byte_level, tables, model);
  }
  if (tables != nullptr) {
    return tables->damaged("the kind of the model");
  }
  if (kind == "Unigram") {
    return make_unigram(json, model);
  }
  if (kind == "WordPiece") {
    return make_word_piece(json, model);
  }
  if (kind == "WordLevel") {
    return make_word_level(json, model);
  }
  return fail(Error::LoadFailure,
              "the model \"%.100s\" is not supported; supported are BPE, Unigram, WordPiece and WordLevel",
              kind.c_str());
}

Error id_too_large(std::string_view token, uint64_t id, uint64_t largest) {
  return fail(Error::ParseFailure, "model.vocab gives \"%.100s\" the id %llu, at most %llu is supported",
              std::string(token).c_str(), static_cast<unsigned long long>(id),
              static_cast<unsigned long long>(largest));
}

Error add_token(Vocabulary& vocabulary, std::string_view token, uint64_t id) {
  if (vocabulary.add(token, id)) {
    return Error::Ok;
  }
  return id > kLargestToken
             ? id_too_large(token, id, kLargestToken)
             : fail(Error::ParseFailure, "model.vocab gives \"%.100s\" the id %llu, which another token has",
                    std::string(token).c_str(), static_cast<unsigned long long>(id));
}

Error read_vocabulary(const JsonValue& model, Vocabulary& vocabulary) {
  return for_each_token(model, [&](std::string_view token, uint64_t id) { return add_token(vocabulary, token, id); });
}

std::vector<uint32_t> byte_tokens(const Vocabulary& vocabulary) {
  std::vector<uint32_t> tokens(256);
  for (unsigned byte = 0; byte < tokens.size(); byte++) {
    char name[8];
    std::snprintf(name, sizeof(name), "<0x%02X>", byte);
    tokens[byte] = vocabulary.find(name);
  }
  return tokens;
}

}  // namespace tokenizers::detail
