// SPDX-License-Identifier: Apache-2.0
#include "kernel_operator.h"

using namespace AscendC;

constexpr uint32_t kTile = 256;  // elements

extern "C" __global__ __aicore__ void add_custom(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t tiles_per_block) {
    TPipe pipe;
    TQue<TPosition::VECIN, 2> inputs_x;
    TQue<TPosition::VECIN, 2> inputs_y;
    TQue<TPosition::VECOUT, 2> outputs;
    pipe.InitBuffer(inputs_x, 2, kTile * sizeof(half));
    pipe.InitBuffer(inputs_y, 2, kTile * sizeof(half));
    pipe.InitBuffer(outputs, 2, kTile * sizeof(half));

    const uint32_t count = tiles_per_block * kTile;
    const uint32_t start = GetBlockIdx() * count;
    GlobalTensor<half> global_x;
    GlobalTensor<half> global_y;
    GlobalTensor<half> global_z;
    global_x.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x) + start, count);
    global_y.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(y) + start, count);
    global_z.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(z) + start, count);

    for (uint32_t tile = 0; tile < tiles_per_block; ++tile) {
        const uint32_t offset = tile * kTile;
        LocalTensor<half> in_x = inputs_x.AllocTensor<half>();
        LocalTensor<half> in_y = inputs_y.AllocTensor<half>();
        DataCopy(in_x, global_x[offset], kTile);
        inputs_x.EnQue(in_x);
        DataCopy(in_y, global_y[offset], kTile);
        inputs_y.EnQue(in_y);

        LocalTensor<half> tile_x = inputs_x.DeQue<half>();
        LocalTensor<half> tile_y = inputs_y.DeQue<half>();
        LocalTensor<half> tile_z = outputs.AllocTensor<half>();
        Add(tile_z, tile_x, tile_y, kTile);
        inputs_x.FreeTensor(tile_x);
        inputs_y.FreeTensor(tile_y);
        outputs.EnQue(tile_z);

        LocalTensor<half> out = outputs.DeQue<half>();
        DataCopy(global_z[offset], out, kTile);
        outputs.FreeTensor(out);
    }
}
