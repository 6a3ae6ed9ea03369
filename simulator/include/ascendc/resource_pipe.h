// SPDX-License-Identifier: Apache-2.0
// TPipe: where buffers lie, which event ids are taken. It holds no data and lives where the kernel puts it; the only
// state outside is which TPipe a core runs with, and that is the machine's.
#pragma once

#include <cstdint>

#include "ascendc/sync.h"
#include "ascendc/tensor.h"

namespace AscendC {

constexpr TEventID INVALID_TEVENTID = -1;
constexpr int kMaxBuffers = 64;

enum class TBufState : uint8_t { FREE = 0, OCCUPIED, ENQUE, DEQUE };

struct TBufType {
    TBufState state = TBufState::FREE;
    HardEvent freeBufEvt = HardEvent::MAX;
    TEventID enQueEvtID = INVALID_TEVENTID;
    TEventID freeBufEvtID = INVALID_TEVENTID;
    HardEvent userEnQueEvt = HardEvent::MAX;
    uint32_t address = 0;
    uint32_t dataLen = 0;
    TTagType usertag = -1;
};

// The event that orders a queue's producer before its consumer (forward), or the other way round when a buffer is
// reused.
constexpr HardEvent GetQueEvt(Hardware source, Hardware target, bool forward) {
    HardEvent ahead = HardEvent::MAX;
    HardEvent back = HardEvent::MAX;
    const bool to_l0 = target == Hardware::L0A || target == Hardware::L0B;
    if (source == Hardware::GM) {
        if (target == Hardware::UB) {
            ahead = HardEvent::MTE2_V;
            back = HardEvent::V_MTE2;
        } else if (target == Hardware::L1) {
            ahead = HardEvent::MTE2_MTE1;
            back = HardEvent::MTE1_MTE2;
        } else if (to_l0) {
            ahead = HardEvent::MTE2_M;
            back = HardEvent::M_MTE2;
        }
    } else if (source == Hardware::UB) {
        if (target == Hardware::GM) {
            ahead = HardEvent::V_MTE3;
            back = HardEvent::MTE3_V;
        } else if (target == Hardware::L1) {
            ahead = HardEvent::MTE3_MTE1;
            back = HardEvent::MTE1_MTE3;
        } else if (target == Hardware::UB) {
            ahead = HardEvent::MTE2_MTE3;
            back = HardEvent::MTE3_MTE2;
        }
    } else if (source == Hardware::L1) {
        if (to_l0 || target == Hardware::BIAS) {
            ahead = HardEvent::MTE1_M;
            back = HardEvent::M_MTE1;
        } else if (target == Hardware::FIXBUF) {
            ahead = HardEvent::MTE1_FIX;
            back = HardEvent::FIX_MTE1;
        }
    } else if (source == Hardware::L0C && target == Hardware::GM) {
        ahead = HardEvent::M_FIX;
        back = HardEvent::FIX_M;
    }
    return forward ? ahead : back;
}

constexpr TPosition GetBufferLogicPos(TPosition position, bool isSource) {
    switch (position) {
        case TPosition::A1:
        case TPosition::B1:
        case TPosition::C1:
        case TPosition::VECIN:
            return isSource ? TPosition::GM : position;
        case TPosition::A2:
            return isSource ? TPosition::A1 : position;
        case TPosition::B2:
            return isSource ? TPosition::B1 : position;
        case TPosition::C2:
            return isSource ? TPosition::C1 : position;
        case TPosition::CO1:
            return isSource ? position : TPosition::CO2;
        case TPosition::CO2:
        case TPosition::VECOUT:
            return isSource ? position : TPosition::GM;
        case TPosition::SPM:
            return isSource ? TPosition::VECOUT : TPosition::GM;
        case TPosition::C2PIPE2GM:
            return isSource ? TPosition::B1 : position;
        default:
            return TPosition::MAX;
    }
}

struct DataCopyParams;

namespace detail {

constexpr uint32_t RoundUp(uint32_t bytes) { return (bytes + ONE_BLK_SIZE - 1) / ONE_BLK_SIZE * ONE_BLK_SIZE; }

// The next `count` buffers of a table, one after the other in memory.
inline TBufType* Carve(TBufType* buffers, int count, uint32_t address, uint32_t size, HardEvent freeEvent) {
    for (int i = 0; i < count; ++i) {
        buffers[i] = TBufType{};
        buffers[i].freeBufEvt = freeEvent;
        buffers[i].address = address + static_cast<uint32_t>(i) * size;
        buffers[i].dataLen = size;
    }
    return buffers;
}

// Buffers that were freed by FreeTensor still have their "free" event pending.
inline void Drain(TBufType* buffers, int count, sim::Site site) {
    for (int i = 0; i < count; ++i) {
        TBufType& buffer = buffers[i];
        if (buffer.freeBufEvtID != INVALID_TEVENTID && buffer.state == TBufState::FREE) {
            const PipePair pair = PipesOf(buffer.freeBufEvt);
            sim::WaitEvent(pair.source, pair.target, buffer.freeBufEvtID, true, site);
            sim::ReleaseEvent(pair.source, pair.target, buffer.freeBufEvtID, site);
            buffer.freeBufEvtID = INVALID_TEVENTID;
        }
        if (buffer.enQueEvtID != INVALID_TEVENTID && buffer.state == TBufState::FREE) {  // of a queue of depth 0
            const PipePair pair = PipesOf(buffer.userEnQueEvt);
            sim::ReleaseEvent(pair.source, pair.target, buffer.enQueEvtID, site);
            buffer.enQueEvtID = INVALID_TEVENTID;
        }
    }
}

}  // namespace detail

class TPipe;
inline TPipe* GetTPipePtr() { return static_cast<TPipe*>(sim::CurrentPipeObject()); }

template <TPosition src, TPosition dst, int32_t depth, auto mask = 0>
class TQueBind;
template <TPosition pos = TPosition::LCM>
class TBuf;

class TPipe {
public:
    TPipe(sim::Site site = sim::Site::Here()) { Init(site); }
    // Waits for events like the device's destructor, so it may end the core.
    ~TPipe() noexcept(false) {
        if (!destroyed_ && !sim::CoreIsEnding()) {
            Destroy(site_);
        }
    }
    TPipe(const TPipe&) = delete;
    TPipe& operator=(const TPipe&) = delete;

