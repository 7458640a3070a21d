# Tests of packages in environments that have nothing else. Sourced by package.sh.

check_parts() { # [PART ...]
  local part parts=("$@")
  (( $# )) || parts=(wheel deb image)
  for part in "${parts[@]}"; do
    case $part in
      wheel | deb | image) ;;
      *) refuse_usage "unknown part '$part' of check; there are wheel, deb and image" ;;
    esac
  done
  work=$(mktemp -d "${TMPDIR:-/tmp}/nnet3-package.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  for part in "${parts[@]}"; do "check_$part"; done
}

the_package() { # <pattern>: the one file that matches
  local files
  files=$(compgen -G "$out/$1") || fail "there is no $out/$1: \`package.sh ${1##*.}\` makes it"
  echo "$files"
}

# lint: whole: $1
at_most() { # <MB> <file>
  local size
  size=$(stat -c %s "$2")
  say "$(basename "$2"): $(s="$size" awk 'BEGIN { s = ENVIRON["s"]; printf "%.1f", s / 1e6 }') MB"
  (( size <= $1 * 1000000 )) || fail "more than $1 MB"
}

# What the acceptance test needs of the repository, for a folder that has nothing else of it.
copy_tests() { # <folder>
  mkdir -p "$1"
  tar -c scripts/{train,run,make_graph}.sh scripts/{common,jobs,train} tests/package tests/train/toy_data.sh tests/data/sound egs/digits/local |
    tar -x --no-same-owner -C "$1"
}

# A training driver of Kaldi in such a folder.
copy_kaldi() { # <folder>
  mkdir -p "$1"
  tar -C "$kaldi" -ch steps utils | tar -x --no-same-owner -C "$1"
}

# ---- the wheel: a new virtual environment, and a PATH with it and what every system has -------------------------------------
system_commands=(awk basename bash cat cksum cmp cp cut date diff dirname du env find flock grep gzip gunzip head hostname id ln ls mkdir
  mkfifo mktemp mv nproc paste printf ps pwd readlink realpath rm rmdir sed seq setpriv sh sleep sort stat tail tee test touch tr true uname uniq
  wc xargs)

check_wheel() {
  local wheel began command
  wheel=$(the_package 'nnet3-*.whl')
  # The programs and the module are two binaries.
  $debug || at_most "$($static_openblas && echo 40 || echo 16)" "$wheel"
  python3 -m venv "$work/venv"
  # (numpy, which the wheel needs, comes from where it was put the first time.)
  local wheels=$cache/wheels pip=("$work/venv/bin/python" -m pip --disable-pip-version-check)
  if ! compgen -G "$wheels/numpy-*.whl" >/dev/null; then
    if $offline; then fail "$wheels lacks numpy"; fi
    say "downloading with pip into $wheels: numpy"
    "${pip[@]}" download --quiet --only-binary :all: --dest "$wheels" numpy
  fi
  began=$SECONDS
  "${pip[@]}" install --quiet --no-index --find-links "$wheels" "$wheel"
  mkdir "$work/commands"
  for command in "${system_commands[@]}"; do
    if command=$(type -P "$command"); then ln -s "$(realpath "$command")" "$work/commands/${command##*/}"; fi
  done
  local alone=(env -i HOME="$work" PATH="$work/venv/bin:$work/commands" LC_ALL=C.UTF-8)
  "${alone[@]}" nnet3-info --help >/dev/null
  say "from pip install to a first answer: $((SECONDS - began)) s"

  copy_tests "$work/repository"
  "${alone[@]}" "$work/repository/tests/package/acceptance.sh" "$work/acceptance"
  if [[ $kaldi ]]; then
    copy_kaldi "$work/kaldi"
    ln -s "$(realpath "$(type -P perl)")" "$work/commands/perl"
    "${alone[@]}" "$work/repository/tests/package/stock_driver.sh" "$work/driver" "$work/kaldi"
  fi
  "${alone[@]}" "$work/venv/bin/python" packaging/python/tests/test_module.py "$work/acceptance"
  "${pip[@]}" uninstall --quiet --yes nnet3
  [[ ! -e $work/venv/bin/nnet3 && ! -e $work/venv/bin/nnet3-info ]] || fail "pip uninstall leaves programs"
}

# ---- the Debian package: a new Debian without Rust, compilers, Python or a BLAS ---------------------------------------------
# Its packages are kept, so that it can be made again without network.
debian() { # <folder>
  local archive=$cache/bookworm.tar options=(--variant=minbase)
  (( EUID == 0 )) || fail "only root can make a Debian in a folder (debootstrap)"
  if ! command -v debootstrap >/dev/null; then
    if $offline; then fail "there is no debootstrap"; fi
    scripts/common/install_packages.sh debootstrap
  fi
  if [[ ! -e $archive ]]; then
    if $offline; then fail "there is no $archive"; fi
    say "downloading a minimal Debian to $archive"
    debootstrap "${options[@]}" --make-tarball="$archive.new" bookworm "$work/debootstrap" >"$work/debootstrap.log" 2>&1 ||
      fail "debootstrap: $(tail -n 3 "$work/debootstrap.log")"
    mv "$archive.new" "$archive"
  fi
  debootstrap "${options[@]}" --unpack-tarball="$archive" bookworm "$1" >"$work/debootstrap.log" 2>&1 ||
    fail "debootstrap: $(tail -n 3 "$work/debootstrap.log")"
}

inside() { # <folder> <command> …: with nothing of this machine but its processors
  local root=$1
  shift
  env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    unshare --mount --pid --fork chroot "$root" sh -c 'mount -t proc proc /proc && exec "$@"' sh "$@"
}

check_deb() {
  local deb root=$work/debian driver pages
  deb=$(the_package 'nnet3_*.deb')
  $debug || at_most "$($static_openblas && echo 20 || echo 10)" "$deb"
  debian "$root"
  cp "$deb" "$root/nnet3.deb"
  inside "$root" dpkg --install /nnet3.deb >"$work/dpkg.log" 2>&1 || fail "dpkg: $(cat "$work/dpkg.log")"
  if inside "$root" sh -c 'command -v cargo || command -v cc || command -v python3 || ldconfig -p | grep -i blas'; then
    fail "the Debian is to have no Rust, compiler, Python or BLAS"
  fi
  pages=$(inside "$root" sh -c 'ls /usr/share/man/man1 | grep -c ^nnet3-')
  number pages whole "number of manual pages" "$pages"
  (( pages >= 40 )) || fail "there are no manual pages"
  inside "$root" bash -n /usr/share/bash-completion/completions/nnet3-train
  for driver in train recognizer adapt_model make_graph make_vosk_model segment_long transcribe_many run slurm k8s; do
    inside "$root" "/usr/share/nnet3/scripts/$driver.sh" --help >/dev/null || fail "$driver.sh --help does not run"
  done
  copy_tests "$root/repository"
  # The driver is that of the package.
  rm -r "$root/repository/scripts"
  cp -r "$root/usr/share/nnet3/scripts" "$root/repository/"
  inside "$root" /repository/tests/package/acceptance.sh /tmp/acceptance
  if [[ $kaldi ]]; then
    # What the driver is written in.
    cp -L /etc/resolv.conf "$root/etc/resolv.conf"
    inside "$root" sh -ec 'apt-get update && apt-get install -y --no-install-recommends python3 perl' >"$work/apt.log" 2>&1 ||
      fail "apt-get: $(tail -n 3 "$work/apt.log")"
    copy_kaldi "$root/kaldi"
    inside "$root" /repository/tests/package/stock_driver.sh /tmp/driver /kaldi
  fi
  inside "$root" dpkg --purge nnet3 >/dev/null
  ! compgen -G "$root/usr/bin/nnet3*" || fail "dpkg --purge leaves programs"
}

# ---- the image --------------------------------------------------------------------------------------------------------
# With buildah: of the Containerfile as it is, of images that are made here, of a minimal Debian, since a registry may be out of reach. That of the first
# stage has, for want of hours, a `cargo` that gives the binary of the Debian package that is there. All of it needs root, and network for Debian's
# packages, and leaves nothing.
in_images() { # <subcommand of buildah> ...
  buildah --root "$work/images" --runroot "$work/images.run" --storage-driver vfs "$@"
}

base_image() { # <name> <folder>
  local container
  container=$(in_images from scratch)
  in_images add --quiet "$container" "$2" / >/dev/null
  in_images config --cmd sh "$container"
  in_images commit --quiet "$container" "localhost/$1" >/dev/null
  in_images rm "$container" >/dev/null
}

write_prebuilt_cargo() { # <folder of the image>
  dpkg-deb --fsys-tarfile "$(the_package 'nnet3_*.deb')" | tar -x -O ./usr/bin/nnet3 >"$1/opt/nnet3"
  cat >"$1/usr/local/bin/cargo" <<'CARGO'
#!/bin/sh
case $1 in
  metadata) echo '{"target_directory": "/nnet3/target"}' ;;
  build)
    case " $* " in *" static-openblas "*) ;; *) echo "no OpenBLAS inside" >&2; exit 1 ;; esac
    install -D /opt/nnet3 /nnet3/target/release/nnet3
    ;;
