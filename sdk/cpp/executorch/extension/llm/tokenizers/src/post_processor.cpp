// SPDX-License-Identifier: BSD-3-Clause
#include "post_processor.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "failure.h"
#include "normalizer.h"
#include "vocabulary.h"

namespace tokenizers::detail {
namespace {

Error read_id(const JsonValue& json, uint64_t& id) {
  id = yyjson_get_uint(json.get());
  return yyjson_is_uint(json.get()) && id <= kLargestToken ? Error::Ok : json.expected("an id of a token");
}

/// BertProcessing and RobertaProcessing: "cls" and "sep" are [token, id].
Error make_pair(const JsonValue& json, PostProcessor& made) {
  uint64_t id = 0;
  TK_CHECK_OK_OR_RETURN_ERROR(read_id(json["cls"].at(1), id));
  made.before.push_back(id);
  TK_CHECK_OK_OR_RETURN_ERROR(read_id(json["sep"].at(1), id));
  made.after.push_back(id);
  return Error::Ok;
}

Error append(const std::vector<uint64_t>& ids, Work& work, std::vector<uint64_t>& into) {
  TK_CHECK_OK_OR_RETURN_ERROR(work.steps(ids.size()));
  TK_CHECK_OK_OR_RETURN_ERROR(work.take(2 * sizeof(uint64_t) * ids.size()));
  into.insert(into.end(), ids.begin(), ids.end());
  return Error::Ok;
}

/// The values of an object by their names: looking up each name in yyjson takes time that grows with their number.
std::unordered_map<std::string_view, yyjson_val*> members(const JsonValue& json) {
  std::unordered_map<std::string_view, yyjson_val*> found;
  yyjson_obj_iter iterator = yyjson_obj_iter_with(json.get());
  while (yyjson_val* key = yyjson_obj_iter_next(&iterator)) {
    found.emplace(json_text(key), yyjson_obj_iter_get_val(key));
  }
  return found;
}

Error make_template(const JsonValue& json, Work& work, PostProcessor& made) {
  JsonValue parts;
  TK_CHECK_OK_OR_RETURN_ERROR(json.read_array("single", parts));
  const JsonValue tokens = json["special_tokens"];
  const auto by_name = members(tokens);
  std::unordered_map<std::string, std::vector<uint64_t>> ids_of;
  bool has_sequence = false;
  TK_CHECK_OK_OR_RETURN_ERROR(parts.for_each([&](const JsonValue& part) {
    if (part["Sequence"]) {
      return std::exchange(has_sequence, true)
                 ? part.expected("a special token: the sequence is in the template already")
                 : Error::Ok;
    }
    std::string name;
    TK_CHECK_OK_OR_RETURN_ERROR(part["SpecialToken"].read("id", name));
    const auto [known, is_new] = ids_of.try_emplace(std::move(name));
    std::vector<uint64_t>& ids = known->second;
    if (is_new) {
      const auto found = by_name.find(known->first);
      const JsonValue token(found == by_name.end() ? nullptr : found->second, tokens.path() + "." + known->first);
      JsonValue array;
      TK_CHECK_OK_OR_RETURN_ERROR(token.read_array("ids", array));
      TK_CHECK_OK_OR_RETURN_ERROR(array.for_each([&](const JsonValue& id) {
        ids.push_back(0);
        return read_id(id, ids.back());
      }));
    }
    // A template may repeat a token.
    return append(ids, work, has_sequence ? made.after : made.before);
  }));
  return has_sequence ? Error::Ok : parts.expected("a template with {\"Sequence\": ...}");
}

Error make_nested(const JsonValue& json, int depth, Work& work, PostProcessor& made) {
  std::string kind;
  TK_CHECK_OK_OR_RETURN_ERROR(json.read("type", kind));
  if (kind == "TemplateProcessing") {
    return make_template(json, work, made);
  }
  if (kind == "BertProcessing" || kind == "RobertaProcessing") {
    return make_pair(json, made);
  }
  if (kind == "ByteLevel") {
    return Error::Ok;  // it changes offsets only
  }
  if (kind != "Sequence") {
    return fail(Error::LoadFailure, "%.100s: the post-processor \"%.100s\" is not supported", json.path().c_str(),
                kind.c_str());
  }
  if (depth == kDeepestSequence) {
    return fail(Error::LoadFailure, "post_processor: more than %d Sequences are nested in each other",
                kDeepestSequence);
  }
  JsonValue parts;
  TK_CHECK_OK_OR_RETURN_ERROR(json.read_array("processors", parts));
  return parts.for_each([&](const JsonValue& part) {
    PostProcessor outer;
    TK_CHECK_OK_OR_RETURN_ERROR(make_nested(part, depth + 1, work, outer));
    // A later post-processor adds its tokens outside of those added before.
    TK_CHECK_OK_OR_RETURN_ERROR(append(made.before, work, outer.before));
    made.before = std::move(outer.before);
    return append(outer.after, work, made.after);
  });
}

}  // namespace

Error make_post_processor(const JsonValue& json, Work& work, PostProcessor& post_processor) {
  post_processor = {};
  return json ? make_nested(json, 0, work, post_processor) : Error::Ok;
}

}  // namespace tokenizers::detail
