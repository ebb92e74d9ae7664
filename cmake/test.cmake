include(GoogleTest)
# One binary per room and tier: tests/<room>/<file>.  TIER is local, model, distributed or gpu.
# Tests of room NAME may include NAME, the rooms in USES, and tests/support.
function(parhelion_test room)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIER;RANKS" "SOURCES;USES;LINKS")
  set(target ${room}_${arg_TIER}_test)
  add_executable(${target} ${arg_SOURCES})
  set(rooms ${arg_USES})
  list(TRANSFORM rooms PREPEND parhelion::)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${target} PRIVATE PARHELION_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON)
  # Tests take longer to compile than to run. Their own code is optimised little, and not searched for undefined
  # behaviour, which would double its compilation; that of the rooms is.
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=undefined>
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:RelWithDebInfo>>:-O1>)
  if(arg_TIER STREQUAL "distributed")
    target_link_libraries(${target} PRIVATE ${rooms} ${arg_LINKS} parhelion_flags GTest::gtest MPI::MPI_CXX)
    target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/mpi_main.cpp)
    add_test(NAME ${target}.np${arg_RANKS}
      COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${arg_RANKS}
              ${MPIEXEC_PREFLAGS} $<TARGET_FILE:${target}>)
    set_tests_properties(${target}.np${arg_RANKS} PROPERTIES
      LABELS distributed PROCESSORS ${arg_RANKS} TIMEOUT 120)
  else()
    target_link_libraries(${target} PRIVATE ${rooms} ${arg_LINKS} parhelion_flags GTest::gmock GTest::gtest_main)
    # Threads that wait must not spin: several tests share the processors.
    set(properties LABELS ${arg_TIER} TIMEOUT 120 ENVIRONMENT OMP_WAIT_POLICY=passive)
    if(arg_TIER STREQUAL "model")
      set(properties LABELS model TIMEOUT 900 RUN_SERIAL ON)
    endif()
    gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST PROPERTIES ${properties})
  endif()
  parhelion_check_includes(${room} "${arg_USES};support" "${arg_SOURCES}")
endfunction()
