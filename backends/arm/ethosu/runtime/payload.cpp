// SPDX-License-Identifier: BSD-3-Clause
#include "payload.h"

#include <cinttypes>
#include <cstring>

#include <executorch/runtime/core/checked_size.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/platform/log.h>

#include "command_words.h"

namespace executorch {
namespace backends {
namespace ethosu {

using runtime::Error;
using runtime::Result;
using runtime::Span;
using runtime::internal::CheckedSize;

namespace {

constexpr size_t kHead = 32, kName = 16, kAlignment = 16;
constexpr size_t kDimensions = Edge::kDimensions, kEdge = (kDimensions + 3) * 4;
constexpr int32_t kScratch = 1;  // the region of inputs and outputs

/// A block's name, which may fill its field.
bool is_named(const uint8_t* head, const char* name) {
  return std::strncmp(reinterpret_cast<const char*>(head), name, kName) == 0;
}

Error read_edges(const char* name, Span<const uint8_t> block, Edges& edges) {
  const size_t count = block.size() >= 4 ? read_word(block.data()) : 0;
  ET_CHECK_OR_RETURN_ERROR(block.size() >= 4 && count <= block.size() / kEdge && block.size() == 4 + count * kEdge,
                           InvalidProgram, "Ethos-U payload: the block %s has %zu bytes and the count %zu", name,
                           block.size(), count);
  edges = Edges(block.data() + 4, count);
  return Error::Ok;
}

Error check_edges(const char* kind, const Edges& edges, size_t scratch_size) {
  for (size_t i = 0; i < edges.size(); ++i) {
    const Edge edge = edges[i];
    ET_CHECK_OR_RETURN_ERROR(
        edge.region == kScratch && edge.bytes >= 0 && edge.element_size > 0 && edge.offset >= 0 &&
            (CheckedSize(static_cast<uint64_t>(edge.bytes)) + CheckedSize(static_cast<uint64_t>(edge.offset)))
                .at_most(scratch_size),
        InvalidProgram,
        "Ethos-U payload: %s %zu has %" PRId64 " bytes at byte %" PRId64 " of region %" PRId32
        "; expected a part of the %zu bytes of region 1",
        kind, i, edge.bytes, edge.offset, edge.region, scratch_size);
  }
  return Error::Ok;
}

Error check_commands(Payload& payload) {
  ET_CHECK_OR_RETURN_ERROR(payload.commands.size() <= INT32_MAX, InvalidProgram,
                           "Ethos-U payload: the block cmd_data has %zu bytes, which is more than a driver takes",
                           payload.commands.size());
  const auto configure = [&payload](const Configuration& found) -> Error {
    ET_CHECK_OR_RETURN_ERROR(found.name() != 0, InvalidProgram,
                             "Ethos-U payload: its commands are for the unknown product %u",
                             static_cast<unsigned>(found.product));
    payload.npu = found.name();
    payload.macs = found.macs;
    return Error::Ok;
  };
  return visit_commands(Words(payload.commands), configure, [&payload](const CommandWord& command) -> Result<bool> {
    payload.uses_fast_scratch |= chooses_region(command, kFastRegion);
    return !command.is_stop();
  });
}

}  // namespace

Edge Edges::operator[](size_t i) const {
  const uint8_t* const at = data_ + i * kEdge;
  Edge edge = {};
  edge.bytes = static_cast<int32_t>(read_word(at + 4 * kDimensions));
  edge.element_size = edge.bytes;
  edge.offset = static_cast<int32_t>(read_word(at + 4 * (kDimensions + 1)));
  edge.region = static_cast<int32_t>(read_word(at + 4 * (kDimensions + 2)));
  for (size_t k = 0; k < kDimensions; ++k) {
    const auto size = static_cast<int32_t>(read_word(at + 4 * k));
    edge.dimensions[k] = size;
    if (edge.bytes >= 0) {
      edge.bytes *= size;  // both have less than 32 bits
      edge.bytes = size < 0 || edge.bytes > INT32_MAX ? -1 : edge.bytes;
    }
  }
  return edge;
}

uint32_t Cycles::clock() const {
  return read_word(data_.data());
}

uint32_t Cycles::operator[](size_t command) const {
  return command + 1 < data_.size() / 4 ? read_word(data_.data() + 4 * (command + 1)) : 0;
}

Error read_payload(Span<const uint8_t> data, Payload& payload) {
  struct Block {
    const char* name;
    Span<const uint8_t> data = {};
    bool is_optional = false;
    bool is_found = false;
  };
  Block blocks[] = {{"cmd_data"}, {"weight_data"}, {"scratch_size"}, {"inputs"}, {"outputs"}, {"cycles", {}, true}};
  size_t at = 0;
  bool is_first = true, has_ended = false;
  while (!has_ended) {
    ET_CHECK_OR_RETURN_ERROR(data.size() - at >= kHead, InvalidProgram,
                             "Ethos-U payload: it ends at byte %zu without the block vela_end_stream", data.size());
    const uint8_t* const head = data.data() + at;
    const size_t size = read_word(head + kName);
    at += kHead;
    ET_CHECK_OR_RETURN_ERROR(!is_first || is_named(head, "vela_bin_stream"), InvalidProgram,
                             "Ethos-U payload: it does not begin with the block vela_bin_stream");
    ET_CHECK_OR_RETURN_ERROR(size <= data.size() - at, InvalidProgram,
                             "Ethos-U payload: a block of %zu bytes begins at byte %zu of %zu", size, at, data.size());
    is_first = false;
    has_ended = is_named(head, "vela_end_stream");
    for (Block& block : blocks) {
      if (is_named(head, block.name)) {
        ET_CHECK_OR_RETURN_ERROR(!block.is_found, InvalidProgram, "Ethos-U payload: the block %s is there twice",
                                 block.name);
        block.data = {data.data() + at, size};
        block.is_found = true;
      }
    }
    const size_t padded = size + (kAlignment - size % kAlignment) % kAlignment;
    at = padded <= data.size() - at ? at + padded : data.size();
  }
  for (const Block& block : blocks) {
    ET_CHECK_OR_RETURN_ERROR(block.is_found || block.is_optional, InvalidProgram,
                             "Ethos-U payload: the block %s is missing", block.name);
  }
  ET_CHECK_OR_RETURN_ERROR(blocks[2].data.size() == 4, InvalidProgram,
                           "Ethos-U payload: the block scratch_size has %zu bytes, expected 4", blocks[2].data.size());
  payload.commands = blocks[0].data;
  payload.weights = blocks[1].data;
  payload.scratch_size = read_word(blocks[2].data.data());
  ET_CHECK_OK_OR_RETURN_ERROR(read_edges("inputs", blocks[3].data, payload.inputs));
  ET_CHECK_OK_OR_RETURN_ERROR(read_edges("outputs", blocks[4].data, payload.outputs));
  payload.cycles = Cycles(blocks[5].data);
  ET_CHECK_OR_RETURN_ERROR(
      !blocks[5].is_found ||
          (blocks[5].data.size() >= 4 && blocks[5].data.size() % 4 == 0 && payload.cycles.clock() > 0),
      InvalidProgram,
      "Ethos-U payload: the block cycles has %zu bytes or a clock of 0 Hz; expected integers of 4 bytes",
      blocks[5].data.size());
  ET_CHECK_OK_OR_RETURN_ERROR(check_edges("input", payload.inputs, payload.scratch_size));
  ET_CHECK_OK_OR_RETURN_ERROR(check_edges("output", payload.outputs, payload.scratch_size));
  return check_commands(payload);
}

}  // namespace ethosu
}  // namespace backends
}  // namespace executorch
