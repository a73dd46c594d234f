/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The part of the C interface that makes tensors of images: from the pixels of a camera or a decoder to the input of a
 * vision model. executorch.h has the rules on errors, ownership and threads, and does not include this header. Since
 * version 1.3. Lengths are in pixels, strides in bytes.
 */
#ifndef EXECUTORCH_EXTENSION_C_API_IMAGES_H_
#define EXECUTORCH_EXTENSION_C_API_IMAGES_H_

#include "executorch.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The layout of pixels: four bytes each, of which alpha is ignored; or a plane of luma and one of interleaved chroma
 * at half the width and height, in ITU-R BT.601, with limited (16 to 235 and 240) or FULL range (0 to 255). */
typedef int32_t et_pixel_format;
enum {
  ET_PIXEL_FORMAT_BGRA = 0,
  ET_PIXEL_FORMAT_RGBA = 1,
  ET_PIXEL_FORMAT_NV12 = 2,
  ET_PIXEL_FORMAT_NV21 = 3,
  ET_PIXEL_FORMAT_NV12_FULL = 4,
  ET_PIXEL_FORMAT_NV21_FULL = 5
};

/** The rotation from the stored to the displayed image, with the numbers of Exif: none, 180 degrees, 90 clockwise,
 * 90 counterclockwise. */
typedef int32_t et_image_orientation;
enum {
  ET_IMAGE_ORIENTATION_UP = 1,
  ET_IMAGE_ORIENTATION_DOWN = 3,
  ET_IMAGE_ORIENTATION_RIGHT = 6,
  ET_IMAGE_ORIENTATION_LEFT = 8
};

/** An image in the memory of the caller. */
typedef struct et_image {
  const void* pixels; /**< rows with four bytes per pixel, or the luma */
  const void* chroma; /**< NULL, or the chroma of formats with two planes */
  int32_t width;
  int32_t height;
  int32_t stride;
  int32_t chroma_stride;
  et_pixel_format format;
  et_image_orientation orientation;
} et_image;

/** How an image is resized: each direction separately; or keeping the proportions, with padding on all sides; or with
 * padding on the right and below. */
typedef int32_t et_image_resize;
enum { ET_IMAGE_RESIZE_STRETCH = 0, ET_IMAGE_RESIZE_LETTERBOX = 1, ET_IMAGE_RESIZE_LETTERBOX_TOP_LEFT = 2 };

/** Options of the conversion. Element = (byte * scale_factor - mean) / std_dev, by channel: red, green, blue. */
typedef struct et_image_options {
  int32_t width;
  int32_t height;
  et_image_resize resize;
  float pad_value; /**< elements of the padding, after normalization */
  float scale_factor;
  float mean[3];
  float std_dev[3];
} et_image_options;

/** Writes an image to `out`, a contiguous tensor of ET_DTYPE_FLOAT32 and {1, 3, options->height, options->width}.
 * Scaling is bilinear with half-pixel centres, as in torch.nn.functional.interpolate(mode="bilinear").
 */
ET_API et_status et_image_to_tensor(const et_image_options* options, const et_image* image, et_tensor* out,
                                    et_error** error);
/** Columns and rows of padding to the left of the image and above it. The pixels of `image` are not read. */
ET_API et_status et_image_padding(const et_image_options* options, const et_image* image, int32_t* left, int32_t* above,
                                  et_error** error);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* EXECUTORCH_EXTENSION_C_API_IMAGES_H_ */
