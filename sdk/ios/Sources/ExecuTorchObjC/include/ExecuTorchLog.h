// SPDX-License-Identifier: BSD-3-Clause
#import <Foundation/Foundation.h>

NS_ASSUME_NONNULL_BEGIN

typedef NS_ENUM(NSInteger, ExecuTorchLogLevel) {
  ExecuTorchLogLevelDebug = 'D',
  ExecuTorchLogLevelInfo = 'I',
  ExecuTorchLogLevelError = 'E',
  ExecuTorchLogLevelFatal = 'F',
  ExecuTorchLogLevelUnknown = '?',
};

/// Receives lines of the log, on the thread that logs.
@protocol ExecuTorchLogSink <NSObject>
- (void)logWithLevel:(ExecuTorchLogLevel)level
           timestamp:(NSTimeInterval)timestamp
            filename:(NSString *)filename
                line:(NSUInteger)line
             message:(NSString *)message;
@end

/// The runtime's log. Its lines go to the sinks; while there are none, they go to the platform's log.
@interface ExecuTorchLog : NSObject
+ (instancetype)sharedLog;
- (instancetype)init NS_UNAVAILABLE;
/// The log does not keep the sink alive.
- (void)addSink:(id<ExecuTorchLogSink>)sink;
- (void)removeSink:(id<ExecuTorchLogSink>)sink;
@end

NS_ASSUME_NONNULL_END
