// SPDX-License-Identifier: Apache-2.0
// The registers that Fixpipe takes its configuration from when it is called through DataCopy.
#include "core/access.h"
#include "core/core.h"
#include "machine/cube_calls.h"

namespace ascend_attention::sim {

void SetFixpipeNzToNd(std::uint32_t nd_count, std::uint32_t source_nd_stride, std::uint32_t target_nd_stride,
                      const Site& site) {
    Core& core = CurrentCore();
    const Call call{"SetFixpipeNz2ndFlag", Pipe::kScalar, site};
    Access access(core, call);
    access.Require(nd_count >= 1 && nd_count <= 65535, "ndNum", nd_count, "1..65535");
    access.Require(source_nd_stride <= 512 && (source_nd_stride >= 1 || nd_count == 1), "srcNdStride", source_nd_stride,
                   "1..512, or 0 when ndNum is 1");
    access.Require(target_nd_stride <= 65535 && (target_nd_stride >= 1 || nd_count == 1), "dstNdStride",
                   target_nd_stride, "1..65535, or 0 when ndNum is 1");
    core.state.fixpipe.nd_count = static_cast<std::uint16_t>(nd_count);
    core.state.fixpipe.source_nd_stride = static_cast<std::uint16_t>(source_nd_stride);
    core.state.fixpipe.target_nd_stride = static_cast<std::uint16_t>(target_nd_stride);
}

void SetFixpipeQuantScalar(std::uint64_t scale, const Site& site) {
    Core& core = CurrentCore();
    const Call call{"SetFixpipePreQuantFlag", Pipe::kScalar, site};
    Access access(core, call);
    core.state.fixpipe.quant_scalar = scale;
}

void SetFixpipeTensors(const Operand& tensor, bool for_relu, bool clear_units, const Site& site) {
    Core& core = CurrentCore();
    const Call call{"SetFixPipeConfig", Pipe::kScalar, site};
    Access access(core, call);
    if (clear_units) {
        core.state.unit_flags.fill(0);
    }
    if (for_relu) {
        access.RequireSpace(tensor, "preTensor", Space::kFixpipe);
        core.state.fixpipe.quant_vector_address = 0;  // one register holds both addresses and is written whole
        return;
    }
    // A tensor elsewhere (L0C) is how kernels call this only to clear the unit flags.
    if (tensor.space == Space::kFixpipe) {
        access.RequireAligned(tensor, "quantPre", 128);
        core.state.fixpipe.quant_vector_address = tensor.address;
    } else {
        access.Require(clear_units, "memory of preTensor", static_cast<int>(tensor.space),
                       "the Fixpipe buffer, unless isUnitFlag is true");
    }
}

}  // namespace ascend_attention::sim
