# SPDX-License-Identifier: Apache-2.0
#
# Installs the systemd unit and the user that it runs as. The unit names the program by its full path, and that is not known before
# the prefix is, which `cmake --install --prefix` may change.

set(SLUICE_UNIT_DIR lib/systemd/system CACHE STRING "Where the systemd unit goes, below the prefix")
install(CODE "
    set(SLUICE_BINDIR ${CMAKE_INSTALL_BINDIR})
    set(SLUICE_DOCDIR ${CMAKE_INSTALL_DOCDIR})
    foreach(directory SLUICE_BINDIR SLUICE_DOCDIR)
        cmake_path(ABSOLUTE_PATH \${directory} BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\" NORMALIZE)
    endforeach()
    configure_file(\"${CMAKE_CURRENT_SOURCE_DIR}/systemd/sluice@.service.in\" \"${CMAKE_CURRENT_BINARY_DIR}/sluice@.service\" @ONLY)
")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/sluice@.service DESTINATION ${SLUICE_UNIT_DIR})
install(FILES systemd/sluice.sysusers DESTINATION lib/sysusers.d RENAME sluice.conf)
