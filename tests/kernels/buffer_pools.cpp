// SPDX-License-Identifier: Apache-2.0
// TBufPool: shared and nested pools, a pool of the kernel's own, queues of depth 0, and what is refused. One case per
// `which`: y becomes 2 x.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr uint32_t kRow = 64;
constexpr uint32_t kBytes = kRow * sizeof(float);

class OwnPool {
public:
    OwnPool() { Init(); }

    template <class T>
    bool InitBuffer(T& queue, uint8_t num, uint32_t len) {
        TBufHandle first = GetBufHandle(GetCurBufSize());
        queue.InitStartBufHandle(first, num, len);
        for (uint32_t i = 0; i < num; ++i) {
            queue.InitBufHandle(this, i, GetBufHandle(GetCurBufSize() + i), GetCurAddr() + i * len, len);
        }
        SetCurAddr(GetCurAddr() + num * len);
        SetCurBufSize(GetCurBufSize() + num);
        return true;
    }
    template <TPosition position>
    bool InitBuffer(TBuf<position>& buffer, uint32_t len) {
        TBufHandle first = GetBufHandle(GetCurBufSize());
        buffer.InitStartBufHandle(first, 1, len);
        buffer.InitBufHandle(this, 0, first, GetCurAddr(), len);
        SetCurAddr(GetCurAddr() + len);
        SetCurBufSize(GetCurBufSize() + 1);
        return true;
    }

    EXTERN_IMPL_BUFPOOL(OwnPool, TPosition::VECCALC, 16);
};

struct Queues {
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECOUT, 1> out;
};

void Double(Queues& queues, const GlobalTensor<float>& x, const GlobalTensor<float>& y, uint32_t row) {
    LocalTensor<float> in = queues.in.AllocTensor<float>();
    DataCopy(in, x[row * kRow], kRow);
    queues.in.EnQue(in);
    in = queues.in.DeQue<float>();
    LocalTensor<float> out = queues.out.AllocTensor<float>();
    Add(out, in, in, kRow);
    queues.out.EnQue(out);
    queues.in.FreeTensor(in);
    out = queues.out.DeQue<float>();
    DataCopy(y[row * kRow], out, kRow);
    queues.out.FreeTensor(out);
}

// Two pools over the same bytes, one after the other; without Reset (2) they race.
void Shared(const GlobalTensor<float>& x, const GlobalTensor<float>& y, TPipe& pipe, bool reset) {
    Queues first;
    Queues second;
    TBufPool<TPosition::VECCALC> one;
    TBufPool<TPosition::VECCALC> two;
    pipe.InitBufPool(one, 2 * kBytes);
    pipe.InitBufPool(two, 2 * kBytes, one);
    one.InitBuffer(first.in, 1, kBytes);
    one.InitBuffer(first.out, 1, kBytes);
    Double(first, x, y, 0);
    if (reset) {
        one.Reset();
    }
    two.InitBuffer(second.in, 1, kBytes);
    two.InitBuffer(second.out, 1, kBytes);
    Double(second, x, y, 1);
    two.Reset();
}

void Nested(const GlobalTensor<float>& x, const GlobalTensor<float>& y, TPipe& pipe) {
    Queues queues;
    TBuf<> spare;
    TBufPool<TPosition::VECCALC> outer;
    TBufPool<TPosition::VECIN> inner;
    TBufPool<TPosition::VECCALC> other;
    pipe.InitBufPool(outer, 4 * kBytes);
    outer.InitBufPool(inner, kBytes);
    outer.InitBuffer(queues.out, 2, kBytes);
    outer.InitBufPool(other, kBytes, inner);
    inner.InitBuffer(queues.in, 1, kBytes);
    other.InitBuffer(spare, kBytes);
    Double(queues, x, y, 0);
    Double(queues, x, y, 1);
    ASSERT(spare.Get<float>().GetPhyAddr() == 0);
    inner.Reset();
    outer.Reset();
}

