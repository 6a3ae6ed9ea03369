// SPDX-License-Identifier: Apache-2.0
// TPipe, TBuf and TQue: addresses of buffers, and the hidden events of queues. They hold no data and live where the
// kernel puts them; the only state outside is which TPipe a core runs with, and that is the machine's.
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
        destroyed_ = true;
        DrainQueues(site);
        if constexpr (g_coreType == AIC) {
            for (int i = 0; i < kMatmulEvents; ++i) {
                WaitFlagOf<HardEvent::M_MTE1>(i, true, site);
                ReleaseEventID<HardEvent::M_MTE1>(static_cast<TEventID>(i), site);
            }
        }
        sim::Barrier(sim::Pipe::kAll, site);
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
        que.bufStart = Take(kPool, num, len, T::freeBufEvt, site);
        que.bufNum = num;
        que.bufCursor = 0;
        que.bufUsedCount = 0;
        que.usedCount = 0;
        que.head = 0;
        que.tail = 0;
        return true;
    }

    template <TPosition pos>
    bool InitBuffer(TBuf<pos>& buf, uint32_t len, sim::Site site = sim::Site::Here()) {
        buf.bufStart = Take(GetPhyType(pos), 1, len, HardEvent::MAX, site);
        buf.bufLen = buf.bufStart->dataLen;
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

private:
    static constexpr int kMatmulEvents = 3;

    void ResetPool() {
        used_ = 0;
        for (uint32_t& end : ends_) {
            end = 0;
        }
        for (TBufType& buffer : buffers_) {
            buffer = TBufType{};
        }
    }

    // Buffers that were freed by FreeTensor still have their "free" event pending.
    void DrainQueues(sim::Site site) {
        for (int i = 0; i < used_; ++i) {
            TBufType& buffer = buffers_[i];
            if (buffer.freeBufEvtID != INVALID_TEVENTID) {
                const PipePair pair = PipesOf(buffer.freeBufEvt);
                sim::WaitEvent(pair.source, pair.target, buffer.freeBufEvtID, true, site);
                sim::ReleaseEvent(pair.source, pair.target, buffer.freeBufEvtID, site);
                buffer.freeBufEvtID = INVALID_TEVENTID;
            }
        }
    }

    TBufType* Take(Hardware pool, int count, uint32_t bytes, HardEvent freeEvent, sim::Site site) {
        constexpr uint32_t kReserved = 256;
        sim::RequireUse(bytes > 0, "InitBuffer", "a buffer needs at least one byte", site);
        sim::RequireUse(pool != Hardware::GM, "InitBuffer", "a buffer cannot lie in global memory", site);
        sim::RequireUse(used_ + count <= kMaxBuffers, "InitBuffer", "TPipe manages at most 64 buffers", site);
        const uint32_t size = (bytes + ONE_BLK_SIZE - 1) / ONE_BLK_SIZE * ONE_BLK_SIZE;
        uint32_t& end = ends_[static_cast<int>(pool)];
        // A core may lay out the other core type's memories as long as it never uses them. The last 256 bytes are
        // checked where they are accessed.
        const uint64_t usable = sim::UsableBytes(SpaceOf(pool));
        sim::RequireUse(usable == 0 || end + uint64_t(count) * size <= usable + kReserved, "InitBuffer",
                        "the buffers of this TPipe exceed the memory of their position", site);
        TBufType* first = buffers_ + used_;
        for (int i = 0; i < count; ++i) {
            TBufType& buffer = buffers_[used_++];
            buffer = TBufType{};
            buffer.freeBufEvt = freeEvent;
            buffer.address = end;
            buffer.dataLen = size;
            end += size;
        }
        return first;
    }

    TBufType buffers_[kMaxBuffers];
    int used_ = 0;
    uint32_t ends_[static_cast<int>(Hardware::MAX)] = {};
    bool destroyed_ = false;
    sim::Site site_{"", 0};
};

template <TPosition src, TPosition dst, int32_t depth, auto mask>
class TQueBind {
public:
    static constexpr TPosition srcPosition = src;
    static constexpr TPosition dstPosition = dst;
    static constexpr HardEvent enQueEvt = GetQueEvt(GetPhyType(src), GetPhyType(dst), true);
    static constexpr HardEvent freeBufEvt = GetQueEvt(GetPhyType(src), GetPhyType(dst), false);
    static constexpr bool isTQue = true;

