// SPDX-License-Identifier: Apache-2.0
// The one device, its contexts, and what each thread works with.
#pragma once

#include <cstdint>
#include <memory>

#include "acl/acl_rt.h"
#include "acl/handles.h"
#include "acl/stream.h"

namespace ascend_attention::acl {

// Streams and events know their context: they go with it.
struct Context {
    std::shared_ptr<Stream> own_stream = std::make_shared<Stream>();
};

// The context of this thread. Throws Failure where it has none.
std::shared_ptr<Context> CurrentContext();

// The stream of a handle; of null, the current context's own one. Throws Failure.
std::shared_ptr<Stream> StreamOf(aclrtStream stream);

// Streams and events that the caller made in the current context.
aclrtStream NewStream();
void ForgetStream(aclrtStream stream);
aclrtEvent NewEvent();
void ForgetEvent(aclrtEvent event);

// All streams of the device, their contexts' own ones included.
void FinishDevice();

}  // namespace ascend_attention::acl
