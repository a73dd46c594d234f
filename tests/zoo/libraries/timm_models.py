# SPDX-License-Identifier: BSD-3-Clause
"""One model of each family of timm, small ones: `name` or `name@side` with an image side other than the default."""

from __future__ import annotations

import warnings
from functools import partial

import timm

from zoo.libraries.case import MAKERS, Model, images

FAMILIES = """
beit_base_patch16_224 halonet26t@256 lambda_resnet26rpt_256 bat_resnext26ts@256 gcresnext26ts mobileone_s0 repvgg_a0
resnet32ts regnetz_b16 resnet50_clip@64 cait_xxs24_224 coat_tiny convit_tiny convmixer_768_32 convnext_atto
convnextv2_atto cpubone_nano crossvit_9_dagger_240 csatv2@512 cs3darknet_s cs3darknet_focus_s darknet17 cspnext_tiny
davit_tiny deit_tiny_patch16_224 densenet121 densenetblur121d dla34 dla60_res2net dpn48b edgenext_xx_small
efficientformer_l1 efficientformerv2_s0 efficientnet_b0 efficientnet_b0_gn efficientnet_cc_b0_4e efficientnet_lite0
efficientnetv2_rw_t mixnet_s mnasnet_050 mobilenet_edgetpu_v2_xs mobilenetv2_035 test_efficientnet_evos
efficientvim_m1@224 efficientvit_b0 efficientvit_l1 efficientvit_m0 eva02_tiny_patch14_224 vit_small_patch16_rope_224
vit_small_patch16_dinov3@64 vit_pe_core_tiny_patch16_384@64 fasternet_t0 fastvit_t8 focalnet_tiny_srf gcvit_xxtiny
gemma4_vit_167m@192 ghostnet_050 ghostnetv3_050 hgnetv2_b0 hiera_tiny_224 sam2_hiera_tiny@224 hrnet_w18_small
iformer_t inception_next_atto inception_resnet_v2@96 inception_v4@96 lcnetv2_small levit_conv_128s lowformer_b0
mambaout_femto coatnet_pico_rw_224 maxvit_pico_rw_256 maxxvitv2_nano_rw_256 caformer_s18 poolformer_s12 gmixer_12_224
gmlp_ti16_224 mixer_s32_224 resmlp_12_224 fbnetv3_b mobilenetv3_small_050 mobilenetv4_conv_small_035
mobilenetv4_hybrid_medium_075 mobilevit_xxs mobilevitv2_050 mvitv2_tiny naflexvit_base_patch16_gap@64 nasnetalarge@96
nest_tiny nextvit_small dm_nfnet_f0 eca_nfnet_l0 nf_regnet_b0 pit_ti_224 pnasnet5large@96 pvt_v2_b0 qwen3_vit_88m@192
rdnet_tiny regnetx_002 regnety_002 regnetz_005 repghostnet_050 repvit_m0_9 res2net50_26w_4s resnest14d resnet10t
resnet26d resnetblur18 resnetrs50 seresnet18 ecaresnet26t resnetv2_18 resnetv2_50d_frn resnetv2_50d_evos
resnetv2_50x1_bit rexnet_100 selecsls42 sequencer2d_s shvit_s1 skresnet18 starnet_s050 swiftformer_xs
swin_tiny_patch4_window7_224 swin_s3_tiny_224 swinv2_tiny_window8_256 swinv2_cr_tiny_224 tiny_vit_5m_224
tnt_s_patch16_224 tresnet_m twins_pcpvt_small twins_svt_small vgg11_bn visformer_tiny vit_tiny_patch16_224 test_vit3
vit_small_patch14_reg4_dinov2@56 vit_small_patch16_36x1_224 vit_xsmall_patch16_clip_224 vit_base_patch16_siglip_224
vit_wee_patch16_reg1_gap_256 vit_tiny_r_s16_p8_224 vit_relpos_small_patch16_224 samvit_base_patch16_224
vitamin_small_224 volo_d1_224 ese_vovnet19b_slim_dw legacy_xception xception41p xcit_nano_12_p16_224
"""


def make(name: str, side: int) -> Model:
    warnings.filterwarnings("ignore", module="timm")
    configuration = timm.get_pretrained_cfg(name)
    if not side:
        # A convolutional network takes any size.
        side = configuration.input_size[-1] if configuration.fixed_input_size else 64
    try:
        module = timm.create_model(name, img_size=side)
    except TypeError:
        module = timm.create_model(name)
    return Model(module, images(3, side, side), (0,))


for _entry in FAMILIES.split():
    _name, _, _side = _entry.partition("@")
    MAKERS[f"timm/{_name}"] = partial(make, _name, int(_side or 0))
