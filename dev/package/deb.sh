# The Debian package. Sourced by package.sh. `dpkg-deb` makes it of a folder: it is on every Debian, while cargo-deb would have
# to be compiled first, and told of each of several hundred links and pages by name.

# The newest version of glibc of which the binary wants a symbol that it cannot do without.
needed_glibc() { # <binary>
  objdump -T "$1" | grep -v ' w ' | grep -oE 'GLIBC_[0-9.]+' | sed 's/GLIBC_//' | sort -uV | tail -n 1
}

control() { # <architecture> <version of glibc> <size in KiB>
  sed "s/@VERSION@/$version-1/; s/@ARCHITECTURE@/$1/; s/@GLIBC@/$2/; s/@SIZE@/$3/" packaging/debian/control
}

# What is packed bears the date of the commit, so that the same commit makes the same package. (The build does not see it in its
# environment: cargo would compile C code again for each commit.)
date_of_commit() { echo "${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y Cargo.toml)}"; }

make_deb() {
  command -v dpkg-deb >/dev/null || fail "there is no dpkg-deb here: Debian packages are made on Debian or its like"
  cargo build "${build_options[@]}" "${features[@]}" -p nnet3 --bin nnet3
  local root=$out/deb architecture name date
  date=$(date_of_commit)
  architecture=$(dpkg --print-architecture)
  rm -rf "$root"
  install -D -m 755 "$target/$build_folder/nnet3" "$root/usr/bin/nnet3"
  strip --strip-unneeded "$root/usr/bin/nnet3"
  while read -r name; do ln -s nnet3 "$root/usr/bin/$name"; done < <(programs)

  scripts/install_docs.sh "$root/usr" "$root/usr/bin/nnet3"
  mv "$root/usr/share/zsh/site-functions" "$root/usr/share/zsh/vendor-completions" # where Debian's zsh looks
  gzip -9n "$root"/usr/share/man/man1/*.1

  # The drivers, with all that they call.
  local share=$root/usr/share/nnet3
  install -d "$share"
  tar -c --exclude=__pycache__ scripts/{train,run,slurm,k8s,recognizer,adapt_model,make_graph,make_vosk_model,segment_long,transcribe_many}.sh \
    scripts/{common,train,jobs,recognizer} | tar -x -C "$share"

  install -D -m 644 packaging/debian/copyright "$root/usr/share/doc/nnet3/copyright"
  gzip -9nc CHANGELOG.md >"$root/usr/share/doc/nnet3/changelog.gz"
  install -d "$root/DEBIAN"
  (cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
  control "$architecture" "$(needed_glibc "$root/usr/bin/nnet3")" "$(du -sk --exclude=DEBIAN "$root" | cut -f1)" \
    >"$root/DEBIAN/control"
  chmod -R u=rwX,go=rX "$root"
  find "$root" -depth -exec touch -h -d "@$date" {} +
  rm -f "$out"/nnet3_*.deb
  SOURCE_DATE_EPOCH=$date dpkg-deb --root-owner-group -Zxz --build "$root" "$out/nnet3_$version-1_$architecture.deb"
  rm -rf "$root"
  ls -l "$out"/nnet3_*.deb
}
