// SPDX-License-Identifier: Apache-2.0
// TBufPool: a part of a memory with buffers of its own, that may share its bytes with another pool.
#pragma once

#include <cstdint>

#include "ascendc/resource_queue.h"

namespace AscendC {

constexpr uint32_t defaultBufIDSize = 4;

namespace detail {

template <uint32_t bufIDSize>
struct BufPool {
    // At least as many as the device's pools hold, so that what fits there fits here.
    static constexpr int kBuffers = bufIDSize < 16 ? 16 : bufIDSize;

    void Cover(uint32_t begin, uint32_t bytes) {
        curBufSize_ = 0;
        startAddr_ = begin;
        maxAddr_ = begin;
        maxLen_ = bytes;
    }
    template <typename Other>
    void Share(const Other& other, uint32_t bytes, sim::Site site) {
        sim::RequireUse(bytes > 0 && RoundUp(bytes) <= other.maxLen_, "InitBufPool",
                        "a pool cannot be empty, nor longer than the pool whose memory it shares", site);
        Cover(other.startAddr_, other.maxLen_);
    }
    uint32_t Claim(uint64_t bytes, sim::Site site) {
        sim::RequireUse(bytes > 0, "InitBuffer", "a buffer needs at least one byte", site);
        sim::RequireUse(maxAddr_ + bytes <= uint64_t{startAddr_} + maxLen_, "InitBuffer",
                        "the buffers of this TBufPool exceed its part of the memory", site);
        const uint32_t begin = maxAddr_;
        maxAddr_ += static_cast<uint32_t>(bytes);
        return begin;
    }
    TBufType* Take(int count, uint32_t bytes, HardEvent freeEvent, sim::Site site) {
        sim::RequireUse(curBufSize_ + count <= kBuffers, "InitBuffer", "the TBufPool has no room for more buffers",
                        site);
        const uint32_t size = RoundUp(bytes);
        const uint32_t address = Claim(uint64_t{static_cast<uint32_t>(count)} * size, site);
        TBufType* first = buf_ + curBufSize_;
        curBufSize_ = static_cast<uint8_t>(curBufSize_ + count);
        return Carve(first, count, address, size, freeEvent);
    }
    void Reset(sim::Site site) {
        Drain(buf_, curBufSize_, site);
        Cover(0, 0);
    }

    TBufType buf_[kBuffers];
    uint8_t curBufSize_ = 0;
    uint32_t startAddr_ = 0;
    uint32_t maxAddr_ = 0;
    uint32_t maxLen_ = 0;
};

}  // namespace detail

template <TPosition pos, uint32_t bufIDSize = defaultBufIDSize>
class TBufPool {
public:
    static constexpr TPosition poolPos = pos;
    static constexpr bool isTbufPool = true;
    static_assert(GetPhyType(pos) == Hardware::UB || GetPhyType(pos) == Hardware::L1, "a TBufPool lies in UB or L1");

    TBufPool() = default;
    // Waits for events like the device's destructor, so it may end the core.
    ~TBufPool() noexcept(false) {
        if (!sim::CoreIsEnding()) {
            pool_.Reset(site_);
        }
    }
    TBufPool(const TBufPool&) = delete;
    TBufPool& operator=(const TBufPool&) = delete;

