// SPDX-License-Identifier: Apache-2.0
// Buffers: TPipe with TBuf and TQue, and the allocator of 9.x.
#pragma once

#include <cstdint>

#include "ascendc/resource_pipe.h"
#include "ascendc/resource_pool.h"
#include "ascendc/resource_queue.h"
#include "ascendc/resource_spm.h"

namespace AscendC {

// 9.x: buffers one after the other in a memory, without TPipe.
template <Hardware hard = Hardware::UB>
class LocalMemAllocator {
public:
    uint32_t GetCurAddr() const { return head_; }
    template <TPosition pos, class T, uint32_t count>
    LocalTensor<T> Alloc(sim::Site site = sim::Site::Here()) {
        return Alloc<pos, T>(count, site);
    }
    template <TPosition pos, class T>
    LocalTensor<T> Alloc(uint32_t count, sim::Site site = sim::Site::Here()) {
        static_assert(GetPhyType(pos) == hard, "the position is not of this memory");
        const uint32_t address = head_;
        head_ += static_cast<uint32_t>((BytesOf<T>(count) + ONE_BLK_SIZE - 1) / ONE_BLK_SIZE * ONE_BLK_SIZE);
        const uint64_t usable = sim::UsableBytes(SpaceOf(hard));
        sim::RequireUse(usable == 0 || head_ <= usable, "Alloc", "the memory is full", site);
        return LocalTensor<T>(pos, address, count);
    }
    template <class T, uint32_t count>
    LocalTensor<T> Alloc(sim::Site site = sim::Site::Here()) {
        return Alloc<kPosition, T>(count, site);
    }
    template <class T>
    LocalTensor<T> Alloc(uint32_t count, sim::Site site = sim::Site::Here()) {
        return Alloc<kPosition, T>(count, site);
    }

private:
    static constexpr TPosition DefaultPosition() {
        switch (hard) {
            case Hardware::L1:
                return TPosition::A1;
            case Hardware::L0A:
                return TPosition::A2;
            case Hardware::L0B:
                return TPosition::B2;
            case Hardware::L0C:
                return TPosition::CO1;
            case Hardware::BIAS:
                return TPosition::C2;
            case Hardware::FIXBUF:
                return TPosition::C2PIPE2GM;
            default:
                return TPosition::VECCALC;
        }
    }
    static constexpr TPosition kPosition = DefaultPosition();

    uint32_t head_ = 0;
};

}  // namespace AscendC

using AscendC::GetTPipePtr;
