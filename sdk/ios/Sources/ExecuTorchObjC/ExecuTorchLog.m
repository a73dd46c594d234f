// SPDX-License-Identifier: BSD-3-Clause
#import "ExecuTorchLog.h"

#import "ExecuTorchInternal.h"

@implementation ExecuTorchLog {
  NSHashTable<id<ExecuTorchLogSink>> *_sinks;
}

+ (instancetype)sharedLog {
  static ExecuTorchLog *log;
  @synchronized(self) {
    if (log == nil) {
      log = [[self alloc] initWithSinks:[NSHashTable weakObjectsHashTable]];
    }
  }
  return log;
}

- (instancetype)initWithSinks:(NSHashTable *)sinks {
  self = [super init];
  _sinks = sinks;
  return self;
}

static void Forward(et_log_level level, const char *file, size_t line, const char *message, void *context) {
  static const char kLevels[] = "DIEF";
  ExecuTorchLog *log = (__bridge ExecuTorchLog *)context;
  NSArray<id<ExecuTorchLogSink>> *sinks = nil;
  @synchronized(log) {
    sinks = log->_sinks.allObjects;
  }
  for (id<ExecuTorchLogSink> sink in sinks) {
    [sink logWithLevel:(ExecuTorchLogLevel)kLevels[level]
             timestamp:[NSDate date].timeIntervalSince1970
              filename:[NSString stringWithUTF8String:file] ?: @""
                  line:line
               message:[NSString stringWithUTF8String:message] ?: @""];
  }
}

- (void)addSink:(id<ExecuTorchLogSink>)sink {
  @synchronized(self) {
    [_sinks addObject:sink];
  }
  // The pointer stays valid, because the log object is never freed. The call is outside of the lock: it waits for lines
  // that are being logged, and Forward takes the lock for each of them.
  et_set_log_sink(Forward, (__bridge void *)self, ET_LOG_LEVEL_DEBUG, NULL);
}

- (void)removeSink:(id<ExecuTorchLogSink>)sink {
  BOOL isLast = NO;
  @synchronized(self) {
    [_sinks removeObject:sink];
    isLast = _sinks.allObjects.count == 0;
  }
  if (isLast) {
    et_set_log_sink(NULL, NULL, ET_LOG_LEVEL_DEBUG, NULL);
  }
}

@end
