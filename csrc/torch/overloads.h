// SPDX-License-Identifier: Apache-2.0
// The overloads of each operator: what differs is how torch reads lengths, and keys and values in lists of tensors.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "block_sparse_attention_v2/arguments.h"
#include "fused_infer_attention_score_v2/arguments.h"
#include "prompt_flash_attention/arguments.h"

namespace ascend_attention::torch_door {

// What lengths are to torch.
enum class LengthKind : std::uint8_t {
    kList,   // SymInt[]: for each entry torch asks whether it is a symbol of a compiled graph
    kTensor  // torch reads nothing, and a compiled graph does not depend on the values
};

struct Overload {
    const char* name;      // of the operator and of its workspace helper; "" is torch's "default"
    const char* out_name;  // of the out-variant
    LengthKind lengths;
    bool tensor_lists = false;  // key and value are lists with one tensor for each sequence
};

// In the order in which a call that names none of them tries them.
//
// Not among them is int[], which torch reads four times as fast as SymInt[]: torch files operators under a text that
// does not tell the two apart, forgets one of two such overloads when they go, and then reads what it has freed.
inline constexpr Overload kOverloads[] = {
    {"", "out", LengthKind::kList},
    {"tensor_lengths", "out_tensor_lengths", LengthKind::kTensor},
    {"lists", "out_lists", LengthKind::kList, true},
};

template <class Request>
inline constexpr bool kHasTensorLists = std::is_same_v<Request, FusedInferAttentionScoreV2Request>;

// Whether the operator has the overload.
template <class Request>
constexpr bool Has(const Overload& overload) {
    return !overload.tensor_lists || kHasTensorLists<Request>;
}

// "name", "name.overload".
inline std::string Qualified(const std::string& name, const char* overload) {
    return *overload == '\0' ? name : name + "." + overload;
}

}  // namespace ascend_attention::torch_door
