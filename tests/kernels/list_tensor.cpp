// SPDX-License-Identifier: Apache-2.0
// Reads a list of tensors and tells what it says; `which` chooses a fault. x0 and x1 are what the list points to.
#include <type_traits>

#include "kernel_operator.h"
#include "kernel_operator_list_tensor_intf.h"

using namespace AscendC;

static_assert(DivCeil(17, 8) == 3 && ConstCeil(16, 8) == 2 && Ceil(1, 8) == 1 && AlignUp(17, 8) == 24);
static_assert(CeilDivision(17, 8) == 3 && CeilDivision(17, 0) == 0);
static_assert(std::is_same_v<Conditional<true, half, float>::type, half>);
static_assert(std::is_same_v<Conditional<false, half, float>::type, float>);

extern "C" __global__ __aicore__ void list_tensor(GM_ADDR list, GM_ADDR y, int64_t which) {
    ListTensorDesc tensors;
    if (which == 1) {
        tensors.Init(list, 8, 3);
    } else {
        tensors = ListTensorDesc(list);
    }
    GlobalTensor<int64_t> result;
    result.SetGlobalBuffer(reinterpret_cast<__gm__ int64_t*>(y), 16);
    result.SetValue(0, tensors.GetSize());
    for (uint32_t i = 0; i < tensors.GetSize(); ++i) {
        uint64_t shape[8] = {};
        TensorDesc<float> desc;
        if (which != 2) {
            desc.SetShapeAddr(shape);
        }
        if (which != 4) {
            tensors.GetDesc(desc, i);
            result.SetValue(1 + i * 6, static_cast<int64_t>(desc.GetDim()));
            result.SetValue(2 + i * 6, static_cast<int64_t>(desc.GetIndex()));
            result.SetValue(3 + i * 6, static_cast<int64_t>(desc.GetShape(0)));
            result.SetValue(4 + i * 6, static_cast<int64_t>(desc.GetShape(which == 3 ? 2 : 1)));
            result.SetValue(5 + i * 6, static_cast<int64_t>(desc.GetDataObj().GetValue(1)));
        }
        GlobalTensor<float> data;
        data.SetGlobalBuffer(tensors.GetDataPtr<float>(which == 5 ? 2 : i));
        result.SetValue(6 + i * 6, static_cast<int64_t>(data.GetValue(0)));
    }
    DataCacheCleanAndInvalid<int64_t, CacheLine::ENTIRE_DATA_CACHE>(result);
}
