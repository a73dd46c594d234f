// SPDX-License-Identifier: BSD-3-Clause
// Nodes with a filter, and nodes on images: convolutions, linear layers, pooling and resizing.
#include <algorithm>

#include "graph/node_reader.h"
#include "private/internals.h"
#include "steps/dilated_step.h"
#include "steps/shallow_step.h"
#include "steps/wide_depthwise_step.h"
#include "steps/winograd_step.h"

namespace executorch {
namespace backends {
namespace xnnpack {

void NodeReader::note_paddings(const Window& window) {
  constexpr size_t kLeast = size_t{1} << 23;
  builder_.may_fuse_ &= std::max(window.padding_top, window.padding_right) < kLeast;
}

runtime::Error NodeReader::read_bias(uint32_t id, CheckedSize channels, Use use, uint32_t* bias) {
  *bias = XNN_INVALID_VALUE_ID;
  if (id == XNN_INVALID_VALUE_ID) {
    return Error::Ok;
  }
  const Value* value = input(id, use);
  if (value == nullptr) {
    return error_;
  }
  if (value->data == nullptr || value->dims.size() != 1 || !channels.good() || value->dims[0] != channels.value()) {
    return malformed("its bias must be constant and hold a number for each output channel");
  }
  *bias = value->id;
  return Error::Ok;
}

runtime::Error NodeReader::read_linear() {
  const auto& table = content<fb_xnnpack::XNNFullyConnected>();
  const Value* in = input(table.input1_id());
  const Value* filter = in == nullptr ? nullptr : input(table.filter_id(), Use::Packs);
  const Value* out = filter == nullptr ? nullptr : output(table.output_id());
  if (out == nullptr) {
    return error_;
  }
  ET_CHECK_OK_OR_RETURN_ERROR(check_flags(table.flags()));
  const bool transposed = (table.flags() & XNN_FLAG_TRANSPOSE_WEIGHTS) != 0;
  const bool flatten = (table.flags() & XNN_FLAG_TENSORFLOW_RESHAPE_2D) != 0;
  if (filter->dims.size() != 2) {
    return malformed("its filter must be a matrix");
  }
  uint32_t bias = XNN_INVALID_VALUE_ID;
  ET_CHECK_OK_OR_RETURN_ERROR(read_bias(table.bias_id(), filter->dims[transposed ? 1 : 0],
                                        filter->data != nullptr ? Use::Packs : Use::Computes, &bias));
  const size_t from = in->index;
  const size_t by = filter->index;
  return finish(xnn_define_fully_connected(subgraph_, min_, max_, in->id, filter->id, bias, out->id, table.flags()),
                out, [from, by, transposed, flatten](const auto& shapes) -> OptionalShape {
                  const Shape& weights = shapes[by];
                  Shape shape = shapes[from];
                  if (weights.size() != 2) {
                    return std::nullopt;
                  }
                  const size_t inputs = weights[transposed ? 0 : 1];
                  const size_t outputs = weights[transposed ? 1 : 0];
                  if (flatten) {
                    const size_t count = element_count(shape);
                    if (inputs == 0 || count % inputs != 0) {
                      return std::nullopt;
                    }
                    return Shape{count / inputs, outputs};
                  }
                  if (shape.empty() || shape.back() != inputs) {
                    return std::nullopt;
                  }
                  shape.back() = outputs;
                  return shape;
                });
}

std::unique_ptr<Step> NodeReader::convolution_step(const Convolution& convolution, const Value& in, const Value& filter,
                                                   uint32_t bias, const Value& out, bool depthwise) const {
  if (depthwise) {
    return are_floats(subgraph_, {in.id, filter.id, bias, out.id}) ? WideDepthwiseStep::make(convolution, in.dims)
                                                                   : nullptr;
  }
  if (are_floats(subgraph_, {in.id, filter.id, bias, out.id})) {
    if (auto step = WinogradStep::make(convolution, in.dims, builder_.filter_bytes_)) {
      // Filters that are small beside the image are kept without regard to the limit.
      builder_.filter_bytes_ -= step->added_bytes() <= builder_.filter_bytes_ ? step->added_bytes() : 0;
      return step;
    }
    if (auto step = DilatedStep::make(convolution, in.dims)) {
      return step;
    }
    return ShallowStep::make(convolution, nullptr, in.dims);
  }
  const auto scales = convolution_scales(subgraph_, in.id, filter.id, bias, out.id);
  return scales ? ShallowStep::make(convolution, &*scales, in.dims) : nullptr;
}

runtime::Error NodeReader::read_convolution(XNodeUnion type) {
  const auto& table = content<fb_xnnpack::_XNNNodeConv>();
  const Value* in = input(table.input1_id());
  const Value* filter = in == nullptr ? nullptr : input(table.filter_id(), Use::Packs);
  const Value* out = filter == nullptr ? nullptr : output(table.output_id());
  if (out == nullptr) {
    return error_;
  }
  const bool depthwise = type == XNodeUnion::XNNDepthwiseConv2d;
  const bool transposed = type == XNodeUnion::XNNConvTranspose2d;
  const uint32_t flags = table.flags() & ~(depthwise ? XNN_FLAG_DEPTHWISE_CONVOLUTION : 0u);
  ET_CHECK_OK_OR_RETURN_ERROR(check_flags(flags));
  const Window window{table.padding_top(),
                      table.padding_right(),
                      table.padding_bottom(),
                      table.padding_left(),
                      table.kernel_height(),
                      table.kernel_width(),
                      table.subsampling_height(),
                      table.subsampling_width(),
                      table.dilation_height(),
                      table.dilation_width(),
                      (flags & XNN_FLAG_TENSORFLOW_SAME_PADDING) != 0};
  note_paddings(window);
  const size_t group_in = table.group_input_channels();
  const size_t group_out = table.group_output_channels();
  const size_t groups = table.groups();
  const CheckedSize in_channels = CheckedSize(groups) * group_in;
  const CheckedSize out_channels = CheckedSize(groups) * group_out;
  const CheckedSize outs_of_filter = depthwise ? CheckedSize(1) : out_channels;
  const CheckedSize ins_of_filter = depthwise ? out_channels : CheckedSize(group_in);
  const Shape& dims = filter->dims;
  if (groups == 0 || group_in == 0 || group_out == 0 || (depthwise && group_in != 1) ||
      !in_channels.at_most(UINT32_MAX) || !out_channels.at_most(UINT32_MAX)) {
    return malformed("its numbers of groups and channels contradict each other");
  }
  if (filter->data == nullptr || dims.size() != 4 || dims[0] != outs_of_filter.value() || dims[1] != window.height ||
      dims[2] != window.width || dims[3] != ins_of_filter.value()) {
    return malformed("its filter must be constant, of the shape that its channels and its window imply");
  }
  if (filter->datatype == xnn_datatype_fp16) {
    // XNNPACK expects float32 filters in float16 models and does not check the type.
    return malformed("its filter must be float32 or int8, not float16");
  }
  uint32_t bias = XNN_INVALID_VALUE_ID;
  ET_CHECK_OK_OR_RETURN_ERROR(read_bias(table.bias_id(), out_channels, Use::Packs, &bias));
  const size_t adjust_height = table.adjustment_height();
  const size_t adjust_width = table.adjustment_width();
  xnn_status status = xnn_status_invalid_parameter;
  if (transposed) {
    status = xnn_define_deconvolution_2d(
        subgraph_, table.padding_top(), table.padding_right(), table.padding_bottom(), table.padding_left(),
        table.adjustment_height(), table.adjustment_width(), table.kernel_height(), table.kernel_width(),
        table.subsampling_height(), table.subsampling_width(), table.dilation_height(), table.dilation_width(),
        table.groups(), group_in, group_out, min_, max_, in->id, filter->id, bias, out->id, flags);
  } else if (auto step = flags == 0 && (depthwise || groups == 1)
                             ? convolution_step({window, groups * group_in, groups * group_out, min_, max_}, *in,
                                                *filter, bias, *out, depthwise)
                             : nullptr) {
    const uint32_t ids[] = {in->id, filter->id, bias};
    status = define_step(subgraph_, *step, ids, bias == XNN_INVALID_VALUE_ID ? 2 : 3, in->dims.size(),
                         {out->id, XNN_INVALID_VALUE_ID}, out->dims.size());
    builder_.steps_.push_back(std::move(step));
  } else if (depthwise) {
    status = xnn_define_depthwise_convolution_2d(
        subgraph_, table.padding_top(), table.padding_right(), table.padding_bottom(), table.padding_left(),
        table.kernel_height(), table.kernel_width(), table.subsampling_height(), table.subsampling_width(),
        table.dilation_height(), table.dilation_width(), table.group_output_channels(), groups, min_, max_, in->id,
        filter->id, bias, out->id, flags);
  } else {
    status = xnn_define_convolution_2d(subgraph_, table.padding_top(), table.padding_right(), table.padding_bottom(),
                                       table.padding_left(), table.kernel_height(), table.kernel_width(),
                                       table.subsampling_height(), table.subsampling_width(), table.dilation_height(),
                                       table.dilation_width(), table.groups(), group_in, group_out, min_, max_, in->id,
                                       filter->id, bias, out->id, flags);
  }
  const size_t from = in->index;
  const auto wanted = static_cast<size_t>(in_channels.value());
  const auto channels = static_cast<size_t>(out_channels.value());
  return finish(status, out, [=](const auto& shapes) -> OptionalShape {
    const Shape& image = shapes[from];
    if (image.size() != 4 || image[3] != wanted) {
      return std::nullopt;
    }
    if (image[0] > 0 && image[1] * image[2] == 0) {
      return std::nullopt;  // like PyTorch, which rejects images without pixels even if padding adds some
    }
    return transposed ? upsampled_shape(image, window, adjust_height, adjust_width, channels)
                      : window_shape(image, window, channels);
  });
}

runtime::Error NodeReader::read_pool(XNodeUnion type) {
  const auto& table = content<fb_xnnpack::_XNNPooling2D>();
  const auto found = operands(table.input_id(), table.output_id());
  if (!found) {
    return error_;
  }
  const auto [in, out] = *found;
  ET_CHECK_OK_OR_RETURN_ERROR(check_flags(table.flags()));
  const bool average = type == XNodeUnion::XNNAvgPooling2d;
  const Window window{table.padding_top(),
                      table.padding_right(),
                      table.padding_bottom(),
                      table.padding_left(),
                      table.pooling_height(),
                      table.pooling_width(),
                      table.stride_height(),
                      table.stride_width(),
                      average ? 1 : table.dilation_height(),
                      average ? 1 : table.dilation_width(),
                      (table.flags() & XNN_FLAG_TENSORFLOW_SAME_PADDING) != 0};
  note_paddings(window);
  const xnn_status status =
      average ? xnn_define_average_pooling_2d(subgraph_, table.padding_top(), table.padding_right(),
                                              table.padding_bottom(), table.padding_left(), table.pooling_height(),
                                              table.pooling_width(), table.stride_height(), table.stride_width(), min_,
                                              max_, in->id, out->id, table.flags())
              : xnn_define_max_pooling_2d(subgraph_, table.padding_top(), table.padding_right(), table.padding_bottom(),
                                          table.padding_left(), table.pooling_height(), table.pooling_width(),
                                          table.stride_height(), table.stride_width(), table.dilation_height(),
                                          table.dilation_width(), min_, max_, in->id, out->id, table.flags());
  const size_t from = in->index;
  return finish(status, out, [from, window](const auto& shapes) -> OptionalShape {
    return shapes[from].size() == 4 ? window_shape(shapes[from], window, shapes[from][3]) : std::nullopt;
  });
}

runtime::Error NodeReader::read_mean() {
  const auto& table = content<fb_xnnpack::_XNNNode1x1>();
  const auto found = operands(table.input_id(), table.output_id());
  if (!found) {
    return error_;
  }
  const auto [in, out] = *found;
  ET_CHECK_OK_OR_RETURN_ERROR(check_flags(table.flags()));
  if (in->dims.size() != 4) {
    return malformed("it needs four dimensions");
  }
  const bool keep = out->dims.size() == 4;
  const int64_t axes[] = {1, 2};
  const xnn_status status = xnn_define_static_reduce_v2(subgraph_, xnn_reduce_mean, 2, axes, in->id, out->id,
                                                        table.flags() | (keep ? XNN_FLAG_KEEP_DIMS : 0u));
  const size_t from = in->index;
  const bool keeps = keep || (table.flags() & XNN_FLAG_KEEP_DIMS) != 0;
  return finish(status, out, [from, keeps](const auto& shapes) -> OptionalShape {
    const Shape& image = shapes[from];
    return keeps ? Shape{image[0], 1, 1, image[3]} : Shape{image[0], image[3]};
  });
}

runtime::Error NodeReader::read_resize() {
  const auto& table = content<fb_xnnpack::XNNStaticResizeBilinear2D>();
  const size_t height = table.new_height();
  const size_t width = table.new_width();
  // In these modes XNNPACK multiplies a position by the ratio of the sizes in float32 and does not clamp the product:
  // with sizes above 2^23 it can be rounded to a row after the last one.
  constexpr size_t kRounded = size_t{1} << 22;
  const bool clamps = (table.flags() & (XNN_FLAG_ALIGN_CORNERS | XNN_FLAG_TENSORFLOW_LEGACY_MODE)) == 0;
  return read_with_lists(
      table, {},
      [&](uint32_t in, uint32_t out) {
        return xnn_define_static_resize_bilinear_2d(subgraph_, height, width, in, out, table.flags());
      },
      [height, width, clamps](const Shape& shape) -> OptionalShape {
        if (shape.size() != 4 || height == 0 || width == 0 ||
            (!clamps && std::max({shape[1], shape[2], height, width}) >= kRounded)) {
          return std::nullopt;
        }
        return Shape{shape[0], height, width, shape[3]};
      });
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
