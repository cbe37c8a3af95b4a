; The command of a `run` is a shell's, in quotes of any kind. The name and the value are siblings in these patterns, without the
; node around them: with it, compiling a query for the KDL grammar takes minutes.
((identifier) @_name
 .
 (node_field (value (string (string_fragment) @injection.content)))
 (#eq? @_name "run")
 (#set! injection.language "bash"))

((identifier) @_name
 .
 (node_field (value (string (multi_line_string (string_fragment) @injection.content))))
 (#eq? @_name "run")
 (#set! injection.language "bash"))
