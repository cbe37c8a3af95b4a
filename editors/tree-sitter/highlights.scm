; Statements of the language, on top of the KDL grammar's own queries.
((node (identifier) @keyword)
 (#any-of? @keyword
  "atelier" "import" "let" "param" "template" "prebuild" "group" "allow" "use" "matrix" "skip" "cell" "from" "repo"
  "only" "stub" "layer" "file" "run" "env" "path" "secret" "cache" "resources" "about"))

; Names between the braces of an interpolated text.
((value (type (identifier) @_type) (string (string_fragment) @string.special))
 (#eq? @_type "f"))