esac
CARGO
  chmod 755 "$1/usr/local/bin/cargo"
}

check_image() {
  if command -v buildah >/dev/null; then check_image_itself; else check_shell_lines; fi
}

check_image_itself() {
  local root=$work/base log=$work/image.log container
  debian "$root"
  base_image debian "$root"
  write_prebuilt_cargo "$root"
  base_image rust "$root"
  rm -rf "$root"
  in_images bud --isolation chroot --pull-never --build-arg DEBIAN=localhost/debian --build-arg RUST=localhost/rust \
    -f packaging/Containerfile -t nnet3 . >"$log" 2>&1 || fail "buildah: $(tail -n 5 "$log")"
  container=$(in_images from --pull-never localhost/nnet3)
  root=$(in_images mount "$container")
  ! compgen -G "$root/tmp/*.deb" || fail "the package is left in the image"
  copy_tests "$root/repository"
  run_in() { in_images run --isolation chroot "$container" -- "$@"; }
  [[ $(run_in pwd) == /work ]] || fail "the image's folder is not /work"
  run_in sh -c '! command -v cargo' || fail "the image has what the first stage has"
  run_in /repository/tests/package/acceptance.sh /tmp/acceptance
  say "the image has $(du -sm "$root" | cut -f1) MB"
  in_images rm --all >/dev/null
}