    void Init(sim::Site site = sim::Site::Here()) {
        site_ = site;
        sim::RequireUse(GetTPipePtr() == nullptr || GetTPipePtr() == this, "TPipe",
                        "another TPipe is alive: a core has one at a time, Destroy ends it", site);
        sim::ResetMachineState();
        ResetPool();
        // High-level Matmul expects three M_MTE1 events that are set from the start to the end of the kernel; the
        // device's TPipe reserves them whether or not Matmul is used.
        if constexpr (g_coreType == AIC) {
            for (int i = 0; i < kMatmulEvents; ++i) {
                const TEventID id = AllocEventID<HardEvent::M_MTE1>(site);
                SetFlagOf<HardEvent::M_MTE1>(id, true, site);
            }
        }
        sim::SetCurrentPipeObject(this);
        destroyed_ = false;
    }

    void Destroy(sim::Site site = sim::Site::Here()) {
        DestroyWithoutPipeAll(site);
        sim::Barrier(sim::Pipe::kAll, site, true);
    }
    // Without the barrier at the end.
    void DestroyWithoutPipeAll(sim::Site site = sim::Site::Here()) {
        destroyed_ = true;
        DrainQueues(site);
        if constexpr (g_coreType == AIC) {
            for (int i = 0; i < kMatmulEvents; ++i) {
                WaitFlagOf<HardEvent::M_MTE1>(i, true, site);
                ReleaseEventID<HardEvent::M_MTE1>(static_cast<TEventID>(i), site);
            }
        }
        sim::SetCurrentPipeObject(nullptr);
    }

