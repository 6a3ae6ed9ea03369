// SPDX-License-Identifier: Apache-2.0
// What the executors of the vector instructions share. Parameters have the names of the Ascend C calls; operands come
// destination first. The form of a call follows from its parameters:
//   calCount=n            element count          mask=n, repeatTimes=r          first n lanes of each repeat
//   mask=[low, high], ... bits                   isSetMask=False, repeatTimes=r the mask register
#pragma once

#include <cstdint>

#include "execute_params.h"
#include "machine/vector_calls.h"

namespace ascend_attention::python {

class VectorParams : public Params {
public:
    using Params::Params;

    sim::VectorMask Mask();
    // The scalar operand's bits, as the test computed them from its own type.
    std::uint64_t ScalarBits(const char* name) { return Get<std::uint64_t>(name, 0); }
};

// What every call shares. Without explicit strides the operands are packed: blocks and repeats back to back, where a
// repeat has as many elements as 256 bytes of the widest operand.
sim::VectorCall VectorHead(const char* name, const Operands& operands, std::size_t sources, VectorParams& params,
                           const sim::Site& site);

void RegisterVectorSelections();  // csrc/python/sim_execute_vector_select.cpp
void RegisterVectorLibrary();     // csrc/python/sim_execute_vector_library.cpp

}  // namespace ascend_attention::python
