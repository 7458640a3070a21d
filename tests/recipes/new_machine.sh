#!/usr/bin/env bash
# Usage: new_machine.sh KALDI PROGRAMS FOLDER [RECIPE,… [VOSK]]
# Runs recipes (yesno) with --quick on a new Debian in FOLDER/debian. It has Kaldi's scripts, `egs` and `scripts` of this repository, and PROGRAMS; no
# compiler, no program of Kaldi or OpenFst. run.sh installs there what recipes need. Only root can make it; network is for packages of Debian and Python.
# KALDI and VOSK (vosk-api, for the recipe vosk) are git checkouts: files that git does not know stay behind. Started again, it goes on.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/../../scripts/common/usage.sh"
source "$here/../../scripts/common/values.sh"
plain_usage 3 5 "$@"
kaldi=$1 programs=$2 root=$(realpath -m "$3")/debian recipes=${4:-yesno} vosk=${5-}
plain_name FOLDER "$root"
[[ $recipes =~ ^[a-z_,]+$ ]] || refuse_value "RECIPE: expected names of recipes with commas between them, found '$recipes'"
[[ -x $programs/nnet3 ]] || refuse_value "there is no $programs/nnet3"
for checkout in "$kaldi" ${vosk:+"$vosk"}; do
  [[ -e $checkout/.git ]] || refuse_value "$checkout is not a git checkout"
done
(( EUID == 0 )) || refuse_value "only root can make a Debian in a folder"

inside() { # <command> …: with nothing of this machine but its processors and network
  env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive PIP_CERT=/etc/ssl/certs/ca-certificates.crt \
    unshare --mount --pid --fork chroot "$root" sh -c 'mount -t proc proc /proc && mount -t tmpfs tmpfs /dev/shm && mount -t devpts devpts /dev/pts && exec "$@"' sh "$@"
}

copy_tracked() { # <checkout> <folder> [<part> …]
  local checkout=$1 folder=$2
  shift 2
  mkdir -p "$root/$folder"
  git -C "$checkout" ls-files -z -- "$@" | tar -C "$checkout" -c --null -T - | tar -x --no-same-owner -C "$root/$folder"
}

if [[ ! -e $root/made ]]; then
  rm -rf "$root"
  mkdir -p "$root"
  command -v debootstrap >/dev/null || "$here/../../scripts/common/install_packages.sh" debootstrap
  debootstrap --variant=minbase bookworm "$root" >"$root.log" 2>&1 || refuse_value "debootstrap: $(tail -n 3 "$root.log")"
  cp -L /etc/resolv.conf "$root/etc/resolv.conf"
  mkdir -p "$root/dev/shm" "$root/dev/pts"
  # What a user of the programs has: Python, and the library of matrix products.
  inside sh -ec 'apt-get update && apt-get install -y --no-install-recommends python3 ca-certificates libopenblas0-pthread' >>"$root.log" 2>&1 ||
    refuse_value "apt-get: $(tail -n 3 "$root.log")"
  # A network may have certificates of its own.
  cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
  copy_tracked "$kaldi" kaldi egs scripts tools/config tools/extras
  touch "$root/made"
fi
copy_tracked "$here/../.." repository egs scripts
options=(--quick --only "$recipes" --dir /runs --programs /programs)
if [[ $vosk ]]; then
  copy_tracked "$vosk" vosk
  options+=(--vosk /vosk)
fi
if found=$(inside sh -c 'command -v copy-feats gmm-align lattice-scale nnet3-train fstcompose ngram-count'); then
  refuse_value "the new Debian has $found"
fi
mkdir -p "$root/programs"
find "$programs" -maxdepth 1 \( -name nnet3 -o -lname nnet3 \) -exec cp -a --remove-destination -t "$root/programs" {} +
inside /repository/egs/recipes/run.sh "${options[@]}" /kaldi
