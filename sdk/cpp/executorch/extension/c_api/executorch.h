/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The C interface for bindings of other languages: load programs, describe methods (metadata.h), run and cancel them
 * (cancellation.h), profile them (devtools.h). This header includes the other three and no other header of the SDK.
 * C99 and C++.
 *
 * Errors. A function that can fail returns an et_status and has `et_error** error` as its last parameter. If that is
 * not null, it receives NULL on success and an object with the message on failure, which the caller frees. There is no
 * "last error" of the thread: Dart isolates, goroutines and async runtimes may change threads between two calls, and
 * would read another call's error. If NULL is passed, the message goes to the log.
 *
 * Ownership. An object that a function named `_create`, `_load_`, `_wrap`, `_clone`, `_share`, `_execute`, `_outputs`
 * or `_take_` returns through `out` is freed with the function of its type named `_free`, which accepts NULL. On
 * failure `*out` is NULL. Pointers that other functions return belong to the object that was passed and live as long
 * as it. Objects keep alive what they refer to: they may be freed in any order. Strings are NUL-terminated; error
 * messages are valid UTF-8.
 *
 * Misuse. A null pointer, an index out of range or an unknown number is ET_STATUS_INVALID_ARGUMENT with a message (an
 * input's unknown tag is ET_STATUS_INVALID_TYPE); functions without a status return NULL or 0. Pointers to other types
 * or to freed objects, and arrays that are shorter than their length, are undefined behaviour.
 *
 * Threads. Different modules are independent, also if they share a program. A module runs one call at a time: a
 * concurrent call returns ET_STATUS_INVALID_STATE. Metadata (et_method_meta) may be read at any time.
 * Tensors may be read by any number of threads, or changed by one. Freeing an object while it is in use is undefined.
 * Callbacks run on the thread that made the call; they must not throw or longjmp.
 *
 * Stability. Within a major version functions and numbers are added, and none is changed or removed.
 */
#ifndef EXECUTORCH_EXTENSION_C_API_EXECUTORCH_H_
#define EXECUTORCH_EXTENSION_C_API_EXECUTORCH_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32) && defined(EXECUTORCH_C_SHARED)
#ifdef EXECUTORCH_C_BUILDING
#define ET_API __declspec(dllexport)
#else
#define ET_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define ET_API __attribute__((visibility("default")))
#else
#define ET_API
#endif

/* ---- Version --------------------------------------------------------------------------------------------------- */

#define ET_C_API_VERSION_MAJOR 1
#define ET_C_API_VERSION_MINOR 8
#define ET_C_API_VERSION ((uint32_t)ET_C_API_VERSION_MAJOR << 16 | ET_C_API_VERSION_MINOR)

/** ET_C_API_VERSION of the library. It works for this header when the major numbers are equal and the library's minor
 * number is not smaller. */
ET_API uint32_t et_c_api_version(void);

/* ---- Errors ---------------------------------------------------------------------------------------------------- */

/** The numbers of executorch::runtime::Error, and those from 0x40 on; the same in every language. */
typedef uint32_t et_status;
/* clang-format off */
enum {
  ET_STATUS_OK = 0x00, ET_STATUS_INTERNAL = 0x01, ET_STATUS_INVALID_STATE = 0x02, ET_STATUS_NOT_SUPPORTED = 0x10,
  ET_STATUS_NOT_IMPLEMENTED = 0x11, ET_STATUS_INVALID_ARGUMENT = 0x12, ET_STATUS_INVALID_TYPE = 0x13,
  ET_STATUS_OPERATOR_MISSING = 0x14, ET_STATUS_NOT_FOUND = 0x20, ET_STATUS_MEMORY_ALLOCATION_FAILED = 0x21,
  ET_STATUS_ACCESS_FAILED = 0x22, ET_STATUS_INVALID_PROGRAM = 0x23, ET_STATUS_INVALID_EXTERNAL_DATA = 0x24,
  ET_STATUS_OUT_OF_RESOURCES = 0x25, ET_STATUS_DELEGATE_INVALID_COMPATIBILITY = 0x30,
  ET_STATUS_DELEGATE_MEMORY_ALLOCATION_FAILED = 0x31, ET_STATUS_DELEGATE_INVALID_HANDLE = 0x32,
  ET_STATUS_CANCELLED = 0x40 /* by et_cancellation_cancel; 1.2 */
};
/* clang-format on */
/** For example "InvalidProgram". Static; "Unknown" for other numbers. */
ET_API const char* et_status_name(et_status status);

typedef struct et_error et_error;
ET_API et_status et_error_status(const et_error* error);
/** What was expected, what was found and what to do; one line for each failed step, the cause first. Never empty.
 */
ET_API const char* et_error_message(const et_error* error);
ET_API void et_error_free(et_error* error);

/* ---- Log ------------------------------------------------------------------------------------------------------- */

typedef int32_t et_log_level;
enum { ET_LOG_LEVEL_DEBUG = 0, ET_LOG_LEVEL_INFO = 1, ET_LOG_LEVEL_ERROR = 2, ET_LOG_LEVEL_FATAL = 3 };

/** Receives one line without its newline. The strings are valid until the function returns. */
typedef void (*et_log_sink)(et_log_level level, const char* file, size_t line, const char* message, void* context);

/** Sends the log of the process to `sink` from `min_level` on, with the lines of et_error objects; NULL restores the
 * platform's log. After the call the former sink is not running and not called again. Fails if called inside a sink. */
ET_API et_status et_set_log_sink(et_log_sink sink, void* context, et_log_level min_level, et_error** error);

/* ---- Operators and backends of this build ------------------------------------------------------------------------ */

ET_API size_t et_operator_count(void);
ET_API const char* et_operator_name(size_t index); /**< for example "aten::add.out" */
ET_API size_t et_backend_count(void);
ET_API const char* et_backend_name(size_t index); /**< as programs call it */

/* ---- Threads --------------------------------------------------------------------------------------------------- */

/** The number of threads of the kernels and backends of all modules, the caller's included; by default one for each
 * fast core. (1.1) */
ET_API size_t et_thread_count(void);
/** Waits until no module runs, then changes the number; 0: one for each fast core; at most 1024. Fails inside a
 * callback of a run. ET_STATUS_NOT_SUPPORTED for more than 1 in a library without threads. (1.1) */
ET_API et_status et_set_thread_count(size_t count, et_error** error);

/* ---- Tensors --------------------------------------------------------------------------------------------------- */

/** PyTorch's numbers, those of executorch::aten::ScalarType. */
typedef int32_t et_dtype;
/* clang-format off */
enum {
  ET_DTYPE_UINT8 = 0, ET_DTYPE_INT8 = 1, ET_DTYPE_INT16 = 2, ET_DTYPE_INT32 = 3, ET_DTYPE_INT64 = 4,
  ET_DTYPE_FLOAT16 = 5, ET_DTYPE_FLOAT32 = 6, ET_DTYPE_FLOAT64 = 7, ET_DTYPE_BOOL = 11, ET_DTYPE_BFLOAT16 = 15,
  ET_DTYPE_UINT16 = 27, ET_DTYPE_UINT32 = 28, ET_DTYPE_UINT64 = 29
};
/* clang-format on */
/** Bytes of an element; 0 for an unknown number. */
ET_API size_t et_dtype_size(et_dtype dtype);
/** For example "Float". Static; "Unknown" for an unknown number. */
ET_API const char* et_dtype_name(et_dtype dtype);

typedef struct et_tensor et_tensor;
/** Releases memory: called exactly once with the `data` and `context` that were passed, from any thread, also if the
 * function that they were passed to fails. */
typedef void (*et_release)(void* data, void* context);

/** A contiguous tensor with its own memory, zeroed and aligned to 64 bytes. `sizes`: `rank` elements, outermost
 * dimension first; at most 16. */
ET_API et_status et_tensor_create(et_dtype dtype, const int32_t* sizes, size_t rank, et_tensor** out, et_error** error);
/** A tensor over `nbytes` bytes at `data`, which is not copied and must be aligned to the element's size. `dim_order`:
 * the dimensions from the outermost in memory to the innermost; NULL: contiguous. `release` (may be NULL) is called
 * when the tensor and all modules and results that use it are freed. */
ET_API et_status et_tensor_wrap(et_dtype dtype, const int32_t* sizes, size_t rank, const uint8_t* dim_order, void* data,
                                size_t nbytes, et_release release, void* context, et_tensor** out, et_error** error);
/** A copy with its own memory and the same dim order, for example of an output that must outlive the next run. */
ET_API et_status et_tensor_clone(const et_tensor* tensor, et_tensor** out, et_error** error);
/** Changes the sizes, not the rank, to at most the original number of elements. The data does not change. Not for
 * tensors of results. */
ET_API et_status et_tensor_resize(et_tensor* tensor, const int32_t* sizes, size_t rank, et_error** error);
ET_API et_dtype et_tensor_dtype(const et_tensor* tensor);
ET_API size_t et_tensor_rank(const et_tensor* tensor);
ET_API const int32_t* et_tensor_sizes(const et_tensor* tensor);
ET_API const uint8_t* et_tensor_dim_order(const et_tensor* tensor);
ET_API size_t et_tensor_numel(const et_tensor* tensor); /**< number of elements */
ET_API size_t et_tensor_nbytes(const et_tensor* tensor);
ET_API const void* et_tensor_data(const et_tensor* tensor);
ET_API void* et_tensor_mutable_data(et_tensor* tensor);
ET_API void et_tensor_free(et_tensor* tensor); /**< not for tensors of results */

/* ---- Values ---------------------------------------------------------------------------------------------------- */

/** The numbers of executorch::runtime::Tag. */
typedef int32_t et_tag;
/* clang-format off */
enum {
  ET_TAG_NONE = 0, ET_TAG_TENSOR = 1, ET_TAG_STRING = 2, ET_TAG_DOUBLE = 3, ET_TAG_INT = 4, ET_TAG_BOOL = 5,
  ET_TAG_LIST_BOOL = 6, ET_TAG_LIST_DOUBLE = 7, ET_TAG_LIST_INT = 8, ET_TAG_LIST_TENSOR = 9,
  ET_TAG_LIST_OPTIONAL_TENSOR = 11
};
/* clang-format on */
/** For example "ListInt". Static; "Unknown" for an unknown number. */
ET_API const char* et_tag_name(et_tag tag);

/** `size` items: char (a string, no NUL), uint8_t (bools), double, int64_t, or const et_tensor* (NULL: absent). */
typedef struct et_span {
  const void* data;
  size_t size;
} et_span;

/** An input or output. Inputs must not be lists (ET_STATUS_INVALID_TYPE). Owns nothing. */
typedef struct et_value {
  et_tag tag;
  uint32_t reserved; /**< 0 */
  union et_payload {
    int64_t as_int;
    double as_double;
    uint8_t as_bool; /**< not 0: true */
    const et_tensor* as_tensor;
    et_span as_span; /**< of a string or list */
  } payload;
} et_value;

/* ---- Modules --------------------------------------------------------------------------------------------------- */

typedef int32_t et_load_mode;
enum {
  ET_LOAD_MODE_FILE = 0, /**< read into memory */
  ET_LOAD_MODE_MMAP = 1, /**< map; the file must not be truncated while it is mapped */
  ET_LOAD_MODE_MMAP_USE_MLOCK = 2,
  ET_LOAD_MODE_MMAP_USE_MLOCK_IGNORE_ERRORS = 3
};

typedef struct et_event {
  const char* name;          /**< of the method, operator or delegate's event; NULL if a delegate numbers its events */
  int32_t delegate_id;       /**< the number of a delegate's event; otherwise -1 */
  int32_t chain_id;          /**< chain of instructions; -1: none */
  uint32_t debug_handle;     /**< index of the instruction in its chain; 0 without a chain */
  uint32_t is_delegate_time; /**< 1: times of a delegate's clock, in its unit; 0: nanoseconds, monotonic */
  uint64_t start;
  uint64_t end;
  et_span metadata; /**< bytes for the delegate's own tools */
} et_event;
/** Called at the end of each event; `event` and its contents are valid until the function returns. */
typedef void (*et_event_sink)(const et_event* event, void* context);

/** How to load. Defaults: mapped, verified, no data files, separate memory for each method. */
typedef struct et_options et_options;
ET_API et_status et_options_create(et_options** out, et_error** error);
ET_API et_status et_options_set_load_mode(et_options* options, et_load_mode mode, et_error** error);
/** false: the offsets within the program's methods are not checked. Use it only for trusted bytes, for example after
 * checking a signature: a hostile file is then undefined behaviour. */
ET_API et_status et_options_set_verify(et_options* options, bool verify, et_error** error);
/** Adds a `.ptd` file with weights; may be called several times. */
ET_API et_status et_options_add_data_file(et_options* options, const char* path, et_error** error);
/** Adds the `size` bytes of a `.ptd` file at `data`, used in place (copied if not aligned to 16 bytes). `release` (may
 * be NULL) is called when the options and all modules that were loaded with them are freed. (1.6) */
ET_API et_status et_options_add_data_buffer(et_options* options, const void* data, size_t size, et_release release,
                                            void* context, et_error** error);
/** All methods use one set of planned buffers: less memory, but each run overwrites the outputs of other methods. */
ET_API et_status et_options_set_share_memory(et_options* options, bool share, et_error** error);
ET_API et_status et_options_set_backend_int(et_options* options, const char* backend, const char* key, int32_t value,
                                            et_error** error);
ET_API et_status et_options_set_backend_bool(et_options* options, const char* backend, const char* key, bool value,
                                             et_error** error);
ET_API et_status et_options_set_backend_string(et_options* options, const char* backend, const char* key,
                                               const char* value, et_error** error);
/** Reports events of methods; `all`: of each instruction too. ET_STATUS_NOT_SUPPORTED unless the library was built with
 * EXECUTORCH_ENABLE_EVENT_TRACER. `context` must outlive the modules. */
ET_API et_status et_options_set_event_sink(et_options* options, et_event_sink sink, void* context, bool all,
                                           et_error** error);
ET_API void et_options_free(et_options* options);

/** A verified program and its loaded methods. `options` below may be NULL, and may be freed after the call. */
typedef struct et_module et_module;
ET_API et_status et_module_load_file(const char* path, const et_options* options, et_module** out, et_error** error);
/** Loads `size` bytes at `data`, used in place (copied if not aligned to 16 bytes). `release` (may be NULL) is called
 * when they are not needed any more. */
ET_API et_status et_module_load_buffer(const void* data, size_t size, et_release release, void* context,
                                       const et_options* options, et_module** out, et_error** error);
/** Loads `length` bytes at `offset` of an open file, such as an Android asset; length 0: to its end. The descriptor may
 * be closed after the call. POSIX only. */
ET_API et_status et_module_load_fd(int fd, uint64_t offset, uint64_t length, const et_options* options, et_module** out,
                                   et_error** error);
/** Another module of the same program with the same options, for another thread. Weights are shared, methods and their
 * state are not. */
ET_API et_status et_module_share(const et_module* module, et_module** out, et_error** error);
ET_API void et_module_free(et_module* module);

/** Loads a method; otherwise its first run loads it. */
ET_API et_status et_module_load_method(et_module* module, const char* method, et_error** error);
/** Whether a method is loaded; false for an unknown method, and while another call runs. (1.1) */
ET_API bool et_module_is_method_loaded(const et_module* module, const char* method);
/** Frees the memory of a method. ET_STATUS_INVALID_STATE while one of its results exists. */
ET_API et_status et_module_unload_method(et_module* module, const char* method, et_error** error);
/** Makes a method write an output into `tensor`, of the output's dtype and sizes, until it is unloaded. Only for
 * outputs that were left out of memory planning at export. */
ET_API et_status et_module_set_output(et_module* module, const char* method, size_t index, et_tensor* tensor,
                                      et_error** error);

/** The outputs of a run: views of the module's memory, whose contents are valid until the same method runs again. */
typedef struct et_result et_result;
ET_API et_status et_module_execute(et_module* module, const char* method, const et_value* inputs, size_t input_count,
                                   et_result** out, et_error** error);
/** The current outputs, without a run. Outputs that are state of the method, such as trained parameters, have the
 * current value of the state; others the value of the last run. (1.3) */
ET_API et_status et_module_outputs(et_module* module, const char* method, et_result** out, et_error** error);
ET_API size_t et_result_size(const et_result* result);
/** et_result_size() values, in order; they, their tensors and lists are valid as long as the result. */
ET_API const et_value* et_result_values(const et_result* result);
ET_API void et_result_free(et_result* result);

#ifdef __cplusplus
} /* extern "C" */
#endif

/* Metadata of methods: et_method_meta. */
#include "metadata.h"
/* Cancelling runs. */
#include "cancellation.h"
/* ETDumps and bundled programs. */
#include "devtools.h"

#endif /* EXECUTORCH_EXTENSION_C_API_EXECUTORCH_H_ */
