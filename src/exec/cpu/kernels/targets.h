#pragma once

// Which instruction sets a file with vector code is compiled for: AVX2, AVX3, and the portable
// baseline. Included before any Highway header; the others give no speed over these.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
