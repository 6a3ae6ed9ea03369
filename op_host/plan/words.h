// SPDX-License-Identifier: Apache-2.0
// What the explanations of requests are made of, the same for every operator.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>

#include "common/layout.h"
#include "common/lengths.h"
#include "common/rule_groups.h"
#include "common/status.h"
#include "plan/lowering.h"
#include "plan/prepared.h"

namespace ascend_attention {

// "name          text", one line; further lines of the same name are indented.
class Page {
public:
    void Add(const std::string& name, const std::string& text) {
        constexpr size_t kColumn = 14;
        std::string head = name == last_ ? "" : name;
        last_ = name;
        head.resize(std::max(kColumn, head.size() + 1), ' ');
        text_ += head + text + "\n";
    }
    void Title(const std::string& text) { text_ += text + "\n"; }
    const std::string& text() const { return text_; }

private:
    std::string text_;
    std::string last_;
};

// "(B, S, N*D)"
const char* AxesOf(AxisOrder order);
// "4 query heads over 2: query head h reads key head h // 2"
std::string HeadsOver(int64_t query_heads, int64_t key_heads);
// "scores are multiplied by 0.125"
std::string ScaleText(double scale, int64_t head_dim);
// What sparse_mode, mask and tokens let a row see.
std::string VisibleText(const BandArguments& arguments);
// "6 queries, 7 keys; row 0 sees keys 0 to 1, row 5 keys 0 to 6". `padded` rows after them, if there are more; `masked`
// where a mask hides some of these keys.
std::string SequenceText(int64_t rows, int64_t keys, int64_t padded, const Band& band, bool masked);
// A line per sequence; equal ones that follow each other share one.
void AddSequences(LengthsView rows, LengthsView keys,
                  const std::function<std::string(int64_t rows, int64_t keys)>& text, Page* page);
// The line of `count` sequences that are all alike; none without sequences.
void AddEqualSequences(int64_t count, const std::string& text, Page* page);
// int8 attention_out by these two arguments, if there is one, and pse_shift.
void AddOutputTerms(const char* scale_name, const OptionalTensor& scale, const char* offset_name, bool offset, bool pse,
                    Page* page);
// "float16 (2, 3)"
std::string OutputText(const OutputSpec& spec);
// What empty tensors and rows without keys come to.
void AddNotes(bool empty_query, bool empty_keys, bool has_lse, Page* page);
// Whether it runs: `supported` says what is not built yet, if anything.
void AddRuns(const Status& supported, Page* page);

// How every explanation ends.
template <class Scene>
void AddEnd(const Scene& scene, const RuleGroups<Scene>& scopes, const Status& supported, Page* page) {
    AddNotes(scene.empty_query(), scene.empty_keys(), std::decay_t<decltype(scene.request)>::kHasLse, page);
    for (const RuleGroup<Scene>& group : scopes) {
        if (group.applies(scene)) {
            page->Add("checked", Concat(group.rules, ": ", group.about));
        }
    }
    AddRuns(supported, page);
}

}  // namespace ascend_attention
