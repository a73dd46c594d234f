// SPDX-License-Identifier: BSD-3-Clause
// The part of Apple's Metal.framework that the delegate uses, for tests on systems without it. The declarations follow
// Apple's public reference (https://developer.apple.com/documentation/metal).
#pragma once

#import <Foundation/Foundation.h>

typedef NSUInteger MTLResourceOptions;
enum { MTLResourceStorageModeShared = 0 };

@protocol MTLBuffer <NSObject>
- (void *)contents;
- (NSUInteger)length;
@end

@protocol MTLCommandQueue <NSObject>
@end

@protocol MTLDevice <NSObject>
- (id<MTLCommandQueue>)newCommandQueue;
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options;
@end

#ifdef __cplusplus
extern "C"
#endif
    id<MTLDevice>
    MTLCreateSystemDefaultDevice(void) __attribute__((ns_returns_retained));
