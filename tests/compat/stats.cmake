# SPDX-License-Identifier: MIT
# Readers of statistics with hew in jemalloc's place; each becomes the ctest compat.<name>.
find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)
compat_program(stats_calls stats_calls.c)
compat_program(stats_interval stats_interval.c)
compat_program(stats_workload stats_workload.c)
foreach(program stats_calls stats_interval)
  target_include_directories(compat_${program} PRIVATE ${CMAKE_SOURCE_DIR}/tests ${CMAKE_SOURCE_DIR}/tests/preload)
  hew_add_test(NAME compat.${program} COMMAND compat_${program})
endforeach()
hew_add_test(NAME compat.stats_json COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/stats_json.py
  $<TARGET_FILE:hew> $<TARGET_FILE:compat_stats_workload>)
hew_add_test(NAME compat.stats_interval_prof COMMAND compat_stats_interval)
set(preload "LD_PRELOAD=$<TARGET_FILE:hew>;HEW_TEST_LIBRARY=libhew")
set_tests_properties(compat.stats_calls PROPERTIES ENVIRONMENT "${preload}")
set_tests_properties(compat.stats_interval PROPERTIES
  ENVIRONMENT "${preload};MALLOC_CONF=stats_interval:1000000,stats_interval_opts:Jgmdablxeh")
set_tests_properties(compat.stats_interval_prof PROPERTIES ENVIRONMENT
  "${preload};MALLOC_CONF=stats_interval:1000000,stats_interval_opts:Jgmdablxeh,prof:true,lg_prof_sample:14,prof_prefix:")
set_tests_properties(compat.stats_calls compat.stats_interval compat.stats_interval_prof compat.stats_json PROPERTIES LABELS compat)
