# Writes FILE, a header with the commit of the sources in SOURCE; "" when they are no git checkout. It
# runs at every build, because a commit does not wait for CMake, and touches the file only when needed.
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                RESULT_VARIABLE failed)
if(failed)
  set(commit "")
endif()
set(header "#define CHOKEPOINT_COMMIT \"${commit}\"\n")
if(EXISTS ${FILE})
  file(READ ${FILE} there)
endif()
if(NOT "${there}" STREQUAL "${header}")
  file(WRITE ${FILE} "${header}")
endif()
