// SPDX-License-Identifier: Apache-2.0
// The registers of LoadData3D: feature maps, padding value, boundary and repeats.
#include "core/core.h"
#include "machine/cube_calls.h"
#include "move/regions.h"

namespace ascend_attention::sim {

void SetFeatureMatrix(bool right, std::uint32_t height, std::uint32_t width, const std::uint8_t pad[4],
                      const Site& site) {
    Core& core = CurrentCore();
    const Call call{"SetFmatrix", Pipe::kScalar, site};
    Access access(core, call);
    access.Require(height <= 32767, "l1H", height, "0..32767");
    access.Require(width <= 32767, "l1W", width, "0..32767");
    core.state.feature_matrix[right ? 1 : 0] =
        FeatureMatrixState{true, height, width, {pad[0], pad[1], pad[2], pad[3]}};
}

void SetLoadBoundary(std::uint32_t boundary, const Site& site) {
    const Call call{"SetLoadDataBoundary", Pipe::kScalar, site};
    Access access(CurrentCore(), call);
    access.Require(boundary == 0 || (boundary >= 1024 && boundary <= 512 * 1024 && boundary % kBlockBytes == 0),
                   "boundaryValue", boundary, "0, or 1024 to the size of L1 in steps of 32 bytes");
    access.core().state.load_repeat.boundary = boundary;
}

void SetLoadRepeat(std::uint32_t stride, std::uint32_t times, std::uint32_t mode, const Site& site) {
    const Call call{"SetLoadDataRepeat", Pipe::kScalar, site};
    Access access(CurrentCore(), call);
    access.Require(stride <= 65535, "repeatStride", stride, "0..65535");
    access.Require(times <= 255, "repeatTime", times, "0..255");
    access.Require(mode <= 1, "repeatMode", mode, "0, 1");
    LoadRepeatState& state = access.core().state.load_repeat;
    state.stride = stride;
    state.times = times;
    state.mode = mode;
}

void SetLoadPaddingValue(std::uint64_t bits, const Site& site) {
    Core& core = CurrentCore();
    const Call call{"SetLoadDataPaddingValue", Pipe::kScalar, site};
    Access access(core, call);
    core.state.load_padding_value = bits;
}

}  // namespace ascend_attention::sim