    void Reset(sim::Site site = sim::Site::Here()) {
        DrainQueues(site);
        sim::ResetMachineState();
        ResetPool();
    }

    // A queue of `num` buffers of `len` bytes.
    template <class T>
    bool InitBuffer(T& que, uint8_t num, uint32_t len, sim::Site site = sim::Site::Here()) {
        static_assert(T::isTQue, "InitBuffer(que, num, len) is for queues; a TBuf has one buffer");
        sim::RequireUse(num > 0, "InitBuffer", "a queue needs at least one buffer", site);
        constexpr Hardware kPool = GetPhyType(GetPosition(T::srcPosition, T::dstPosition));
        que.Attach(Take(kPool, num, len, T::freeBufEvt, site), num, site);
        return true;
    }

    template <TPosition pos>
    bool InitBuffer(TBuf<pos>& buf, uint32_t len, sim::Site site = sim::Site::Here()) {
        buf.Attach(Take(GetPhyType(pos), 1, len, HardEvent::MAX, site));
        return true;
    }

    // A part of a memory that a TBufPool hands on, after what has been handed out, or over the same bytes as another.
    template <class T>
    bool InitBufPool(T& bufPool, uint32_t len, sim::Site site = sim::Site::Here()) {
        static_assert(T::isTbufPool, "InitBufPool is for TBufPool");
        constexpr Hardware kPool = GetPhyType(T::poolPos);
        const uint32_t size = detail::RoundUp(len);
        const uint32_t begin = Claim(kPool, size, site);
        bufPool.Pool().Cover(begin, size);
        return true;
    }
    template <class T, class U>
    bool InitBufPool(T& bufPool, uint32_t len, U& shareBuf, sim::Site site = sim::Site::Here()) {
        bufPool.Pool().Share(shareBuf.Pool(), len, site);
        static_assert(T::isTbufPool && U::isTbufPool, "InitBufPool is for TBufPool");
        static_assert(GetPhyType(T::poolPos) == GetPhyType(U::poolPos), "the two pools lie in different memories");
        return true;
    }

    template <HardEvent evt>
    TEventID AllocEventID(sim::Site site = sim::Site::Here()) {
        return static_cast<TEventID>(sim::AllocEvent(PipesOf(evt).source, PipesOf(evt).target, site));
    }
    template <HardEvent evt>
    void ReleaseEventID(TEventID id, sim::Site site = sim::Site::Here()) {
        sim::ReleaseEvent(PipesOf(evt).source, PipesOf(evt).target, id, site);
    }
    template <HardEvent evt>
    TEventID FetchEventID(sim::Site site = sim::Site::Here()) {
        return FetchEventID(evt, site);
    }
    TEventID FetchEventID(HardEvent evt, sim::Site site = sim::Site::Here()) {
        return static_cast<TEventID>(sim::FetchEvent(PipesOf(evt).source, PipesOf(evt).target, site));
    }

    // `size` elements at a byte offset of a memory, without InitBuffer.
    template <TPosition pos, typename T>
    LocalTensor<T> GetAbsAddr(int32_t offset, int32_t size) const {
        return LocalTensor<T>(pos, static_cast<uint32_t>(offset), static_cast<uint32_t>(size));
    }

    template <TPosition pos>
    TBuffAddr GetAbsAddr(int32_t offset, int32_t len) const {
        TBuffAddr address;
        address.logicPos = static_cast<uint8_t>(pos);
        address.bufferAddr = static_cast<uint32_t>(offset);
        address.dataLen = static_cast<uint32_t>(len);
        return address;
    }

