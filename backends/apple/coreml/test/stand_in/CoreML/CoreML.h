// SPDX-License-Identifier: BSD-3-Clause
// The part of Apple's CoreML.framework that the delegate uses, for tests on systems without it. The declarations follow
// Apple's public reference of the classes (https://developer.apple.com/documentation/coreml). The instance variables
// are ours: GCC's runtime of Objective-C needs them in the interface.
#pragma once

#import <Foundation/Foundation.h>

#define STAND_IN_SINCE(mac, phone) \
  __attribute__((availability(macos, introduced = mac), availability(ios, introduced = phone)))

typedef NS_ENUM(NSInteger, MLMultiArrayDataType) {
  MLMultiArrayDataTypeDouble = 0x10000 | 64,
  MLMultiArrayDataTypeFloat32 = 0x10000 | 32,
  MLMultiArrayDataTypeFloat16 STAND_IN_SINCE(12.0, 16.0) = 0x10000 | 16,
  MLMultiArrayDataTypeInt32 = 0x20000 | 32,
};

typedef NS_ENUM(NSInteger, MLComputeUnits) {
  MLComputeUnitsCPUOnly = 0,
  MLComputeUnitsCPUAndGPU = 1,
  MLComputeUnitsAll = 2,
  MLComputeUnitsCPUAndNeuralEngine STAND_IN_SINCE(13.0, 16.0) = 3,
};

typedef NS_ENUM(NSInteger, MLFeatureType) {
  MLFeatureTypeInvalid = 0,
  MLFeatureTypeMultiArray = 5,
};

typedef NS_ENUM(NSInteger, MLMultiArrayShapeConstraintType) {
  MLMultiArrayShapeConstraintTypeUnspecified = 1,
  MLMultiArrayShapeConstraintTypeEnumerated = 2,
  MLMultiArrayShapeConstraintTypeRange = 3,
};

@interface MLMultiArray : NSObject {
  MLMultiArrayDataType _dataType;
  NSArray *_shape;
  NSArray *_strides;
  NSInteger _count;
  void *_dataPointer;
  NSMutableData *_owned;
}
@property(nonatomic, readonly) MLMultiArrayDataType dataType;
@property(nonatomic, readonly) NSArray<NSNumber *> *shape;
@property(nonatomic, readonly) NSArray<NSNumber *> *strides;
@property(nonatomic, readonly) NSInteger count;
@property(nonatomic, readonly) void *dataPointer;
- (instancetype)initWithShape:(NSArray<NSNumber *> *)shape
                     dataType:(MLMultiArrayDataType)dataType
                        error:(NSError **)error;
- (instancetype)initWithDataPointer:(void *)dataPointer
                              shape:(NSArray<NSNumber *> *)shape
                           dataType:(MLMultiArrayDataType)dataType
                            strides:(NSArray<NSNumber *> *)strides
                        deallocator:(void (^)(void *bytes))deallocator
                              error:(NSError **)error;
- (void)getBytesWithHandler:(void (^)(const void *bytes, NSInteger size))handler STAND_IN_SINCE(12.3, 15.4);
@end

@interface MLFeatureValue : NSObject {
  MLMultiArray *_multiArrayValue;
}
@property(nonatomic, readonly) MLMultiArray *multiArrayValue;
+ (instancetype)featureValueWithMultiArray:(MLMultiArray *)value;
@end

@protocol MLFeatureProvider
@property(nonatomic, readonly) NSSet<NSString *> *featureNames;
- (MLFeatureValue *)featureValueForName:(NSString *)featureName;
@end

@interface MLDictionaryFeatureProvider : NSObject <MLFeatureProvider> {
  NSDictionary *_features;
}
- (instancetype)initWithDictionary:(NSDictionary<NSString *, id> *)dictionary error:(NSError **)error;
@end

@interface MLMultiArrayShapeConstraint : NSObject {
  MLMultiArrayShapeConstraintType _type;
  NSArray *_enumeratedShapes;
}
@property(nonatomic, readonly) MLMultiArrayShapeConstraintType type;
@property(nonatomic, readonly) NSArray<NSArray<NSNumber *> *> *enumeratedShapes;
@end

@interface MLMultiArrayConstraint : NSObject {
  MLMultiArrayDataType _dataType;
  MLMultiArrayShapeConstraint *_shapeConstraint;
}
@property(nonatomic, readonly) MLMultiArrayDataType dataType;
@property(nonatomic, readonly) MLMultiArrayShapeConstraint *shapeConstraint;
@end

@interface MLFeatureDescription : NSObject {
  NSString *_name;
  MLFeatureType _type;
  MLMultiArrayConstraint *_multiArrayConstraint;
}
@property(nonatomic, readonly) NSString *name;
@property(nonatomic, readonly) MLFeatureType type;
@property(nonatomic, readonly) MLMultiArrayConstraint *multiArrayConstraint;
@end

@interface MLModelDescription : NSObject {
  NSDictionary *_inputDescriptionsByName;
  NSDictionary *_outputDescriptionsByName;
  NSDictionary *_stateDescriptionsByName;
}
@property(nonatomic, readonly) NSDictionary<NSString *, MLFeatureDescription *> *inputDescriptionsByName;
@property(nonatomic, readonly) NSDictionary<NSString *, MLFeatureDescription *> *outputDescriptionsByName;
@property(nonatomic, readonly)
    NSDictionary<NSString *, MLFeatureDescription *> *stateDescriptionsByName STAND_IN_SINCE(15.0, 18.0);
@end

@interface MLModelConfiguration : NSObject {
  MLComputeUnits _computeUnits;
  NSString *_functionName;
}
@property(nonatomic) MLComputeUnits computeUnits;
@property(nonatomic, copy) NSString *functionName STAND_IN_SINCE(15.0, 18.0);
@end

STAND_IN_SINCE(15.0, 18.0)
@interface MLState : NSObject {
  NSInteger _step;
}
@end

@interface MLModel : NSObject {
  NSArray *_calls;
  MLModelDescription *_modelDescription;
}
@property(nonatomic, readonly) MLModelDescription *modelDescription;
+ (NSURL *)compileModelAtURL:(NSURL *)modelURL error:(NSError **)error;
+ (instancetype)modelWithContentsOfURL:(NSURL *)url
                         configuration:(MLModelConfiguration *)configuration
                                 error:(NSError **)error;
- (id<MLFeatureProvider>)predictionFromFeatures:(id<MLFeatureProvider>)input error:(NSError **)error;
- (id<MLFeatureProvider>)predictionFromFeatures:(id<MLFeatureProvider>)input
                                     usingState:(MLState *)state
                                          error:(NSError **)error STAND_IN_SINCE(15.0, 18.0);
- (MLState *)newState STAND_IN_SINCE(15.0, 18.0);
@end