# Without a container engine: the shell lines of the stage that becomes the image, in a minimal Debian, with the Debian package that is
# there in the place of the one that the stage before would have built. Needs network, as the lines do.
shell_lines() { # <stage of the Containerfile>: what RUN runs
  stage="$1" awk 'BEGIN { stage = ENVIRON["stage"] } /^FROM / { inside = $NF == stage } inside && (/^RUN / || more) {
    sub(/^RUN /, ""); more = sub(/\\$/, ""); printf "%s%s", $0, more ? " " : "\n" }' packaging/Containerfile
}

check_shell_lines() {
  local deb root=$work/image
  deb=$(the_package 'nnet3_*.deb')
  debian "$root"
  cp "$deb" "$root/tmp/"
  cp -L /etc/resolv.conf "$root/etc/resolv.conf"
  shell_lines cpu >"$work/lines"
  [[ -s $work/lines ]] || fail "packaging/Containerfile has no stage cpu with RUN lines"
  cat "$work/lines"
  inside "$root" sh -ec "$(cat "$work/lines")" >"$work/image.log" 2>&1 || fail "the image's lines: $(tail -n 5 "$work/image.log")"
  ! compgen -G "$root/tmp/*.deb" || fail "the package is left in the image"
  copy_tests "$root/repository"
  inside "$root" /repository/tests/package/acceptance.sh /tmp/acceptance
}
