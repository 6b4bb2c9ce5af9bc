# SPDX-License-Identifier: MIT
# cmake -DLIBRARY=libhew.so -DNM=nm -DNAMES=names.def -DABSENT="..." -P names.cmake: the library exports what the table says, but for
# the absent names, and no more.
execute_process(COMMAND ${NM} -D --defined-only ${LIBRARY} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[A-Za-z_][A-Za-z_0-9]*\n" exported "${symbols}")
string(REPLACE "\n" "" exported "${exported}")
file(STRINGS ${NAMES} rows REGEX "^HEW_NAME\\(")
set(listed "")
foreach(row IN LISTS rows)
  string(REGEX REPLACE "^HEW_NAME\\(([A-Za-z_0-9]+),.*" "\\1" name "${row}")
  list(APPEND listed ${name})
endforeach()
set(unlisted ${exported})
set(missing ${listed})
list(REMOVE_ITEM unlisted ${listed})
list(REMOVE_ITEM missing ${exported} ${ABSENT})
if(unlisted OR missing)
  message(FATAL_ERROR "exported and not in names.def: ${unlisted}; in names.def and not exported: ${missing}")
endif()
