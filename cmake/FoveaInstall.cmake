# Installs tools, libraries, headers (including generated ones), and the package files for
# find_package(Fovea) and pkg-config.

include(CMakePackageConfigHelpers)

set(fovea_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/fovea)

foreach(root ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)
  install(DIRECTORY ${root}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN "*.td" PATTERN "*.inc"
    PATTERN "CMakeFiles" EXCLUDE)
endforeach()

install(EXPORT FoveaTargets NAMESPACE Fovea:: DESTINATION ${fovea_package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/FoveaConfig.cmake.in
  ${PROJECT_BINARY_DIR}/FoveaConfig.cmake INSTALL_DESTINATION ${fovea_package_dir})
# Before 1.0 a minor version may change the C++ API.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/FoveaConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/FoveaConfig.cmake ${PROJECT_BINARY_DIR}/FoveaConfigVersion.cmake
  ${CMAKE_CURRENT_LIST_DIR}/FoveaCompiler.cmake ${CMAKE_CURRENT_LIST_DIR}/OtherCompiler.h DESTINATION ${fovea_package_dir})

# Relative to the file itself, so that the installation can be moved.
file(RELATIVE_PATH fovea_include_from_pc
  /${CMAKE_INSTALL_LIBDIR}/pkgconfig /${CMAKE_INSTALL_INCLUDEDIR})
configure_file(${CMAKE_CURRENT_LIST_DIR}/fovea.pc.in ${PROJECT_BINARY_DIR}/fovea.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/fovea.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
