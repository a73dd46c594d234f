// SPDX-License-Identifier: BSD-3-Clause
// Native functions that make tensors of images.
#include <algorithm>

#include <executorch/extension/c_api/images.h>

#include "jni_support.h"

namespace executorch {
namespace android {
namespace {

/// An image and the options of its conversion, from the numbers of ImageProcessor.numbers() in Java.
struct Conversion {
  et_image_options options;
  et_image image;
};

Conversion read(JNIEnv* env, jintArray lengths, jfloatArray factors) {
  jint ints[9] = {};
  jfloat floats[8] = {};
  env->GetIntArrayRegion(lengths, 0, 9, ints);
  env->GetFloatArrayRegion(factors, 0, 8, floats);
  Conversion conversion = {};
  et_image_options& options = conversion.options;
  options.width = ints[0];
  options.height = ints[1];
  options.resize = ints[2];
  options.pad_value = floats[0];
  options.scale_factor = floats[1];
  std::copy_n(floats + 2, 3, options.mean);
  std::copy_n(floats + 5, 3, options.std_dev);
  et_image& image = conversion.image;
  image.width = ints[3];
  image.height = ints[4];
  image.stride = ints[5];
  image.chroma_stride = ints[6];
  image.format = ints[7];
  image.orientation = ints[8];
  return conversion;
}

void image_to_tensor(JNIEnv* env, jclass, jintArray lengths, jfloatArray factors, jobject pixels, jobject chroma,
                     jobject out) {
  Conversion conversion = read(env, lengths, factors);
  et_image& image = conversion.image;
  image.pixels = env->GetDirectBufferAddress(pixels);
  image.chroma = chroma != nullptr ? env->GetDirectBufferAddress(chroma) : nullptr;
  const et_image_options& options = conversion.options;
  const int32_t sizes[] = {1, 3, options.height, options.width};
  const size_t nbytes = sizeof(float) * static_cast<size_t>(env->GetDirectBufferCapacity(out));
  et_tensor* tensor = nullptr;
  et_error* error = nullptr;
  if (throw_if(env,
               et_tensor_wrap(ET_DTYPE_FLOAT32, sizes, 4, nullptr, env->GetDirectBufferAddress(out), nbytes, nullptr,
                              nullptr, &tensor, &error),
               error)) {
    return;
  }
  const et_status status = et_image_to_tensor(&options, &image, tensor, &error);
  et_tensor_free(tensor);
  throw_if(env, status, error);
}

jintArray image_padding(JNIEnv* env, jclass, jintArray lengths, jfloatArray factors) {
  const Conversion conversion = read(env, lengths, factors);
  jint padding[2] = {};
  et_error* error = nullptr;
  if (throw_if(env, et_image_padding(&conversion.options, &conversion.image, &padding[0], &padding[1], &error),
               error)) {
    return nullptr;
  }
  const jintArray array = env->NewIntArray(2);
  if (array != nullptr) {
    env->SetIntArrayRegion(array, 0, 2, padding);
  }
  return array;
}

}  // namespace

const std::vector<JNINativeMethod> kImageFunctions = {
    ET_NATIVE("imageToTensor", "([I[FLjava/nio/ByteBuffer;Ljava/nio/ByteBuffer;Ljava/nio/Buffer;)V", image_to_tensor),
    ET_NATIVE("imagePadding", "([I[F)[I", image_padding),
};

}  // namespace android
}  // namespace executorch
