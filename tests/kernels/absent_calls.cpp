// SPDX-License-Identifier: Apache-2.0
// Calls of other products, one by one.
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void absent_calls(GM_ADDR x, int64_t which) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> ub;
    pipe.InitBuffer(ub, 512);
    LocalTensor<half> local = ub.Get<half>();
    LocalTensor<half> cube(TPosition::A1, 0, 256);
    GlobalTensor<half> global;
    global.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x), 256);
    GlobalTensor<int8_t> bytes;
    bytes.SetGlobalBuffer(reinterpret_cast<__gm__ int8_t*>(x), 512);
    switch (which) {
        case 0:
            return LoadData(local, local, LoadData2DParamsV2());
        case 1:
            return LoadData(local, global, LoadData2DParamsV2());
        case 2:
            return LoadDataWithTranspose(local, local, LoadData2dTransposeParamsV2());
        case 3:
            return LoadDataUnzip(local, global);
        case 4:
            return LoadUnzipIndex(bytes, 1);
        case 5:
            return BroadCastVecToMM(local, local, 1, 1, 0, 0);
        case 6:
            return SetFixPipeClipRelu(0);
        case 7:
            return SetFixPipeAddr(local, 1);
        case 8:
            return DataCopyL1ToUB(local, cube, 16);
        case 9:
            return DataCopyL1ToUB(local, cube, DataCopyParams(1, 1, 0, 0));
        case 10:
            return DataCopy(cube, local, Nd2NzParams(1, 1, 16, 0, 16, 1, 1, 1));
        case 11:
            return DataCopyPad(cube, local, DataCopyParams(1, 32, 0, 0), Nd2NzParams());
        case 12:
            return DataCopyPad(cube, local, DataCopyExtParams(1, 32, 0, 0, 0), Nd2NzParams());
        case 13:
            return DataCopy(cube, local, DataCopyParams(1, 1, 0, 0));
        default:
            return DataCopy(cube, local, DataCopyParams(1, 1, 0, 0), DataCopyEnhancedParams());
    }
}
