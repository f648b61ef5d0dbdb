# SPDX-License-Identifier: Apache-2.0
#
# SLUICE_BUILD: one string literal for `sluice --version`, defined only in the files named, so that a commit rebuilds those and
# nothing else. SLUICE_VERSION is the plain version number and is defined everywhere.

function(sl_build_info)
    set(revision "no git")
    find_package(Git QUIET)
    if(GIT_FOUND)
        execute_process(COMMAND ${GIT_EXECUTABLE} describe --always --abbrev=10 WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
            OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
        execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --path-format=absolute --git-path logs/HEAD
            WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
        if(NOT failed)
            set(revision ${described})
        endif()
        if(EXISTS "${head}")
            # The revision must not outlive the commit it names.
            set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${head}")
        endif()
    endif()

    set(sanitize "no sanitizer")
    if(SLUICE_SANITIZE)
        set(sanitize "sanitizers ${SLUICE_SANITIZE}")
    endif()
    string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
    string(STRIP "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${type}}" flags)
    string(CONCAT text "${CMAKE_C_COMPILER_ID} C for ${CMAKE_SYSTEM_PROCESSOR}, ${CMAKE_BUILD_TYPE} (${flags}), ${sanitize}, revision ${revision}, with "
        "liburing ${URING_VERSION}, libv4l2 ${V4L2_VERSION}, ISA-L ${ISAL_VERSION}, inih ${INIH_VERSION}, jansson ${JANSSON_VERSION}, libpng ${PNG_VERSION}")
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_DEFINITIONS "SLUICE_BUILD=\"${text}\"")
endfunction()
