// SPDX-License-Identifier: Apache-2.0
// FIA 2: key and value as lists with one tensor for each sequence. What the lists must keep is checked here; all other
// rules then see the padded tensors that mean the same: batch B, and KV_S of the longest.
#include <algorithm>

#include "common/tensor_rules.h"
#include "fused_infer_attention_score_v2/check.h"

namespace ascend_attention::fia_v2 {
namespace {

struct NamedList {
    const char* name;
    const OptionalTensorList* list;
    const OptionalTensor* single;
};

Status RefuseKinds(const Request& request) {
    const NamedList rows[] = {{"key", &request.key_list, &request.key},
                              {"value", &request.value_list, &request.value},
                              {"key_rope", &request.key_rope_list, &request.key_rope}};
    const bool lists = request.key_list.has_value();
    for (const NamedList& row : rows) {
        const bool rope = row.list == &request.key_rope_list;
        if (row.list->has_value() ? !lists : lists && !rope) {
            return Refuse("FIA-C35", row.name, lists ? TensorText(*row.single) : TensorListText(**row.list),
                          lists ? "a list of tensors, as key is" : "one tensor, as key is");
        }
        if (row.list->has_value() && (*row.list)->empty()) {
            return Refuse("FIA-C35", row.name, "an empty list", "one tensor for each sequence");
        }
    }
    return OkStatus();
}

// Where the document has no lists at all.
Status RefuseScenes(const Scene& scene) {
    const Request& request = scene.request;
    const std::string given = TensorListText(*request.key_list);
    if (request.block_table.has_value()) {
        return Refuse("FIA-C69", "key", given, "one tensor, the cache, with block_table");
    }
    if (scene.packed()) {
        return Refuse("FIA-C35", "key", given, Concat("one tensor with input_layout ", scene.layout->name),
                      "There actual_seq_kvlen says which tokens belong to which sequence.");
    }
    if (scene.rope()) {
        return Refuse("FIA-C106", "key", given, "one tensor with query_rope and key_rope");
    }
    return OkStatus();
}

Status CheckEntry(const Scene& scene, const std::string& name, const TensorView& entry) {
    const OptionalTensor tensor = entry;
    const NamedTensor named = {name.c_str(), &tensor};
    MemoryCheck memory(kFusedInferAttentionScoreV2, "FIA-C6", "FIA-C8", {scene.layout});
    memory(name.c_str(), tensor);
    if (!memory.status().ok()) {
        return memory.status();
    }
    return CheckRank(kFusedInferAttentionScoreV2, "FIA-C8", named, RankOf(scene.layout->input), "input_layout",
                     scene.layout->name);
}

// `first` is entry 0 of the same list; entries of value are also held to their neighbours in key.
Status CompareEntry(const Scene& scene, const std::string& name, const TensorView& entry, const TensorView& first) {
    const AxisOrder order = scene.layout->input;
    const Axes axes = ReadAxes(order, entry.shape);
    const Axes wanted = ReadAxes(order, first.shape);
    if (axes.batch != 1) {
        return Refuse("FIA-C35", name, Concat("shape ", ShapeText(entry.shape)),
                      "batch 1: one sequence for each entry");
    }
    if (axes.heads != wanted.heads || axes.width != wanted.width || DTypeText(entry) != DTypeText(first)) {
        return Refuse("FIA-C35", name, TensorText(entry),
                      Concat("heads, head_dim and dtype of the first entry: ", TensorText(first)),
                      "Only the lengths of the entries may differ.");
    }
    return OkStatus();
}

Status CheckEntries(const Scene& scene) {
    const Request& request = scene.request;
    const std::vector<TensorView>& keys = *request.key_list;
    const std::vector<TensorView>& values = *request.value_list;
    for (const auto& [name, list] : {std::pair("key", &keys), std::pair("value", &values)}) {
        for (size_t i = 0; i < list->size(); ++i) {
            const std::string entry = Concat(name, "[", i, "]");
            if (Status status = CheckEntry(scene, entry, (*list)[i]); !status.ok()) {
                return status;
            }
            if (Status status = CompareEntry(scene, entry, (*list)[i], list->front()); !status.ok()) {
                return status;
            }
        }
    }
    const int64_t batch = ReadAxes(scene.layout->input, request.query->shape).batch;
    for (const auto& [name, list] : {std::pair("key", &keys), std::pair("value", &values)}) {
        if (int64_t(list->size()) != batch) {
            return Refuse("FIA-C35", name, TensorListText(*list),
                          Concat("one tensor for each sequence of query (", batch, ")"));
        }
    }
    for (size_t i = 0; i < keys.size(); ++i) {
        if (keys[i].shape != values[i].shape) {
            return Refuse("FIA-C35", Concat("value[", i, "]"), Concat("shape ", ShapeText(values[i].shape)),
                          Concat("the shape of key[", i, "] ", ShapeText(keys[i].shape)));
        }
    }
    return OkStatus();
}

// Which axis of a layout's shape counts the tokens.
size_t LengthAxis(AxisOrder order) { return order == AxisOrder::kBNSD ? 2 : 1; }

}  // namespace

Status CheckTensorLists(Scene& scene) {
    const Request& request = scene.request;
    if (!request.key_list && !request.value_list && !request.key_rope_list) {
        return OkStatus();
    }
    if (Status status = RefuseKinds(request); !status.ok()) {
        return status;
    }
    if (Status status = RefuseScenes(scene); !status.ok()) {
        return status;
    }
    const AxisOrder order = scene.layout->input;
    Status status = CheckRank(kFusedInferAttentionScoreV2, "FIA-C8", {"query", &request.query}, RankOf(order),
                              "input_layout", scene.layout->name);
    if (!status.ok()) {
        return status;
    }
    if (status = CheckEntries(scene); !status.ok()) {
        return status;
    }
    for (const TensorView& key : *request.key_list) {
        scene.list_lengths.push_back(key.shape[LengthAxis(order)]);
    }
    Shape padded = request.key_list->front().shape;
    padded[0] = int64_t(scene.list_lengths.size());
    padded[LengthAxis(order)] = *std::max_element(scene.list_lengths.begin(), scene.list_lengths.end());
    scene.SetPaddedShape(padded);
    return OkStatus();
}

}  // namespace ascend_attention::fia_v2
