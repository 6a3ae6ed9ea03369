// SPDX-License-Identifier: Apache-2.0
// What an operator's document allows and the engine does not do yet: one list per operator, as data.
#pragma once

#include <cstddef>
#include <string>

#include "common/status.h"
#include "common/text.h"

namespace ascend_attention {

template <class Scene>
struct Unsupported {
    const char* argument;
    const char* supported;
    bool (*used)(const Scene&);
    std::string (*given)(const Scene&);
};

// 561003 for the first row that the request uses.
template <class Scene, size_t kRows>
Status CheckUnsupported(const char* op, const Unsupported<Scene> (&rows)[kRows], const Scene& scene) {
    for (const Unsupported<Scene>& row : rows) {
        if (row.used(scene)) {
            return NotSupportedYet(op, row.argument, row.given(scene), row.supported);
        }
    }
    return OkStatus();
}

// Adds to the help of a refusal what CheckUnsupported would name if nothing else were changed, so that nobody mends a
// call in vain. Whether that is legal may not have been checked yet. Does nothing before the scene has its tensors and
// layout.
template <class Scene, size_t kRows>
void MentionUnsupportedRow(const Unsupported<Scene> (&rows)[kRows], const Scene& scene, Status* status) {
    const auto& request = scene.request;
    if (scene.layout == nullptr || !request.query || !request.key || !request.value || scene.empty_query()) {
        return;
    }
    for (const Unsupported<Scene>& row : rows) {
        if (row.used(scene)) {
            // The argument at fault is going to change, so that nothing can be said of it.
            if (status->argument != row.argument) {
                AddHelp(Concat("(Once that is right: not supported yet here, because of ", row.argument, " ",
                               row.given(scene), ".)"),
                        status);
            }
            return;
        }
    }
}

// Adds to the help of a refusal of the document that the extended contract has no such limit. `lifted`: the same
// request judged by that contract's rules.
inline void MentionExtended(const Status& lifted, Status* status) {
    if (lifted.ok()) {
        AddHelp("Legal under ascend_attention.contract(\"extended\").", status);
    }
}

}  // namespace ascend_attention