    template <typename T>
    LocalTensor<T> AllocTensor(sim::Site site = sim::Site::Here()) {
        sim::RequireUse(bufNum > 0, "AllocTensor", "the queue has no buffers: InitBuffer is missing", site);
        TBufType* found = nullptr;
        for (int i = 0; i < bufNum && found == nullptr; ++i) {
            TBufType* candidate = bufStart + bufCursor;
            bufCursor = static_cast<uint8_t>((bufCursor + 1) % bufNum);
            found = candidate->state == TBufState::FREE ? candidate : nullptr;
        }
        sim::RequireUse(found != nullptr, "AllocTensor", "no buffer of the queue is free: FreeTensor is missing", site);
        found->state = TBufState::OCCUPIED;
        if (found->freeBufEvtID != INVALID_TEVENTID) {
            WaitFlagOf<freeBufEvt>(found->freeBufEvtID, true, site);
            GetTPipePtr()->template ReleaseEventID<freeBufEvt>(found->freeBufEvtID, site);
            found->freeBufEvtID = INVALID_TEVENTID;
        }
        ++bufUsedCount;
        return ToTensor<T>(found);
    }

    template <typename T>
    void FreeTensor(LocalTensor<T>& tensor, sim::Site site = sim::Site::Here()) {
        TBufType* buffer = Own(tensor, "FreeTensor", site);
        sim::RequireUse(buffer->state != TBufState::FREE, "FreeTensor", "the tensor's buffer is free already", site);
        buffer->freeBufEvtID = GetTPipePtr()->template AllocEventID<freeBufEvt>(site);
        SetFlagOf<freeBufEvt>(buffer->freeBufEvtID, true, site);
        buffer->state = TBufState::FREE;
        --bufUsedCount;
    }

    template <typename T>
    bool EnQue(const LocalTensor<T>& tensor, sim::Site site = sim::Site::Here()) {
        return EnQueWith<enQueEvt>(tensor, site);
    }
    template <TPosition srcUserPos, TPosition dstUserPos, typename T>
    bool EnQue(const LocalTensor<T>& tensor, sim::Site site = sim::Site::Here()) {
        return EnQueWith<UserEvent<srcUserPos, dstUserPos>()>(tensor, site);
    }

    template <typename T>
    LocalTensor<T> DeQue(sim::Site site = sim::Site::Here()) {
        return DeQueWith<enQueEvt, T>(site);
    }
    template <TPosition srcUserPos, TPosition dstUserPos, typename T>
    LocalTensor<T> DeQue(sim::Site site = sim::Site::Here()) {
        return DeQueWith<UserEvent<srcUserPos, dstUserPos>(), T>(site);
    }

    bool VacantInQue() const { return usedCount < kSlots; }
    bool HasTensorInQue() const { return usedCount > 0; }
    int32_t GetTensorCountInQue() const { return usedCount; }
    bool HasIdleBuffer() const { return bufUsedCount < bufNum; }
    template <typename T>
    TBufState GetState(const LocalTensor<T>& tensor) const {
        const TBufHandle handle = tensor.GetBufferHandle();
        return handle == nullptr ? TBufState::FREE : reinterpret_cast<const TBufType*>(handle)->state;
    }
    void FreeAllEvent(sim::Site site = sim::Site::Here()) {
        for (int i = 0; i < bufNum; ++i) {
            TBufType& buffer = bufStart[i];
            if (buffer.freeBufEvtID != INVALID_TEVENTID) {
                WaitFlagOf<freeBufEvt>(buffer.freeBufEvtID, true, site);
                GetTPipePtr()->template ReleaseEventID<freeBufEvt>(buffer.freeBufEvtID, site);
                buffer.freeBufEvtID = INVALID_TEVENTID;
            }
        }
    }

protected:
    friend class TPipe;
    static constexpr int kSlots = depth > 0 ? depth : 1;

    template <TPosition userSource, TPosition userTarget>
    static constexpr HardEvent UserEvent() {
        constexpr Hardware source = GetPhyType(userSource);
        constexpr Hardware target = GetPhyType(userTarget);
        static_assert(source == Hardware::GM || source == Hardware::UB,
                      "positions of EnQue are GM, VECIN, VECOUT, VECCALC");
        // VECIN and VECOUT are UB: GM to UB, UB to GM, or UB to UB.
        return GetQueEvt(source, target, true);
    }

    template <HardEvent event, typename T>
    bool EnQueWith(const LocalTensor<T>& tensor, sim::Site site) {
        TBufType* buffer = Own(tensor, "EnQue", site);
        sim::RequireUse(usedCount < kSlots, "EnQue", "the queue is full: more tensors than its depth", site);
        sim::RequireUse(buffer->state == TBufState::OCCUPIED || buffer->state == TBufState::DEQUE, "EnQue",
                        "the tensor is not allocated from this queue, or is in the queue already", site);
        que_[tail] = buffer;
        tail = (tail + 1) % kSlots;
        ++usedCount;
        buffer->state = TBufState::ENQUE;
        buffer->userEnQueEvt = event;
        buffer->enQueEvtID = GetTPipePtr()->template AllocEventID<event>(site);
        SetFlagOf<event>(buffer->enQueEvtID, true, site);
        return true;
    }

