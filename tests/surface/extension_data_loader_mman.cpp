// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/data_loader/mman.h>

#include "signatures.h"

namespace surface {

static_assert(is<size_t (*)()>(&get_os_page_size));
static_assert(is<int (*)(int, size_t*)>(&get_file_stat));
static_assert(is<off_t (*)(size_t)>(&get_mmap_offset));
static_assert(is<void (*)(void*, size_t)>(&madvise_pages_willneed_sequential));
static_assert(is<void (*)(int, size_t)>(&fcntl_rdadvise_apple));

}  // namespace surface
