// SPDX-License-Identifier: Apache-2.0
// DataCopy with SliceInfo, between GM and UB. On the device the call is a loop of copies; what a kernel can observe is
// what they move together.
#include <cstdint>
#include <string>

#include "core/core.h"
#include "core/findings.h"
#include "machine/move_calls.h"
#include "move/blocks.h"
#include "move/regions.h"

namespace ascend_attention::sim {

namespace {

using Slice = CopySliceCall::Slice;

// How many bursts a slice has, 0 when its numbers do not fit together. `burst`: elements of one.
std::uint64_t BurstsOf(const Slice& slice, std::uint64_t burst) {
    if (slice.start > slice.end || slice.end > slice.shape || burst == 0) {
        return 0;
    }
    const std::uint64_t span = std::uint64_t{slice.end} - slice.start + 1 + slice.stride;
    return span % (burst + slice.stride) == 0 ? span / (burst + slice.stride) : 0;
}

void RequireSlices(Access& access, const CopySliceCall& copy) {
    access.Require(copy.dims >= 1 && copy.dims <= kSliceDims, "dimValue", copy.dims, "1..8");
    access.Require(copy.element_bytes <= 4, "sizeof(T)", copy.element_bytes, "1, 2 or 4");
    const std::uint64_t block = kBlockBytes / copy.element_bytes;
    for (std::uint32_t dim = 0; dim < copy.dims; ++dim) {
        const Slice& from = copy.source_slices[dim];
        const Slice& to = copy.target_slices[dim];
        const std::uint64_t unit = dim == 0 ? block : 1;
        access.Require(from.burst >= 1 && (dim == 0 || from.burst == 1), "burstLen", from.burst,
                       "1 or more in the first dimension, 1 in the others");
        access.Require(to.burst == from.burst, "burstLen of dst", to.burst, "that of src");
        const std::uint64_t bursts = BurstsOf(from, from.burst * unit);
        access.Require(bursts != 0, "endIndex of src", from.end,
                       "startIndex <= endIndex <= shapeValue, and whole bursts with stride between them");
        access.Require(BurstsOf(to, to.burst * unit) == bursts, "endIndex of dst", to.end,
                       "startIndex <= endIndex <= shapeValue, and as many bursts as src has");
        const std::uint32_t ub_stride = copy.target.space == Space::kUb ? to.stride : from.stride;
        access.Require(dim != 0 || ub_stride % block == 0, "stride in UB", ub_stride, "a multiple of 32 bytes");
    }
}

// Offset in elements of the first element of a row of bursts; `index` counts bursts in the outer dimensions.
std::uint64_t OffsetOf(const Slice* slices, const std::uint64_t* index, std::uint32_t dims) {
    std::uint64_t offset = slices[0].start;
    std::uint64_t size = 1;
    for (std::uint32_t dim = 1; dim < dims; ++dim) {
        size *= slices[dim - 1].shape;
        offset += (slices[dim].start + index[dim] * (1ULL + slices[dim].stride)) * size;
    }
    return offset;
}

}  // namespace

void Execute(const CopySliceCall& copy) {
    const bool in = copy.source.space == Space::kGlobal;
    const Call call{"DataCopy", in ? Pipe::kMte2 : Pipe::kMte3, copy.site};
    Access access(CurrentCore(), call);
    access.RequireSpace(in ? copy.target : copy.source, in ? "dst" : "src", Space::kUb);
    access.RequireSpace(in ? copy.source : copy.target, in ? "src" : "dst", Space::kGlobal);
    RequireSlices(access, copy);
    const std::uint64_t size = copy.element_bytes;
    const std::uint64_t burst = copy.source_slices[0].burst * kBlockBytes;
    const Blocks blocks{burst, BurstsOf(copy.source_slices[0], burst / size),
                        burst + copy.source_slices[0].stride * size, burst + copy.target_slices[0].stride * size};
    std::uint64_t index[kSliceDims] = {};
    for (std::uint32_t dim = 0; dim < copy.dims;) {
        const Operand source = Shifted(copy.source, OffsetOf(copy.source_slices, index, copy.dims) * size);
        const Operand target = Shifted(copy.target, OffsetOf(copy.target_slices, index, copy.dims) * size);
        access.RequireAligned(in ? target : source, in ? "dst" : "src", kBlockBytes);
        MoveBlocks(access, target, source, blocks);
        for (dim = 1; dim < copy.dims; ++dim) {
            if (++index[dim] < BurstsOf(copy.source_slices[dim], 1)) {
                break;
            }
            index[dim] = 0;
        }
    }
}

void NeedsMatmulService(const char* name, const Site& site) {
    Core& core = CurrentCore();
    const Call call{name, Pipe::kScalar, site};
    Access access(core, call);
    core.Fail("not modelled",
              Describe(call) + " on " + core.name() +
                  ": from UB to L1 the data takes a service of a Matmul object on the cube core",
              std::string(name) + "|" + site.file + ":" + std::to_string(site.line));
}

}  // namespace ascend_attention::sim
