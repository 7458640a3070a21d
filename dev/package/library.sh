# The shared library with vosk's functions. Sourced by package.sh.

make_library() {
  local options=(--profile library) folder=library
  if $debug; then options=() folder=debug; fi
  cargo build "${options[@]}" "${features[@]}" -p nnet3-vosk
  cp "$target/$folder/libvosk.so" "$out/libvosk.so"
  if ! $debug; then strip --strip-unneeded "$out/libvosk.so"; fi
  ls -l "$out/libvosk.so"
}
