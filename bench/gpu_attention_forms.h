#pragma once

namespace parhelion::bench {

/// Times cuDNN's graphs for packed attention one by one, and the nodes of each: with documents that
/// fill them, and idle.
///
/// Errors: device.
void time_attention_forms();

}  // namespace parhelion::bench
