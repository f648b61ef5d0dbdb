/* SPDX-License-Identifier: Apache-2.0 */
/*
 * V4L2's four colour fields in the numbers of ITU-T H.273. What a driver leaves at "default" means what the kernel's
 * V4L2_MAP_*_DEFAULT macros say it means. Pure.
 */
#include "capture/v4l2_device.h"

enum { UNSPECIFIED = 2 };

static uint8_t primaries(uint32_t colorspace)
{
    switch (colorspace) {
    case V4L2_COLORSPACE_REC709:
    case V4L2_COLORSPACE_SRGB:
    case V4L2_COLORSPACE_JPEG:
        return 1;
    case V4L2_COLORSPACE_470_SYSTEM_M:
        return 4;
    case V4L2_COLORSPACE_470_SYSTEM_BG:
        return 5;
    case V4L2_COLORSPACE_SMPTE170M:
        return 6;
    case V4L2_COLORSPACE_SMPTE240M:
        return 7;
    case V4L2_COLORSPACE_BT2020:
        return 9;
    case V4L2_COLORSPACE_DCI_P3:
        return 11;
    default: /* opRGB has no number; raw has none by its nature */
        return UNSPECIFIED;
    }
}

static uint8_t transfer(uint32_t xfer_func)
{
    switch (xfer_func) {
    case V4L2_XFER_FUNC_709:
        return 1;
    case V4L2_XFER_FUNC_OPRGB: /* a gamma of 2.2 */
        return 4;
    case V4L2_XFER_FUNC_SMPTE240M:
        return 7;
    case V4L2_XFER_FUNC_NONE:
        return 8;
    case V4L2_XFER_FUNC_SRGB:
        return 13;
    case V4L2_XFER_FUNC_SMPTE2084:
        return 16;
    case V4L2_XFER_FUNC_DCI_P3:
        return 17;
    default:
        return UNSPECIFIED;
    }
}

static uint8_t matrix(uint32_t ycbcr_enc)
{
    switch (ycbcr_enc) {
    case V4L2_YCBCR_ENC_709:
    case V4L2_YCBCR_ENC_XV709:
        return 1;
    case V4L2_YCBCR_ENC_601:
    case V4L2_YCBCR_ENC_XV601:
        return 6;
    case V4L2_YCBCR_ENC_SMPTE240M:
        return 7;
    case V4L2_YCBCR_ENC_BT2020:
        return 9;
    case V4L2_YCBCR_ENC_BT2020_CONST_LUM:
        return 10;
    default:
        return UNSPECIFIED;
    }
}

struct sl_colour sl_v4l2_colour(uint32_t colorspace, uint32_t ycbcr_enc, uint32_t quantization, uint32_t xfer_func, bool grey, bool hdtv,
                                bool sdtv)
{
    if (colorspace == V4L2_COLORSPACE_DEFAULT)
        colorspace = V4L2_MAP_COLORSPACE_DEFAULT(sdtv, hdtv);
    if (ycbcr_enc == V4L2_YCBCR_ENC_DEFAULT)
        ycbcr_enc = V4L2_MAP_YCBCR_ENC_DEFAULT(colorspace);
    if (quantization == V4L2_QUANTIZATION_DEFAULT)
        quantization = V4L2_MAP_QUANTIZATION_DEFAULT(grey, colorspace, ycbcr_enc);
    if (xfer_func == V4L2_XFER_FUNC_DEFAULT)
        xfer_func = V4L2_MAP_XFER_FUNC_DEFAULT(colorspace);
    return (struct sl_colour){
        .primaries = primaries(colorspace),
        .transfer = transfer(xfer_func),
        .matrix = grey ? UNSPECIFIED : matrix(ycbcr_enc),
        .range = quantization == V4L2_QUANTIZATION_FULL_RANGE  ? 2
                 : quantization == V4L2_QUANTIZATION_LIM_RANGE ? 1
                                                               : 0,
    };
}
