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

// Adds to the help of a refusal what the request asks for that is not built yet, so that nobody mends a call in vain.
// Whether that is legal may not have been checked yet. Does nothing before the scene has its tensors and layout.
template <class Scene, size_t kRows>
void MentionUnsupportedRow(const Unsupported<Scene> (&rows)[kRows], const Scene& scene, Status* status) {
    const auto& request = scene.request;
    if (scene.layout == nullptr || !request.query || !request.key || !request.value) {
        return;
    }
    for (const Unsupported<Scene>& row : rows) {
        // The argument at fault is going to change.
        if (row.used(scene) && status->argument != row.argument) {
            status->help += Concat(status->help.empty() ? "" : " ", "(Besides, not supported yet: ", row.argument, " ",
                                   row.given(scene), ".)");
            return;
        }
    }
}

}  // namespace ascend_attention
