# The wheel. Sourced by package.sh.

# A wheel holds no links, and a start through Python would take 200 ms: each program is a script of two lines, which the shell
# runs in 1 ms. (Where it is a link itself, the binary is not beside the link but beside what that leads to.)
write_scripts() { # <folder>
  rm -rf "$1"
  mkdir -p "$1"
  local name
  while read -r name; do
    printf '#!/bin/sh\nd=${0%%/*}; [ -x "$d/nnet3" ] || d=$(dirname "$(readlink -f "$0")"); exec "$d/nnet3" %s "$@"\n' "$name" \
      >"$1/$name"
  done < <(programs)
  chmod 755 "$1"/*
}

# Zig has the stubs of every version of glibc. Only the binary is linked by it, of libraries that are compiled as ever. (With another
# PATH for the whole build cargo might compile C code again.)
write_linker() { # <file>
  printf '#!/bin/sh\nPATH=%q:$PATH\nexec maturin zig cc -- -target %s-linux-gnu.2.28 "$@"\n' "$PWD/$tools/bin" "$(uname -m)" >"$1"
  chmod 755 "$1"
}

# The drivers of recognisers and trainings lie in share/nnet3/scripts of the environment, as in the Debian package.
write_drivers() { # <folder of the wheel's data>
  local share=$1/data/share/nnet3 name
  rm -rf "$1/data"
  mkdir -p "$share"
  tar -c --exclude=__pycache__ scripts/{train,run,slurm,k8s,recognizer,adapt_model,make_graph,make_vosk_model,segment_long,transcribe_many}.sh \
    scripts/{common,train,jobs,recognizer} | tar -x --no-same-owner -C "$share"
  for name in recognizer.sh train.sh; do
    printf '#!/bin/sh\nd=${0%%/*}; [ -x "$d/nnet3" ] || d=$(dirname "$(readlink -f "$0")"); exec "$d/../share/nnet3/scripts/%s" "$@"\n' "$name" \
      >"$1/scripts/$name"
    chmod 755 "$1/scripts/$name"
  done
}

# The part of the module that is Rust. It serves Python 3.9 and later (abi3).
build_module() { # <options of cargo> ...
  local folder=library package=(-p nnet3-python)
  # (All libraries together have the features of the tests' build, in which the module is already.)
  if $debug; then folder=debug package=(--workspace --lib); fi
  cargo build "${package[@]}" "${features[@]}" "$@"
  cp "$target/$folder/libnnet3_python.so" packaging/python/nnet3/_native.abi3.so
}

make_wheel() {
  write_scripts packaging/python/nnet3.data/scripts
  write_drivers packaging/python/nnet3.data
  local options
  if $debug; then
    install_tools maturin
    options=(--compatibility linux) # for this machine alone, and not stripped: that would be another build
    build_module
  else
    install_tools maturin ziglang
    write_linker "$out/zig-linker"
    build_module --profile library --config "target.$(rustc -vV | sed -n 's/^host: //p').linker='$out/zig-linker'"
    options=(--compatibility manylinux_2_28 --strip true -- -C linker="$out/zig-linker")
  fi
  rm -rf "$out/new"
  (cd packaging/python && "$OLDPWD/$tools/bin/maturin" build "${build_options[@]}" "${features[@]}" --out "$out/new" "${options[@]}")
  rm -f "$out"/nnet3-*.whl
  mv "$out"/new/nnet3-*.whl "$out/"
  rmdir "$out/new"
  ls -l "$out"/nnet3-*.whl
}
