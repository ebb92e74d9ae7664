// A grammar, up to the first NUL, compiles or is refused; its masks agree with what is accepted
// along the way that the bytes behind the NUL choose.
#include "fuzz/fuzz.h"
#include "fuzz/grammar_walk.h"
#include "text/grammar/grammar.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace parhelion::text;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(input.find('\0'), input.size());
  const std::string_view source = input.substr(0, end);
  const std::string_view choices = end < size ? input.substr(end + 1) : "parhelion";
  fuzz_grammar([&] { return compile_grammar_text(source, kFuzzLimits); }, choices);
  return 0;
}
