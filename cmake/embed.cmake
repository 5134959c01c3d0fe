# Writes OUTPUT, a C file with the bytes of each of FILES, separated by ",": a row of name, bytes and length in the array
# that NAME names, which ends with a row of NULL. A NUL follows the bytes. HEADER declares the array.
#
#     cmake -DOUTPUT=texts.c -DNAME=texts -DHEADER=folder/texts.h -DFILES=a.ptx,b.ptx -P embed.cmake
string(REPLACE "," ";" files "${FILES}")
set(text "/* Written by cmake/embed.cmake. */\n#include \"${HEADER}\"\n\n")
set(rows "")
set(number 0)
foreach(file ${files})
  file(READ "${file}" bytes HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  get_filename_component(name "${file}" NAME)
  string(APPEND text "static const unsigned char file_${number}[] = {\n${bytes}0x00\n};\n")
  string(APPEND rows "    { \"${name}\", (const char *)file_${number}, sizeof file_${number} - 1 },\n")
  math(EXPR number "${number} + 1")
endforeach()
string(APPEND text "\nconst struct embedded_file ${NAME}[] = {\n${rows}    { 0, 0, 0 },\n};\n")
file(WRITE "${OUTPUT}" "${text}")
