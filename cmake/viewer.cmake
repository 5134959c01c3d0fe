# Writes OUTPUT, the page of viewer/page.html with its scripts and styles: all but the document. SCRIPTS and STYLES are lists of
# files, separated by ",". The page's policy allows its own script, by its digest, and no other.
#
#     cmake -DOUTPUT=viewer.html -DFOLDER=viewer -DSCRIPTS=a.js,b.js -DSTYLES=a.css -P viewer.cmake
function(join_files result files)
  set(text "")
  string(REPLACE "," ";" files "${files}")
  foreach(file ${files})
    file(READ "${FOLDER}/${file}" bytes)
    string(APPEND text "${bytes}")
  endforeach()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

# base64 of 32 bytes, which come as 64 digits.
function(base64_of result hex)
  set(alphabet "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  set(text "")
  foreach(at RANGE 0 60 6)
    string(SUBSTRING "${hex}00" ${at} 6 digits)
    foreach(shift 18 12 6 0)
      math(EXPR place "(0x${digits} >> ${shift}) & 63")
      string(SUBSTRING "${alphabet}" ${place} 1 letter)
      string(APPEND text "${letter}")
    endforeach()
  endforeach()
  string(REGEX REPLACE ".$" "=" text "${text}")
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

join_files(script "${SCRIPTS}")
join_files(style "${STYLES}")
string(SHA256 hex "${script}")
base64_of(digest "${hex}")
file(READ "${FOLDER}/page.html" page)
string(REPLACE "@SCRIPT_DIGEST@" "${digest}" page "${page}")
string(REPLACE "@STYLE@" "${style}" page "${page}")
string(REPLACE "@SCRIPT@" "${script}" page "${page}")
file(WRITE "${OUTPUT}" "${page}")