    // Temporary data in a workspace. Every access waits for whatever has used the tensor before.
    template <typename T>
    void InitSpmBuffer(const GlobalTensor<T>& workspace, const int32_t bufferSize) {
        spm_ = reinterpret_cast<uint64_t>(workspace.GetPhyAddr());
        spmBytes_ = bufferSize;
    }
    // In L1, which a vector core of this architecture does not have.
    void InitSpmBuffer(const int32_t, sim::Site site = sim::Site::Here()) {
        sim::RequireUse(false, "InitSpmBuffer", "this architecture needs a workspace in global memory", site);
    }
    template <typename T>
    void WriteSpmBuffer(const LocalTensor<T>& writeBuffer, const DataCopyParams& copyParams, int32_t writeOffset = 0,
                        sim::Site site = sim::Site::Here());
    template <typename T>
    void ReadSpmBuffer(const LocalTensor<T>& readBuffer, const DataCopyParams& copyParams, int32_t readOffset = 0,
                       sim::Site site = sim::Site::Here());
    template <typename T>
    void WriteSpmBuffer(const LocalTensor<T>& writeBuffer, const int32_t writeSize, int32_t writeOffset = 0,
                        sim::Site site = sim::Site::Here());
    template <typename T>
    void ReadSpmBuffer(const LocalTensor<T>& readBuffer, const int32_t readSize, int32_t readOffset = 0,
                       sim::Site site = sim::Site::Here());

private:
    static constexpr int kMatmulEvents = 3;

    template <typename T>
    GlobalTensor<T> Spm(int32_t offset, const char* name, sim::Site site) const {
        sim::RequireUse(spm_ != 0, name, "InitSpmBuffer is missing", site);
        sim::RequireUse(offset >= 0 && BytesOf<T>(static_cast<uint64_t>(offset)) < static_cast<uint64_t>(spmBytes_),
                        name, "the offset lies outside the buffer of InitSpmBuffer", site);
        GlobalTensor<T> tensor;
        tensor.SetGlobalBuffer(reinterpret_cast<__gm__ PrimT<T>*>(spm_) + offset);
        return tensor;
    }
    template <HardEvent event>
    void Order(sim::Site site) {
        const TEventID id = FetchEventID<event>(site);
        SetFlagOf<event>(id, true, site);
        WaitFlagOf<event>(id, true, site);
    }

    void ResetPool() {
        used_ = 0;
        for (uint32_t& end : ends_) {
            end = 0;
        }
        for (TBufType& buffer : buffers_) {
            buffer = TBufType{};
        }
    }

    void DrainQueues(sim::Site site) { detail::Drain(buffers_, used_, site); }

    TBufType* Take(Hardware pool, int count, uint32_t bytes, HardEvent freeEvent, sim::Site site) {
        sim::RequireUse(used_ + count <= kMaxBuffers, "InitBuffer", "TPipe manages at most 64 buffers", site);
        const uint32_t size = detail::RoundUp(bytes);
        const uint32_t address = Claim(pool, uint64_t(count) * size, site);
        TBufType* first = buffers_ + used_;
        used_ += count;
        return detail::Carve(first, count, address, size, freeEvent);
    }

    // Where the next `bytes` of a memory start.
    uint32_t Claim(Hardware pool, uint64_t bytes, sim::Site site) {
        constexpr uint32_t kReserved = 256;
        sim::RequireUse(bytes > 0, "InitBuffer", "a buffer needs at least one byte", site);
        sim::RequireUse(pool != Hardware::GM, "InitBuffer", "a buffer cannot lie in global memory", site);
        uint32_t& end = ends_[static_cast<int>(pool)];
        // A core may lay out the other core type's memories as long as it never uses them. The last 256 bytes are
        // checked where they are accessed.
        const uint64_t usable = sim::UsableBytes(SpaceOf(pool));
        sim::RequireUse(usable == 0 || end + bytes <= usable + kReserved, "InitBuffer",
                        "the buffers of this TPipe exceed the memory of their position", site);
        const uint32_t begin = end;
        end += static_cast<uint32_t>(bytes);
        return begin;
    }

    TBufType buffers_[kMaxBuffers];
    int used_ = 0;
    uint32_t ends_[static_cast<int>(Hardware::MAX)] = {};
    uint64_t spm_ = 0;
    int32_t spmBytes_ = 0;
    bool destroyed_ = false;
    sim::Site site_{"", 0};
};

}  // namespace AscendC
