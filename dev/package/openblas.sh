# OpenBLAS inside programs. Sourced by package.sh.

# Lets pkg-config find the system's archive (Debian: libopenblas-dev), whose kernels are for all processors, in a folder of its own:
# archives of the system's folders would not be linked.
use_static_openblas() {
  local archive folder=$out/openblas
  archive=$(cc -print-file-name=libopenblas.a)
  [[ -f $archive ]] || fail "--static-openblas: the system has no libopenblas.a (apt install libopenblas-dev)"
  rm -rf "$folder"
  mkdir -p "$folder"
  ln -s "$(realpath "$archive")" "$folder/libopenblas.a"
  printf '%s\n' 'Name: openblas' 'Description: OpenBLAS as an archive' 'Version: 0.3.0' "Libs: -L$folder -lopenblas" 'Libs.private: -lpthread -lm' \
    >"$folder/openblas.pc"
  export PKG_CONFIG_PATH=$folder
}
