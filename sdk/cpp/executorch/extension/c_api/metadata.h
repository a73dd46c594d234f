/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The part of the C interface that describes the inputs and outputs of methods. executorch.h includes it and has the
 * rules on errors, ownership and threads. Metadata may be read at any time, from any thread, before a method is
 * loaded. A number such as (1.1) is the version that added a function.
 */
#ifndef EXECUTORCH_EXTENSION_C_API_METADATA_H_
#define EXECUTORCH_EXTENSION_C_API_METADATA_H_

#include "executorch.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Metadata of an input or output. All fields except `tag` are 0 unless `tag` is ET_TAG_TENSOR. */
typedef struct et_value_info {
  et_tag tag; /**< of an input, ET_TAG_NONE: a number without a fixed value, or an argument that was None at export */
  et_dtype dtype;
  size_t rank;
  const int32_t* sizes; /**< the upper bounds where a shape is dynamic */
  const uint8_t* dim_order;
  size_t nbytes;              /**< for `sizes` */
  uint32_t is_memory_planned; /**< 0: the caller may set the output's memory; an input is used in place */
  uint32_t reserved;
} et_value_info;

typedef struct et_method_meta et_method_meta;
ET_API size_t et_module_method_count(const et_module* module);
/** By index, in the order of the file. Does not load the method. */
ET_API const et_method_meta* et_module_method_at(const et_module* module, size_t index);
/** By name. ET_STATUS_INVALID_ARGUMENT, with the names of all methods, for an unknown name. */
ET_API et_status et_module_method(const et_module* module, const char* method, const et_method_meta** out,
                                  et_error** error);
/** The name's bytes in the program, usually UTF-8. */
ET_API const char* et_method_meta_name(const et_method_meta* meta);
ET_API size_t et_method_meta_input_count(const et_method_meta* meta);
ET_API size_t et_method_meta_output_count(const et_method_meta* meta);
ET_API et_status et_method_meta_input(const et_method_meta* meta, size_t index, et_value_info* out, et_error** error);
ET_API et_status et_method_meta_output(const et_method_meta* meta, size_t index, et_value_info* out, et_error** error);
ET_API size_t et_method_meta_backend_count(const et_method_meta* meta);
ET_API const char* et_method_meta_backend(const et_method_meta* meta, size_t index);
/** Bytes of planned memory of the method: the sum over its buffers. */
ET_API uint64_t et_method_meta_planned_bytes(const et_method_meta* meta);
ET_API size_t et_method_meta_planned_buffer_count(const et_method_meta* meta); /**< (1.1) */
/** Bytes of one planned buffer; 0 for an index out of range. (1.1) */
ET_API uint64_t et_method_meta_planned_buffer_bytes(const et_method_meta* meta, size_t index);
ET_API size_t et_method_meta_instruction_count(const et_method_meta* meta); /**< (1.1) */

/** Attributes: mutable state of a method with a name, such as a cache. (1.1) */
ET_API size_t et_method_meta_attribute_count(const et_method_meta* meta);
ET_API et_status et_method_meta_attribute(const et_method_meta* meta, size_t index, et_value_info* out,
                                          et_error** error);
/** The name in the model, such as "layers.0.cache"; NULL for an index out of range. */
ET_API const char* et_method_meta_attribute_name(const et_method_meta* meta, size_t index);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* EXECUTORCH_EXTENSION_C_API_METADATA_H_ */
