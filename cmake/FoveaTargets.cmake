# fovea_add_library(NAME sources... [DEPENDS tablegen targets] [LINK_LIBS libraries])
# fovea_add_tool(NAME sources... [LINK_LIBS libraries]) fovea_install_library(NAME): installs it as
# part of the package; in a parent project its name is also Fovea::NAME.
#
# All libraries are static. Generated headers are built first: all libraries depend on
# fovea-headers.

add_custom_target(fovea-headers)

if(FOVEA_PRECOMPILE_HEADERS)
  set(fovea_pch_source ${CMAKE_CURRENT_BINARY_DIR}/FoveaPCH.cpp)
  file(CONFIGURE OUTPUT ${fovea_pch_source} CONTENT "// carrier of the precompiled header\n")
  add_library(fovea_pch OBJECT ${fovea_pch_source})
  target_precompile_headers(fovea_pch PRIVATE ${CMAKE_CURRENT_LIST_DIR}/FoveaPCH.h)
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    # ccache hashes the precompiled header; a time stamp would prevent all hits.
    target_compile_options(fovea_pch PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endif()

function(fovea_use_pch target)
  if(FOVEA_PRECOMPILE_HEADERS)
    target_precompile_headers(${target} REUSE_FROM fovea_pch)
    if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
      target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
    endif()
  endif()
endfunction()

function(fovea_install_library name)
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  install(TARGETS ${name} EXPORT FoveaTargets)
  add_library(Fovea::${name} ALIAS ${name})
endfunction()

function(fovea_add_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK_LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  add_dependencies(${name} fovea-headers ${ARG_DEPENDS})
  target_link_libraries(${name} PUBLIC fovea_mlir ${ARG_LINK_LIBS})
  fovea_use_pch(${name})
  fovea_install_library(${name})
endfunction()

function(fovea_add_tool name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  add_dependencies(${name} fovea-headers)
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} fovea_mlir)
  fovea_use_pch(${name})
  # `check-fovea` builds it before running tests.
  set_property(GLOBAL APPEND PROPERTY FOVEA_TEST_DEPENDS ${name})
  set(tools ${PROJECT_SOURCE_DIR}/tools)
  cmake_path(IS_PREFIX tools ${CMAKE_CURRENT_SOURCE_DIR} is_tool)
  if(is_tool)
    install(TARGETS ${name})
  endif()
endfunction()

# fovea_tablegen_dialect(File.td NAMESPACE ns): ops, types, attributes, enums,
# dialect and interfaces of one dialect, as the includes <File>*.h.inc/.cpp.inc.
function(fovea_add_public_tablegen target)
  add_public_tablegen_target(${target})
  add_dependencies(fovea-headers ${target})
endfunction()
