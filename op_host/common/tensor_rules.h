// SPDX-License-Identifier: Apache-2.0
// Rules about tensors as such, the same for every operator: where they lie, how many axes they have.
#pragma once

#include <cstddef>
#include <initializer_list>

#include "common/layout.h"
#include "common/status.h"
#include "common/tensor.h"

namespace ascend_attention {

struct NamedTensor {
    const char* name;
    const OptionalTensor* tensor;
};

// 161001 for the first that was not given.
Status CheckGiven(const char* op, const char* rule, std::initializer_list<NamedTensor> tensors);
// How far the data lies above a multiple of an element's size; 0 where there is none. The scalar unit of a device, and
// the host, read whole elements at such multiples only.
int64_t MisalignedBytes(const TensorView& tensor);
// Of a tensor of which that is not 0.
Status RefuseMisaligned(const char* op, const std::string& name, const TensorView& tensor);
// `rank` dimensions.
Status CheckRank(const char* op, const char* rule, const NamedTensor& tensor, int rank,
                 const std::string& layout_argument, const std::string& layout);

// A factor that the kernel, which multiplies by a float32, can take.
Status CheckScale(const char* op, const char* rule, const char* argument, double scale);

// The first section that refuses; each reads what the next ones look at.
template <class Scene, size_t N>
Status FirstRefusal(Status (*const (&sections)[N])(Scene&), Scene& scene) {
    for (const auto section : sections) {
        if (Status status = section(scene); !status.ok()) {
            return status;
        }
    }
    return OkStatus();
}

// How a call's tensors are said to lie, for advice about those that lie otherwise; `paged` is of key and value.
struct Placement {
    const Layout* layout;
    bool paged = false;
};

// Visitor of all arguments. Refuses tensors that are not contiguous (kernels follow the strides of none) or not
// aligned, and shapes that no tensor in memory has, but that sizes computed from them would trip over.
class MemoryCheck {
public:
    MemoryCheck(const char* op, const char* contiguous_rule, const char* shape_rule, const Placement& placement)
        : op_(op), contiguous_rule_(contiguous_rule), shape_rule_(shape_rule), placement_(placement) {}

    void operator()(const char* name, const OptionalTensor& tensor);
    template <class Other>
    void operator()(const char*, const Other&) {}
    const Status& status() const { return status_; }

private:
    const char* op_;
    const char* contiguous_rule_;
    const char* shape_rule_;
    Placement placement_;
    Status status_;
};

}  // namespace ascend_attention
