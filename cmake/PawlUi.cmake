# The web UI, built by npm and Angular and taken into the binary. Without it the agent serves one plain page that says so.
find_program(PAWL_NODE node)
find_program(PAWL_NPM npm)
mark_as_advanced(PAWL_NODE PAWL_NPM)
set(PAWL_HAVE_NODE OFF)
if(PAWL_NODE AND PAWL_NPM)
  set(PAWL_HAVE_NODE ON)
endif()
option(PAWL_UI "Build the web UI into the pawl command (node, npm)" ${PAWL_HAVE_NODE})

# pawl_web_ui(TARGET): pawl::ui::assets() becomes part of it.
function(pawl_web_ui target)
  if(NOT PAWL_UI)
    target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src/api/no_assets.cpp)
    return()
  endif()
  set(folder ${PROJECT_BINARY_DIR}/generated/page)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/ui/src/* ${PROJECT_SOURCE_DIR}/ui/public/*)
  add_custom_command(OUTPUT ${folder}/page.cpp
    COMMAND ${PROJECT_SOURCE_DIR}/tools/build_ui ${folder}
    DEPENDS ${sources} ${PROJECT_SOURCE_DIR}/ui/package-lock.json ${PROJECT_SOURCE_DIR}/ui/angular.json
            ${PROJECT_SOURCE_DIR}/ui/tsconfig.json ${PROJECT_SOURCE_DIR}/ui/tools/embed.mjs
            ${PROJECT_SOURCE_DIR}/ui/tools/runbook.mjs ${PROJECT_SOURCE_DIR}/docs/runbook.md
            ${PROJECT_SOURCE_DIR}/tools/build_ui ${PROJECT_SOURCE_DIR}/tools/with_node
    COMMENT "Building the web UI" USES_TERMINAL VERBATIM)
  target_sources(${target} PRIVATE ${folder}/page.cpp)
  set_source_files_properties(${folder}/page.cpp TARGET_DIRECTORY ${target}
                              PROPERTIES COMPILE_OPTIONS "-I${folder}/files;-Wa,-I${folder}/files")
endfunction()
