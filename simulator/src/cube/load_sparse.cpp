// SPDX-License-Identifier: Apache-2.0
// LoadDataWithSparse: neighbouring fractals of a matrix that keeps two of every four values, L1 to L0B, and with each
// of them 128 bytes of indices into a memory of its own, which only MmadWithSparse reads.
#include <cstring>

#include "core/core.h"
#include "cube/fractal.h"
#include "machine/cube_calls.h"
#include "move/regions.h"

namespace ascend_attention::sim {

namespace {

constexpr std::uint64_t kIndexBytes = 128;              // per fractal
constexpr std::uint64_t kIndexMemoryBytes = 16 * 1024;  // a quarter of L0B

void RequireRanges(Access& access, const LoadSparseCall& load) {
    access.RequireSpace(load.target, "dst", Space::kL0B);
    access.RequireSpace(load.source, "src", Space::kL1);
    access.RequireSpace(load.indices, "idx", Space::kL1);
    access.Require(load.target.dtype == DType::kInt8 && load.source.dtype == DType::kInt8, "dtype",
                   static_cast<int>(load.target.dtype), "int8_t");
    access.Require(load.indices.dtype == DType::kUint8, "dtype of idx", static_cast<int>(load.indices.dtype),
                   "uint8_t");
    access.Require(load.start_index <= 65535, "startIndex", load.start_index, "0..65535");
    access.Require(load.repeat_times <= 255, "repeatTimes", load.repeat_times, "0..255");
    access.RequireAligned(load.target, "dst", kFractalBytes);
    access.RequireAligned(load.source, "src", kBlockBytes);
    access.RequireAligned(load.indices, "idx", kBlockBytes);
}

}  // namespace

void Execute(const LoadSparseCall& load) {
    const Call call{"LoadDataWithSparse", Pipe::kMte1, load.site};
    Access access(CurrentCore(), call);
    RequireRanges(access, load);
    if (load.repeat_times == 0) {
        return;
    }
    const std::uint64_t bytes = load.repeat_times * kFractalBytes;
    const std::uint64_t from = load.start_index * kFractalBytes;
    const Region indices{load.start_index * kIndexBytes, load.repeat_times * kIndexBytes};
    const std::byte* data = access.ReadsToCarry(load.source, "src", Region{from, bytes});
    // Indices are decoded, so undefined ones are reported here: their memory has no address that a finding could name.
    const std::byte* index_data = access.Reads(load.indices, "idx", indices);
    std::byte* result = access.Writes(load.target, "dst", Region{0, bytes});
    std::memcpy(result, data + from, bytes);
    std::vector<std::byte>& memory = access.core().state.sparse_indices;
    if (memory.empty()) {
        memory.resize(kIndexMemoryBytes);
        Poison(memory.data(), memory.size());
    }
    std::memcpy(memory.data() + load.target.address / kFractalBytes * kIndexBytes, index_data + indices.offset,
                indices.bytes);
    if (access.ChecksInitialisation()) {
        access.Carries(load.target, 0, load.source, from, bytes);
    }
}

}  // namespace ascend_attention::sim
