#pragma once

#include "app/http/api.h"
#include "serve/engine_thread.h"

#include <functional>

namespace parhelion::app {

/// What operators may ask of an engine over HTTP; `drain` begins to stop. `engine` outlives the
/// API.
AdminActions admin_actions(serve::EngineThread& engine, std::function<void()> drain);

/// Logs what the engine did last, for who looks for the cause of its end.
void log_recent_steps(const serve::EngineThread& engine);

}  // namespace parhelion::app
