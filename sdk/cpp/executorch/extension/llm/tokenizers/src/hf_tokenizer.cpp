// SPDX-License-Identifier: BSD-3-Clause
#include <pytorch/tokenizers/hf_tokenizer.h>

#include <sys/stat.h>
#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "added_tokens.h"
#include "compiled.h"
#include "decoder.h"
#include "failure.h"
#include "guarded.h"
#include "model.h"
#include "normalizer.h"
#include "post_processor.h"
#include "pre_tokenizer.h"
#include "utf8.h"
#include "work.h"

namespace tokenizers {

using detail::AddedTokens;
using detail::fail;
using detail::JsonValue;

struct HFTokenizer::State {
  std::unique_ptr<detail::Normalizer> normalizer;
  std::unique_ptr<detail::PreTokenizer> pre_tokenizer;
  std::unique_ptr<detail::Model> model;
  std::unique_ptr<detail::Decoder> decoder;
  detail::PostProcessor post_processor;
  AddedTokens added;
  std::optional<uint64_t> bos, eos;
  size_t size = 0;
  std::shared_ptr<const void> owner;  // owns the memory of compiled tables

  /// `tables`: as for make_model().
  Error load(const JsonValue& json, detail::CompiledReader* tables, detail::Work& work);
  Error name_ends(const JsonValue& config);
  bool piece(uint64_t id, std::string& text) const;
  std::optional<uint64_t> find(std::string_view piece) const;
  /// Compares the name, because a vocabulary may have a special token under a second id.
  bool is_special(std::string_view piece) const {
    const AddedTokens::Token* token = added.find(piece);
    return token != nullptr && token->special;
  }
  Error encode(std::string_view text, std::vector<uint64_t>& ids) const;
  Error encode_part(std::string_view text, bool at_start, detail::Workspace& workspace,
                    std::vector<uint64_t>& ids) const;
  Error encode_words(std::string_view text, bool at_start, detail::Workspace& workspace,
                     std::vector<uint64_t>& ids) const;
};

Error HFTokenizer::State::load(const JsonValue& json, detail::CompiledReader* tables, detail::Work& work) {
  if (!json.is_object()) {
    return json.expected("an object");
  }
  TK_CHECK_OK_OR_RETURN_ERROR(make_normalizer(json["normalizer"], work, normalizer));
  TK_CHECK_OK_OR_RETURN_ERROR(make_pre_tokenizer(json["pre_tokenizer"], work, pre_tokenizer));
  const bool byte_level = pre_tokenizer && pre_tokenizer->is_byte_level();
  TK_CHECK_OK_OR_RETURN_ERROR(make_model(json["model"], byte_level, tables, model));
  if (model->takes_bytes()) {
    pre_tokenizer->keep_bytes();
  }
  TK_CHECK_OK_OR_RETURN_ERROR(make_post_processor(json["post_processor"], work, post_processor));
  TK_CHECK_OK_OR_RETURN_ERROR(make_decoder(json["decoder"], work, decoder));
  TK_CHECK_OK_OR_RETURN_ERROR(added.load(json["added_tokens"], normalizer.get(), work));
  size = model->size();
  for (const AddedTokens::Token& token : added.all()) {
    size = std::max<size_t>(size, token.id + 1);
  }
  for (const auto* ids : {&post_processor.before, &post_processor.after}) {
    for (const uint64_t id : *ids) {
      std::string text;
      if (!piece(id, text)) {
        return fail(Error::ParseFailure, "post_processor adds the token %llu, which the vocabulary does not have",
                    static_cast<unsigned long long>(id));
      }
    }
  }
  return Error::Ok;
}

/// Finds the tokens that begin and end a sequence: those of tokenizer_config.json, or else those that the
/// post-processor adds, or else those with the names that models use.
Error HFTokenizer::State::name_ends(const JsonValue& config) {
  const auto named = [&](const char* key, std::optional<uint64_t>& id) {
    const JsonValue entry = config[key];
    const JsonValue content = entry.is_object() ? entry["content"] : entry;
    if (!content.is_string()) {
      return !entry ? Error::Ok : entry.expected("a token");
    }
    id = find(detail::json_text(content.get()));
    return id ? Error::Ok
              : fail(Error::ParseFailure, "tokenizer_config.json: %s is \"%.100s\", which is not a token", key,
                     std::string(detail::json_text(content.get())).c_str());
  };
  TK_CHECK_OK_OR_RETURN_ERROR(named("bos_token", bos));
  TK_CHECK_OK_OR_RETURN_ERROR(named("eos_token", eos));
  if (!bos && !post_processor.before.empty() && !config["bos_token"].get()) {
    bos = post_processor.before.front();
  }
  if (!eos && !post_processor.after.empty() && !config["eos_token"].get()) {
    eos = post_processor.after.back();
  }
  const auto common = [&](std::initializer_list<const char*> names, std::optional<uint64_t>& id) {
    for (const char* name : names) {
      const AddedTokens::Token* token = id ? nullptr : added.find(name);
      if (token != nullptr && token->special) {
        id = token->id;
      }
    }
  };
  if (!config["bos_token"].get()) {
    common({"<|begin_of_text|>", "<s>", "<bos>", "<|startoftext|>", "<｜begin▁of▁sentence｜>"}, bos);
  }
  if (!config["eos_token"].get()) {
    common({"<|end_of_text|>", "</s>", "<eos>", "<|endoftext|>", "<｜end▁of▁sentence｜>", "<|im_end|>"}, eos);
  }
  return Error::Ok;
}

bool HFTokenizer::State::piece(uint64_t id, std::string& text) const {
  if (const AddedTokens::Token* token = added.find(id)) {
    text = token->text;
    return true;
  }
  return model->piece(id, text);
}

std::optional<uint64_t> HFTokenizer::State::find(std::string_view piece) const {
  if (const AddedTokens::Token* token = added.find(piece)) {
    return token->id;
  }
  const uint32_t id = model->find(piece);
  return id == detail::kNoToken ? std::nullopt : std::optional<uint64_t>(id);
}

Error HFTokenizer::State::encode(std::string_view text, std::vector<uint64_t>& ids) const {
  TK_CHECK_OK_OR_RETURN_ERROR(detail::check_text(text));
  detail::Work work(detail::Work::Kind::kEncode, text.size());
  detail::Workspace workspace(work);
  return added.split(
      text, false, work,
      [&](size_t begin, size_t end) {
        const std::string_view part = text.substr(begin, end - begin);
        if (!normalizer && !added.has_normalized()) {
          return encode_words(part, begin == 0, workspace, ids);
        }
        return encode_part(part, begin == 0, workspace, ids);
      },
      [&](uint64_t id) { ids.push_back(id); });
}

Error HFTokenizer::State::encode_part(std::string_view text, bool at_start, detail::Workspace& workspace,
                                      std::vector<uint64_t>& ids) const {
  detail::NewText copy(workspace.work);
  TK_CHECK_OK_OR_RETURN_ERROR(copy.append(text));
  std::string& normal = copy.text();
  if (normalizer) {
    TK_CHECK_OK_OR_RETURN_ERROR(normalizer->apply(normal, workspace.work));
  }
  return added.split(
      normal, true, workspace.work,
      [&](size_t begin, size_t end) {
        const std::string_view words = std::string_view(normal).substr(begin, end - begin);
        return encode_words(words, at_start && begin == 0, workspace, ids);
      },
      [&](uint64_t id) { ids.push_back(id); });
}

Error HFTokenizer::State::encode_words(std::string_view text, bool at_start, detail::Workspace& workspace,
                                       std::vector<uint64_t>& ids) const {
  if (!pre_tokenizer) {
    return model->tokenize(text, workspace, ids);
  }
  TK_CHECK_OK_OR_RETURN_ERROR(workspace.work.take(sizeof(detail::Range)));
  detail::PieceList list(text, workspace.work);
  list.at_start = at_start;
  TK_CHECK_OK_OR_RETURN_ERROR(pre_tokenizer->apply(list));
  ids.reserve(ids.size() + list.pieces.size() + list.pieces.size() / 4);
  for (const detail::Range& range : list.pieces) {
    if (range.begin < range.end) {
      TK_CHECK_OK_OR_RETURN_ERROR(model->tokenize(list.piece(range), workspace, ids));
    }
  }
  return Error::Ok;
}

HFTokenizer::HFTokenizer() = default;
HFTokenizer::~HFTokenizer() = default;

Error HFTokenizer::load(const std::string& tokenizer_path) {
  return detail::guarded([&] {
    std::string path = tokenizer_path, bytes, config;
    const auto is = [](const std::string& name, unsigned kind) {
      struct stat found{};
      return stat(name.c_str(), &found) == 0 && (found.st_mode & S_IFMT) == kind;
    };
    if (is(path, S_IFDIR)) {
      path += "/tokenizer.json";
    }
    TK_CHECK_OK_OR_RETURN_ERROR(detail::read_file(path, bytes));
    const size_t slash = path.rfind('/');
    const std::string beside = (slash == std::string::npos ? "" : path.substr(0, slash + 1)) + "tokenizer_config.json";
    if (is(beside, S_IFREG)) {
      TK_CHECK_OK_OR_RETURN_ERROR(detail::read_file(beside, config));
    }
    return load_from_buffer(bytes, config);
  });
}

Error HFTokenizer::load_from_buffer(std::string_view bytes) {
  return load_from_buffer(bytes, {});
}

Error HFTokenizer::load_from_buffer(std::string_view bytes, std::string_view tokenizer_config_json) {
  return detail::guarded([&] {
    if (!detail::is_compiled(bytes)) {
      return load_parts(bytes, tokenizer_config_json, nullptr, nullptr);
    }
    // Aligned to eight bytes, because the tables are used in place.
    auto copy = std::make_shared<std::vector<uint64_t>>((bytes.size() + 7) / 8);
    std::memcpy(copy->data(), bytes.data(), bytes.size());
    return load_compiled({reinterpret_cast<const char*>(copy->data()), bytes.size()}, copy);
  });
}

Error HFTokenizer::load_compiled(std::string_view bytes, std::shared_ptr<const void> owner) {
  return detail::guarded([&] {
    detail::CompiledReader reader;
    std::string_view json, config;
    TK_CHECK_OK_OR_RETURN_ERROR(reader.open(bytes));
    TK_CHECK_OK_OR_RETURN_ERROR(reader.next(json));
    TK_CHECK_OK_OR_RETURN_ERROR(reader.next(config));
    return load_parts(json, config, &reader, std::move(owner));
  });
}

Error HFTokenizer::load_parts(std::string_view json, std::string_view config_json, detail::CompiledReader* tables,
                              std::shared_ptr<const void> owner) {
  auto made = std::make_unique<State>();
  detail::Work work(detail::Work::Kind::kLoad, json.size());
  detail::JsonDocument document, config;
  TK_CHECK_OK_OR_RETURN_ERROR(document.parse(json, "the tokenizer"));
  TK_CHECK_OK_OR_RETURN_ERROR(made->load(document.root(), tables, work));
  if (!config_json.empty()) {
    TK_CHECK_OK_OR_RETURN_ERROR(config.parse(config_json, "tokenizer_config.json"));
  }
  TK_CHECK_OK_OR_RETURN_ERROR(made->name_ends(config.root()));
  made->owner = std::move(owner);
  state_ = std::move(made);
  vocab_size_ = static_cast<int32_t>(state_->size);
  bos_tok_ = state_->bos.value_or(0);
  eos_tok_ = state_->eos.value_or(0);
  initialized_ = true;
  return Error::Ok;
}

Result<std::string> HFTokenizer::compile(std::string_view settings_json, std::string_view config_json) const {
  return detail::guarded([&]() -> Result<std::string> {
    TK_CHECK_OK_OR_RETURN_ERROR(check_loaded());
    detail::CompiledWriter writer;
    writer.add(settings_json);
    writer.add(config_json);
    TK_CHECK_OK_OR_RETURN_ERROR(state_->model->write(writer));
    std::string bytes = writer.bytes();
    HFTokenizer again;
    TK_CHECK_OK_OR_RETURN_ERROR(again.load_from_buffer(bytes));
    return bytes;
  });
}

std::optional<uint64_t> HFTokenizer::bos_id() const {
  return state_ ? state_->bos : std::nullopt;
}
std::optional<uint64_t> HFTokenizer::eos_id() const {
  return state_ ? state_->eos : std::nullopt;
}

Result<std::string> HFTokenizer::id_to_piece(uint64_t token) const {
  return detail::guarded([&]() -> Result<std::string> {
    TK_CHECK_OK_OR_RETURN_ERROR(check_loaded());
    std::string text;
    return state_->piece(token, text) ? Result<std::string>(std::move(text)) : no_such_token(token);
  });
}

Result<uint64_t> HFTokenizer::piece_to_id(const std::string& text) const {
  return detail::guarded([&]() -> Result<uint64_t> {
    TK_CHECK_OK_OR_RETURN_ERROR(check_loaded());
    const std::optional<uint64_t> id = state_->find(text);
    return id ? Result<uint64_t>(*id) : fail(Error::OutOfRange, "there is no token \"%.100s\"", text.c_str());
  });
}

Result<std::vector<uint64_t>> HFTokenizer::encode(const std::string& input, int8_t bos, int8_t eos) const {
  return detail::guarded([&]() -> Result<std::vector<uint64_t>> {
    TK_CHECK_OK_OR_RETURN_ERROR(check_loaded());
    std::vector<uint64_t> ids;
    if (state_->bos && bos > 0) {
      ids.assign(static_cast<size_t>(bos), *state_->bos);
    }
    TK_CHECK_OK_OR_RETURN_ERROR(state_->encode(input, ids));
    if (state_->eos && eos > 0) {
      ids.insert(ids.end(), static_cast<size_t>(eos), *state_->eos);
    }
    return ids;
  });
}

Result<std::vector<uint64_t>> HFTokenizer::encode_with_post_processor(const std::string& input,
                                                                      bool add_special_tokens) const {
  return detail::guarded([&]() -> Result<std::vector<uint64_t>> {
    TK_CHECK_OK_OR_RETURN_ERROR(check_loaded());
    std::vector<uint64_t> ids;
    if (add_special_tokens) {
      ids = state_->post_processor.before;
    }
    TK_CHECK_OK_OR_RETURN_ERROR(state_->encode(input, ids));
    if (add_special_tokens) {
      ids.insert(ids.end(), state_->post_processor.after.begin(), state_->post_processor.after.end());
    }
    return ids;
  });
}

Result<std::string> HFTokenizer::decode(uint64_t prev_token, uint64_t token, bool skip_special_tokens) const {
  return detail::guarded([&]() -> Result<std::string> {
    TK_CHECK_OK_OR_RETURN_ERROR(check_loaded());
    std::string text;
    if (!state_->piece(token, text)) {
      return no_such_token(token);
    }
    if (skip_special_tokens && state_->is_special(text)) {
      return std::string();
    }
    if (state_->decoder) {
      const bool is_first = prev_token == kBeginning || (state_->bos && prev_token == *state_->bos);
      detail::Work work(detail::Work::Kind::kDecode, 1);
      TK_CHECK_OK_OR_RETURN_ERROR(work.take(detail::heap_bytes(text)));
      TK_CHECK_OK_OR_RETURN_ERROR(state_->decoder->apply_to_one(text, is_first, work));
    }
    return text;
  });
}

Result<std::string> HFTokenizer::decode(const std::vector<uint64_t>& tokens, bool skip_special_tokens) const {
  return detail::guarded([&]() -> Result<std::string> {
    TK_CHECK_OK_OR_RETURN_ERROR(check_loaded());
    detail::Work work(detail::Work::Kind::kDecode, tokens.size());
    std::vector<std::string> pieces;
    pieces.reserve(tokens.size());
    for (const uint64_t token : tokens) {
      std::string piece;
      if (!state_->piece(token, piece)) {
        return no_such_token(token);
      }
      TK_CHECK_OK_OR_RETURN_ERROR(work.take(sizeof(std::string) + detail::heap_bytes(piece)));
      if (!skip_special_tokens || !state_->is_special(piece)) {
        pieces.push_back(std::move(piece));
      }
    }
    if (state_->decoder) {
      TK_CHECK_OK_OR_RETURN_ERROR(state_->decoder->apply(pieces, work));
    }
    detail::NewText text(work);
    for (const std::string& piece : pieces) {
      TK_CHECK_OK_OR_RETURN_ERROR(text.append(state_->decoder || &piece == pieces.data() ? "" : " "));
      TK_CHECK_OK_OR_RETURN_ERROR(text.append(piece));
    }
    return std::move(text.text());
  });
}

}  // namespace tokenizers