    template <class T>
    bool InitBuffer(T& que, uint8_t num, uint32_t len, sim::Site site = sim::Site::Here()) {
        static_assert(T::isTQue, "InitBuffer(que, num, len) is for queues; a TBuf has one buffer");
        static_assert(GetPhyType(GetPosition(T::srcPosition, T::dstPosition)) == GetPhyType(pos),
                      "the queue lies in another memory than the pool");
        sim::RequireUse(num > 0, "InitBuffer", "a queue needs at least one buffer", site);
        site_ = site;
        que.Attach(pool_.Take(num, len, T::freeBufEvt, site), num, site);
        return true;
    }
    template <TPosition bufPos>
    bool InitBuffer(TBuf<bufPos>& buf, uint32_t len, sim::Site site = sim::Site::Here()) {
        static_assert(GetPhyType(bufPos) == GetPhyType(pos), "the TBuf lies in another memory than the pool");
        buf.Attach(pool_.Take(1, len, HardEvent::MAX, site));
        return true;
    }
    template <class T>
    bool InitBufPool(T& bufPool, uint32_t len, sim::Site site = sim::Site::Here()) {
        static_assert(T::isTbufPool && GetPhyType(T::poolPos) == GetPhyType(pos),
                      "the pools lie in different memories");
        const uint32_t size = detail::RoundUp(len);
        const uint32_t begin = pool_.Claim(size, site);
        bufPool.Pool().Cover(begin, size);
        return true;
    }
    template <class T, class U>
    bool InitBufPool(T& bufPool, uint32_t len, U& shareBuf, sim::Site site = sim::Site::Here()) {
        static_assert(T::isTbufPool && U::isTbufPool, "InitBufPool is for TBufPool");
        static_assert(GetPhyType(T::poolPos) == GetPhyType(U::poolPos), "the two pools lie in different memories");
        bufPool.Pool().Share(shareBuf.Pool(), len, site);
        return true;
    }
    void Reset(sim::Site site = sim::Site::Here()) { pool_.Reset(site); }

private:
    friend class TPipe;
    template <TPosition other, uint32_t otherSize>
    friend class TBufPool;

    detail::BufPool<bufIDSize>& Pool() { return pool_; }

    detail::BufPool<bufIDSize> pool_;
    sim::Site site_{"", 0};
};

}  // namespace AscendC

// What a kernel's own pool class consists of; the class adds its InitBuffer.
#define EXTERN_IMPL_BUFPOOL(EXT_BUFPOOL, POSITION, BUFID_SIZE)                                                     \
public:                                                                                                            \
    static constexpr AscendC::TPosition poolPos = POSITION;                                                        \
    static constexpr int bufIDSize = BUFID_SIZE;                                                                   \
    static constexpr bool isTbufPool = true;                                                                       \
    ~EXT_BUFPOOL() noexcept(false) {                                                                               \
        if (!::ascend_attention::sim::CoreIsEnding()) {                                                            \
            Reset();                                                                                               \
        }                                                                                                          \
    }                                                                                                              \
    void Reset(::ascend_attention::sim::Site site = ::ascend_attention::sim::Site::Here()) {                       \
        tBufPoolImpl.Reset(site);                                                                                  \
    }                                                                                                              \
    void Init() { tBufPoolImpl.Cover(0, 0); }                                                                      \
    AscendC::TBufHandle GetBufHandle(uint8_t offset,                                                               \
                                     ::ascend_attention::sim::Site site = ::ascend_attention::sim::Site::Here()) { \
        ::ascend_attention::sim::RequireUse(offset < tBufPoolImpl.kBuffers, "GetBufHandle",                        \
                                            "the pool has fewer buffers than that", site);                         \
        return reinterpret_cast<AscendC::TBufHandle>(tBufPoolImpl.buf_ + offset);                                  \
    }                                                                                                              \
    void SetCurAddr(uint32_t curAddr) { tBufPoolImpl.maxAddr_ = curAddr; }                                         \
    uint32_t GetCurAddr() { return tBufPoolImpl.maxAddr_; }                                                        \
    void SetCurBufSize(uint8_t curBufSize) { tBufPoolImpl.curBufSize_ = curBufSize; }                              \
    uint8_t GetCurBufSize() { return tBufPoolImpl.curBufSize_; }                                                   \
                                                                                                                   \
protected:                                                                                                         \
    AscendC::detail::BufPool<BUFID_SIZE> tBufPoolImpl;                                                             \
                                                                                                                   \
private:                                                                                                           \
    friend class AscendC::TPipe;                                                                                   \
    template <AscendC::TPosition pool, uint32_t poolSize>                                                          \
    friend class AscendC::TBufPool;                                                                                \
    AscendC::detail::BufPool<BUFID_SIZE>& Pool() { return tBufPoolImpl; }                                          \
    static_assert(true, "")
