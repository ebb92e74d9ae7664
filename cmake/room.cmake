# GCC 12 sees uninitialised members in moved variants that are none (its bug 105562), hence the one "no".
# Clang compiles only fuzz targets: there warnings are no errors.
add_library(parhelion_flags INTERFACE)
target_compile_options(parhelion_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
    -Wold-style-cast -Wnon-virtual-dtor -Woverloaded-virtual -Wdouble-promotion
    -Wimplicit-fallthrough -Wswitch-enum -Wundef>
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized -Werror>
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>
  $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings -Xcompiler=-Wall,-Wextra,-Werror>)

# Stops the configure step when one of FILES includes a room which is neither NAME nor listed in USES.
# A name such as app_http is a part of room app.
function(parhelion_check_includes name uses files)
  string(REGEX REPLACE "_.*" "" name "${name}")
  list(REMOVE_ITEM files "")
  foreach(file IN LISTS files)
    file(STRINGS ${file} includes REGEX "^#include \"[a-z]+/")
    foreach(line IN LISTS includes)
      string(REGEX REPLACE "^#include \"([a-z]+)/.*" "\\1" used "${line}")
      if(NOT used IN_LIST uses AND NOT used STREQUAL name)
        message(SEND_ERROR "${name}/${file} includes room '${used}', which is not in its USES")
      endif()
    endforeach()
  endforeach()
endfunction()

# Declares room NAME: a static library of every listed source, allowed to include only the rooms in USES.
# HEADERS are the room's interface.  LINKS are third-party targets; they stay private to the room.
# A source listed in NO_UNITY is compiled alone (it sets target pragmas or includes itself).
function(parhelion_room name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS;SOURCES;NO_UNITY;USES;LINKS")
  add_library(parhelion_${name} STATIC ${arg_SOURCES} ${arg_NO_UNITY})
  add_library(parhelion::${name} ALIAS parhelion_${name})
  target_sources(parhelion_${name} PUBLIC FILE_SET HEADERS
    BASE_DIRS ${PROJECT_SOURCE_DIR}/src FILES ${arg_HEADERS})
  list(TRANSFORM arg_USES PREPEND parhelion:: OUTPUT_VARIABLE rooms)
  target_link_libraries(parhelion_${name} PUBLIC ${rooms} PRIVATE parhelion_flags ${arg_LINKS})
  set_target_properties(parhelion_${name} PROPERTIES UNITY_BUILD ON)
  if(arg_NO_UNITY)
    set_source_files_properties(${arg_NO_UNITY} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  parhelion_check_includes(${name} "${arg_USES}" "${arg_HEADERS};${arg_SOURCES};${arg_NO_UNITY}")
endfunction()
