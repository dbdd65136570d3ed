cmake_minimum_required(VERSION 3.25)

# Fails when a generated page differs from the committed one, or when there are
# more or fewer of them. See fovea-docs-check.

set(stale "")
file(GLOB committed RELATIVE ${REFERENCE} ${REFERENCE}/*.md)
foreach(name ${NAMES})
  execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${GENERATED}/${name} ${REFERENCE}/${name}
                  RESULT_VARIABLE differs OUTPUT_QUIET ERROR_QUIET)
  if(differs)
    list(APPEND stale ${name})
  endif()
endforeach()
foreach(name ${committed})
  if(NOT name IN_LIST NAMES)
    list(APPEND stale ${name})
  endif()
endforeach()
if(stale)
  list(JOIN stale ", " stale)
  message(FATAL_ERROR "docs/reference is stale (${stale}): run 'make docs' and commit the result")
endif()
