# For scripts/web.sh: how emscripten compiles the desk, and the libraries that it needs, from their sources in the folder
# CHOKEPOINT_WEB_SOURCES, since nobody has them as WebAssembly.
set(CHOKEPOINT_WEB_SOURCES "" CACHE PATH "Folder with the sources of cJSON, ISA-L and SQLite")

# Everything is one program: addresses are known when it is linked.
set(CMAKE_POSITION_INDEPENDENT_CODE OFF)
# A function without a declaration would end the program when it is called, and not before.
add_compile_options(-Werror=implicit-function-declaration -Werror=incompatible-pointer-types)

# emcc starts Python for each file, which takes a third of the build. So clang is called as emcc calls it, which -v shows.
file(WRITE ${CMAKE_BINARY_DIR}/empty.c "")
execute_process(COMMAND ${CMAKE_C_COMPILER} -v -O3 -msimd128 -msse2 -c empty.c -o empty.o
                WORKING_DIRECTORY ${CMAKE_BINARY_DIR} ERROR_VARIABLE said)
if(said MATCHES "^ \"([^\"]+)\" ([^\n]*) -v -O3( [^\n]*)? -c empty\\.c")
  set(CMAKE_C_COMPILE_OBJECT
      "${CMAKE_MATCH_1} ${CMAKE_MATCH_2}${CMAKE_MATCH_3} <DEFINES> <INCLUDES> <FLAGS> -o <OBJECT> -c <SOURCE>")
else()
  add_compile_options(-msimd128 -msse2)
endif()

# A header as its package installs it: isa-l/igzip_lib.h, cjson/cJSON.h.
set(headers ${CMAKE_BINARY_DIR}/include)
file(COPY ${CHOKEPOINT_WEB_SOURCES}/cjson/cJSON.h DESTINATION ${headers}/cjson)
file(GLOB isal_headers ${CHOKEPOINT_WEB_SOURCES}/libisal/include/*.h)
file(COPY ${isal_headers} DESTINATION ${headers}/isa-l)
file(COPY ${CHOKEPOINT_WEB_SOURCES}/sqlite3/sqlite3.h DESTINATION ${headers})
include_directories(SYSTEM ${headers})

add_library(web_cjson STATIC ${CHOKEPOINT_WEB_SOURCES}/cjson/cJSON.c)

# Only what is portable C of its part for gzip.
set(igzip igzip_base_aliases igzip igzip_base igzip_icf_base igzip_icf_body igzip_inflate huff_codes hufftables_c encode_df
          flatten_ll adler32_base)
list(TRANSFORM igzip PREPEND ${CHOKEPOINT_WEB_SOURCES}/libisal/igzip/)
set(crc crc_base crc_base_aliases crc64_base)
list(TRANSFORM crc PREPEND ${CHOKEPOINT_WEB_SOURCES}/libisal/crc/)
set(isal ${igzip} ${crc})
list(TRANSFORM isal APPEND .c)
add_library(web_isal STATIC ${isal})
target_include_directories(web_isal PRIVATE ${CHOKEPOINT_WEB_SOURCES}/libisal/include
                           ${CHOKEPOINT_WEB_SOURCES}/libisal/igzip)

add_library(web_sqlite STATIC ${CHOKEPOINT_WEB_SOURCES}/sqlite3/sqlite3.c)
target_compile_definitions(web_sqlite PRIVATE SQLITE_THREADSAFE=0 SQLITE_OMIT_LOAD_EXTENSION SQLITE_OMIT_JSON
                           SQLITE_DQS=0 SQLITE_OMIT_DEPRECATED)
target_compile_options(web_sqlite PRIVATE -Os -w)
target_compile_options(web_isal PRIVATE -w)

set(CJSON web_cjson CACHE INTERNAL "")
set(CJSON_INCLUDE ${headers} CACHE INTERNAL "")
set(ISAL web_isal CACHE INTERNAL "")
set(SQLITE web_sqlite CACHE INTERNAL "")
