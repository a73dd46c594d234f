// SPDX-License-Identifier: BSD-3-Clause
#import "ExecuTorchLog.h"

#import "ExecuTorchInternal.h"

/// Whether this thread is running a sink.
static _Thread_local BOOL isInSink = NO;

@implementation ExecuTorchLog {
  NSHashTable<id<ExecuTorchLogSink>> *_sinks;
  NSLock *_installation;  // serializes setting the runtime's sink, so that the last change of `_sinks` wins
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
  _installation = [[NSLock alloc] init];
  return self;
}

static void Forward(et_log_level level, const char *file, size_t line, const char *message, void *context) {
  static const char kLevels[] = "DIEF";
  ExecuTorchLog *log = (__bridge ExecuTorchLog *)context;
  NSArray<id<ExecuTorchLogSink>> *sinks = nil;
  @synchronized(log) {
    sinks = log->_sinks.allObjects;
  }
  isInSink = YES;
  @try {
    for (id<ExecuTorchLogSink> sink in sinks) {
      [sink logWithLevel:(ExecuTorchLogLevel)kLevels[level]
               timestamp:[NSDate date].timeIntervalSince1970
                filename:[NSString stringWithUTF8String:file] ?: @""
                    line:line
                 message:[NSString stringWithUTF8String:message] ?: @""];
    }
  } @finally {
    isInSink = NO;
  }
}

- (void)matchRuntime {
  [_installation lock];
  BOOL isWanted = NO;
  @synchronized(self) {
    isWanted = _sinks.allObjects.count > 0;
  }
  // The pointer stays valid, because the log object is never freed. The call is outside of that lock: it waits for
  // lines that are being logged, and Forward takes the lock for each of them.
  et_set_log_sink(isWanted ? Forward : NULL, (__bridge void *)self, ET_LOG_LEVEL_DEBUG, NULL);
  [_installation unlock];
}

- (void)install {
  // The runtime refuses another sink from within one, and waits for running sinks elsewhere.
  if (isInSink) {
    [NSThread detachNewThreadSelector:@selector(matchRuntime) toTarget:self withObject:nil];
  } else {
    [self matchRuntime];
  }
}

- (void)addSink:(id<ExecuTorchLogSink>)sink {
  @synchronized(self) {
    [_sinks addObject:sink];
  }
  [self install];
}

- (void)removeSink:(id<ExecuTorchLogSink>)sink {
  BOOL isLast = NO;
  @synchronized(self) {
    [_sinks removeObject:sink];
    isLast = _sinks.allObjects.count == 0;
  }
  if (isLast) {
    [self install];  // only then, because it waits for running sinks
  }
}

@end
