// SPDX-License-Identifier: Apache-2.0
// LoadData with LoadData3DParamsV2: a window of the image-to-column matrix of a feature map in L1. To L0A the window
// arrives as it is (ZZ) or transposed, to L0B always transposed (ZN). Repeats (SetLoadDataRepeat) put several windows
// one after the other, along m or along k, as one larger window.
#include <algorithm>

#include "core/core.h"
#include "cube/feature_map.h"
#include "cube/fractal.h"
#include "cube/load_3d_window.h"
#include "machine/cube_calls.h"
#include "move/regions.h"

namespace ascend_attention::sim {

namespace {

constexpr CostRows kCosts = OneCostRow("LoadData 3D");

bool IsNop(const Load3dCall& load) {
    return load.l1_height == 0 || load.l1_width == 0 || load.channels == 0 || load.k_extension == 0 ||
           load.m_extension == 0 || load.filter_w == 0 || load.filter_h == 0;
}

// A last plane of narrower pixels: a power of two of elements, four or more (eight of 4 bits).
bool ChannelsFit(std::uint32_t channels, DType dtype) {
    const std::uint64_t group = GroupElements(dtype);
    const std::uint64_t rest = channels % group;
    const std::uint64_t least = dtype == DType::kInt4 ? 8 : 4;
    return rest == 0 || (rest >= least && (rest & (rest - 1)) == 0);
}

void RequireRanges(Access& access, const Load3dCall& load) {
    const auto group = static_cast<std::uint32_t>(GroupElements(load.target.dtype));
    const bool to_left = load.target.space == Space::kL0A;
    const DType dtype = load.target.dtype;
    access.RequireSpace(load.source, "src", Space::kL1);
    access.Require(to_left || load.target.space == Space::kL0B, "memory of dst", static_cast<int>(load.target.space),
                   "L0A, L0B");
    access.Require(dtype == DType::kFloat16 || dtype == DType::kBfloat16 || ElementBytes(dtype) == 4 ||
                       (to_left && !load.transpose && IsMatrixType(dtype) && ElementBytes(dtype) == 1),
                   "dtype", static_cast<int>(dtype),
                   "half, bfloat16_t, 32-bit types; 8-bit types and int4b_t to L0A without transposition");
    access.Require(load.source.dtype == dtype, "dtype of src", static_cast<int>(load.source.dtype), "the dtype of dst");
    access.Require(load.l1_height <= 32767, "l1H", load.l1_height, "0..32767");
    access.Require(load.l1_width <= 32767, "l1W", load.l1_width, "0..32767");
    access.Require(load.channels <= 65535 && ChannelsFit(load.channels, dtype), "channelSize", load.channels,
                   "0..65535: whole groups of 32 bytes, then 0, 4, 8 or 16 elements (8, 16 or 32 of int4b_t) less than "
                   "a group");
    access.Require(load.k_extension <= 65535, "kExtension", load.k_extension, "0..65535");
    access.Require(load.m_extension <= 65535, "mExtension", load.m_extension, "0..65535");
    access.Require(load.k_start <= 65535 && load.k_start % group == 0, "kStartPt", load.k_start,
                   "0..65535, a multiple of 32 bytes");
    access.Require(load.m_start <= 32767, "mStartPt", load.m_start, "0..32767");
    access.Require(load.stride_w >= 1 && load.stride_w <= 63, "strideW", load.stride_w, "1..63");
    access.Require(load.stride_h >= 1 && load.stride_h <= 63, "strideH", load.stride_h, "1..63");
    access.Require(load.filter_w <= 511, "filterW", load.filter_w, "0..255, plus 256 with filterSizeW");
    access.Require(load.filter_h <= 511, "filterH", load.filter_h, "0..255, plus 256 with filterSizeH");
    access.Require(load.dilation_w >= 1 && load.dilation_w <= 255, "dilationFilterW", load.dilation_w, "1..255");
    access.Require(load.dilation_h >= 1 && load.dilation_h <= 255, "dilationFilterH", load.dilation_h, "1..255");
    access.Require(!load.small_k, "enSmallK", 1, "false on this architecture");
    access.RequireAligned(load.target, "dst", kFractalBytes);
    access.RequireAligned(load.source, "src", kBlockBytes);
}

void RequireRepeats(Access& access, const Load3dCall& load, const LoadRepeatState& repeat) {
    const std::uint64_t group = GroupElements(load.target.dtype);
    const bool turns = load.transpose || load.target.space == Space::kL0B;
    if (repeat.times == 1) {
        return;
    }
    if (repeat.mode == 0) {
        access.Require(load.m_extension % kFractalRows == 0, "mExtension", load.m_extension,
                       "a multiple of 16 with repeats along m");
    } else {
        access.Require(load.k_extension % group == 0, "kExtension", load.k_extension,
                       "a multiple of 32 bytes with repeats along k");
        access.Require(turns || load.m_extension <= kFractalRows, "mExtension", load.m_extension,
                       "1..16 with repeats along k without transposition (the documents leave the order of more open)");
    }
}

}  // namespace

void Execute(const Load3dCall& given) {
    Core& core = CurrentCore();
    const Call call{"LoadData", Pipe::kMte1, given.site};
    Access access(core, call);
    access.CostsAs(kCosts, 0);
    FeatureMatrixState& image = core.state.feature_matrix[given.right_fmatrix ? 1 : 0];
    if (given.sets_fmatrix) {
        image = FeatureMatrixState{
            true, given.l1_height, given.l1_width, {given.pad[0], given.pad[1], given.pad[2], given.pad[3]}};
    }
    if (given.sets_pad_value) {
        core.state.load_padding_value = given.pad_value;
    }
    access.Require(image.specified, "isSetFMatrix", 0, "true, or a SetFmatrix before");
    Load3dCall load = given;
    load.l1_height = image.height;
    load.l1_width = image.width;
    RequireRanges(access, load);
    const LoadRepeatState& repeat = core.state.load_repeat;
    if (IsNop(load) || repeat.times == 0) {
        return;
    }
    RequireRepeats(access, load, repeat);
    access.Require(repeat.boundary == 0 || load.source.address < repeat.boundary, "address of src",
                   static_cast<std::int64_t>(load.source.address), "below the boundary of SetLoadDataBoundary");
    FeatureMap map(load, image);
    const std::uint64_t per_group = GroupElements(load.target.dtype);
    const std::uint64_t m_repeats = repeat.mode == 0 ? repeat.times : 1;
    const std::uint64_t k_repeats = repeat.mode == 0 ? 1 : repeat.times;
    const std::uint64_t groups = CeilDivide(load.k_extension, per_group);
    const std::uint64_t last_group = load.k_start / per_group + (k_repeats - 1) * repeat.stride + groups;
    access.Require(
        last_group <= map.groups(), "kStartPt + kExtension",
        static_cast<std::int64_t>(load.k_start + (k_repeats - 1) * repeat.stride * per_group + load.k_extension),
        "at most channelSize * filterH * filterW");
    for (std::uint64_t i = 0; i < m_repeats; ++i) {
        const std::uint64_t first = load.m_start + i * repeat.stride * kFractalRows;
        access.Require(first < map.rows(), "mStartPt", static_cast<std::int64_t>(first),
                       "below the number of output positions");
        const std::uint64_t rows = std::min<std::uint64_t>(load.m_extension, map.rows() - first);
        access.Require(rows == load.m_extension || i + 1 == m_repeats, "mExtension", load.m_extension,
                       "within the output positions for all repeats but the last");
        map.ChooseRows(first, rows);
    }
    const WindowPlacement placement(load, m_repeats * load.m_extension, k_repeats * groups);
    const WindowPlacement::Regions written = placement.Written();
    access.Writes(load.target, "dst", written.whole);
    std::byte* result = access.Writes(load.target, "dst", written.half);
    LoadWindow window(access, load, map, placement, result);
    for (std::uint64_t i = 0; i < k_repeats; ++i) {
        for (std::uint64_t group = 0; group < groups; ++group) {
            window.Move(load.k_start / per_group + i * repeat.stride + group, i * groups + group);
        }
    }
    window.UndefineRest();
}

}  // namespace ascend_attention::sim