void Own(const GlobalTensor<float>& x, const GlobalTensor<float>& y, TPipe& pipe) {
    Queues queues;
    TBuf<TPosition::VECIN> spare;
    OwnPool pool;
    pipe.InitBufPool(pool, 4 * kBytes);
    pool.InitBuffer(queues.in, 2, kBytes);
    pool.InitBuffer(queues.out, 1, kBytes);
    pool.InitBuffer(spare, kBytes);
    Double(queues, x, y, 0);
    Double(queues, x, y, 1);
    ASSERT(spare.Get<float>().GetPhyAddr() == 3 * kBytes && pool.GetCurBufSize() == 4);
}

void DepthZero(const GlobalTensor<float>& x, const GlobalTensor<float>& y, TPipe& pipe) {
    TQue<TPosition::VECIN, 0> in;
    TQue<TPosition::VECOUT, 0> out;
    pipe.InitBuffer(in, 1, kBytes);
    pipe.InitBuffer(out, 1, kBytes);
    LocalTensor<float> from;
    LocalTensor<float> to;
    for (int row = 0; row < 2; ++row) {
        in.AllocTensor(from);
        DataCopy(from, x[row * kRow], kRow);
        in.EnQue(from);
        in.DeQue(from);
        out.AllocTensor(to);
        Add(to, from, from, kRow);
        out.EnQue(to);
        in.FreeTensor(from);
        out.DeQue(to);
        DataCopy(y[row * kRow], to, kRow);
        out.FreeTensor(to);
    }
}

// A workspace keeps a tensor while its bytes of UB serve for something else.
void Spm(const GlobalTensor<float>& x, const GlobalTensor<float>& y, const GlobalTensor<float>& workspace, TPipe& pipe,
         int64_t which) {
    TBuf<> buffer;
    pipe.InitBuffer(buffer, 2 * kBytes);
    LocalTensor<float> tensor = buffer.Get<float>();
    if (which != 11) {
        pipe.InitSpmBuffer(workspace, 2 * kBytes);
    }
    DataCopy(tensor, x, 2 * kRow);
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    Add(tensor, tensor, tensor, 2 * kRow);
    pipe.WriteSpmBuffer(tensor, 2 * kRow);
    Duplicate(tensor, 0.0F, 2 * kRow);
    pipe.ReadSpmBuffer(tensor, DataCopyParams(1, kBytes / 32, 0, 0));
    pipe.ReadSpmBuffer(tensor[kRow], int32_t(kRow), which == 12 ? 2 * kRow : kRow);
    DataCopy(y, tensor, 2 * kRow);
}

void Refused(TPipe& pipe, int64_t which) {
    TBufPool<TPosition::VECCALC> pool;
    TBufPool<TPosition::VECCALC> other;
    TBuf<> buffer;
    TQue<TPosition::VECIN, 1> queue;
    pipe.InitBufPool(pool, which == 20 ? 193 * 1024 : kBytes);
    if (which == 21) {
        pool.InitBuffer(buffer, kBytes + 1);
    } else if (which == 22) {
        pipe.InitBufPool(other, kBytes + 1, pool);
    } else if (which == 23) {
        pool.InitBufPool(other, 2 * kBytes);
    } else if (which == 24) {
        pool.InitBuffer(queue, 17, 32);
    } else if (which == 25) {
        pool.InitBuffer(queue, 0, 32);
    } else if (which == 26) {
        pool.InitBuffer(buffer, 0);
    }
}

}  // namespace

extern "C" __global__ __vector__ void buffer_pools(GM_ADDR x_address, GM_ADDR y_address, GM_ADDR workspace_address,
                                                   int64_t which) {
    GlobalTensor<float> x;
    GlobalTensor<float> y;
    GlobalTensor<float> workspace;
    x.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x_address), 2 * kRow);
    y.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y_address), 2 * kRow);
    workspace.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(workspace_address), 2 * kRow);
    TPipe pipe;
    switch (which) {
        case 1:
        case 2:
            Shared(x, y, pipe, which == 1);
            break;
        case 3:
            Nested(x, y, pipe);
            break;
        case 4:
            Own(x, y, pipe);
            break;
        case 5:
            DepthZero(x, y, pipe);
            break;
        case 10:
        case 11:
        case 12:
            Spm(x, y, workspace, pipe, which);
            break;
        default:
            Refused(pipe, which);
            break;
    }
}
