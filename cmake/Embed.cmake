# Writes SOURCE into HEADER as a std::string_view named SYMBOL. Not inline: each engine has a schema.sql, and
# inline variables of one name are one variable.
file(READ ${SOURCE} text)
file(WRITE ${HEADER}.new "#pragma once
#include <string_view>
namespace pawl::embedded {
constexpr std::string_view ${SYMBOL} = R\"pawl-script(${text})pawl-script\";
}
")
file(COPY_FILE ${HEADER}.new ${HEADER} ONLY_IF_DIFFERENT)
file(REMOVE ${HEADER}.new)