    template <HardEvent event, typename T>
    LocalTensor<T> DeQueWith(sim::Site site) {
        sim::RequireUse(usedCount > 0, "DeQue", "the queue is empty", site);
        TBufType* buffer = que_[head];
        sim::RequireUse(buffer->userEnQueEvt == event, "DeQue", "EnQue and DeQue name different positions", site);
        head = (head + 1) % kSlots;
        --usedCount;
        buffer->state = TBufState::DEQUE;
        WaitFlagOf<event>(buffer->enQueEvtID, true, site);
        GetTPipePtr()->template ReleaseEventID<event>(buffer->enQueEvtID, site);
        buffer->enQueEvtID = INVALID_TEVENTID;
        return ToTensor<T>(buffer);
    }

    template <typename T>
    TBufType* Own(const LocalTensor<T>& tensor, const char* name, sim::Site site) const {
        TBufType* buffer = reinterpret_cast<TBufType*>(tensor.GetBufferHandle());
        sim::RequireUse(buffer >= bufStart && buffer < bufStart + bufNum, name, "the tensor is not of this queue",
                        site);
        return buffer;
    }

    template <typename T>
    LocalTensor<T> ToTensor(TBufType* buffer) const {
        TBuffAddr address;
        address.logicPos = static_cast<uint8_t>(GetPosition(src, dst));
        address.bufferHandle = reinterpret_cast<TBufHandle>(buffer);
        address.bufferAddr = buffer->address;
        address.dataLen = buffer->dataLen;
        address.bufferBegin = buffer->address;
        address.bufferEnd = buffer->address + buffer->dataLen;
        LocalTensor<T> tensor;
        tensor.SetAddr(address);
        return tensor;
    }

    TBufType* bufStart = nullptr;
    TBufType* que_[kSlots] = {};
    int head = 0;
    int tail = 0;
    int usedCount = 0;
    uint8_t bufNum = 0;
    uint8_t bufCursor = 0;
    uint8_t bufUsedCount = 0;
};

template <TPosition pos, int32_t depth, auto mask = 0>
class TQue : public TQueBind<GetBufferLogicPos(pos, true), GetBufferLogicPos(pos, false), depth, mask> {};

template <TPosition pos, int32_t depth = 1, auto mask = 0>
using TSCM = TQueBind<pos, TPosition::TSCM, depth, mask>;

template <TPosition pos>
class TBuf {
public:
    static constexpr bool isTQue = false;

    template <typename T>
    LocalTensor<T> Get(sim::Site site = sim::Site::Here()) {
        return At<T>(bufLen, 0, "Get", site);
    }
    template <typename T>
    LocalTensor<T> Get(uint32_t len, sim::Site site = sim::Site::Here()) {
        return At<T>(BytesOf<T>(len), 0, "Get", site);
    }
    // `size` in elements, `bufOffset` in bytes.
    template <typename T>
    LocalTensor<T> GetWithOffset(uint32_t size, uint32_t bufOffset, sim::Site site = sim::Site::Here()) {
        return At<T>(BytesOf<T>(size), bufOffset, "GetWithOffset", site);
    }

    template <typename T>
    void EnQue(const LocalTensor<T>&) {}
    template <typename T>
    LocalTensor<T> DeQue(sim::Site site = sim::Site::Here()) {
        return Get<T>(site);
    }
    template <typename T>
    LocalTensor<T> AllocTensor(sim::Site site = sim::Site::Here()) {
        return Get<T>(site);
    }
    template <typename T>
    void FreeTensor(LocalTensor<T>&) {}
    uint32_t GetBufLen() const { return bufLen; }

private:
    friend class TPipe;

    template <typename T>
    LocalTensor<T> At(uint64_t bytes, uint32_t offset, const char* name, sim::Site site) {
        sim::RequireUse(bufStart != nullptr, name, "the TBuf has no buffer: InitBuffer is missing", site);
        sim::RequireUse(offset + bytes <= bufLen, name, "more elements than the TBuf holds", site);
        TBuffAddr address;
        address.logicPos = static_cast<uint8_t>(pos);
        address.bufferHandle = reinterpret_cast<TBufHandle>(bufStart);
        address.bufferAddr = bufStart->address + offset;
        address.dataLen = static_cast<uint32_t>(bytes);
        address.bufferBegin = bufStart->address;
        address.bufferEnd = bufStart->address + bufLen;
        LocalTensor<T> tensor;
        tensor.SetAddr(address);
        return tensor;
    }

    TBufType* bufStart = nullptr;
    uint32_t bufLen = 0;
};

// 9.x: buffers one after the other in a memory, without TPipe.
template <Hardware hard>
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
