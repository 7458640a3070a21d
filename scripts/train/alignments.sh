# What targets, alignments and lattices tell before anything is made of them: of which kind they are, pdfs that fit the network, and frames that
# fit the features.

sample_size=30 # utterances whose lengths are compared

# Targets of another kind than --target-type would be found late, and named by their bytes.
check_kind_of_targets() { # <option> <rspecifier>
  local kind
  local -A held=([ali]="alignments (a number for each frame)" [post]=posteriors [dense]="matrices, as features are")
  [[ $2 == *:* && $2 != *'|' && $objective != chain && ! $ali_dir ]] || return 0
  ! has_entry_of "$target_type" "$2" || return 0
  for kind in ali post dense; do
    ! has_entry_of "$kind" "$2" || fail "--$1=$2: these are ${held[$kind]}: expected --target-type=$kind, found --target-type=$target_type"
  done
}

# True if the first entry of a table is of this kind.
has_entry_of() { # <ali|post|dense> <rspecifier>
  local -A program=([ali]=copy-int-vector [post]=copy-post [dense]=copy-feats)
  [[ $("${program[$1]}" --print-args=false "$2" ark,t:- 2>/dev/null | head -c 1 | wc -c) == 1 ]]
}

# The network's output, the tree and the transition model have the same pdfs.
check_pdfs() {
  local from=${graph_dir:-${tree_dir:-$ali_dir}} model=final.mdl log=$dir/log/pdfs.log pdfs leaves
  [[ $from ]] || return 0
  pdfs=$(hmm-info --print-args=false "$from/final.mdl" 2>"$log" | sed -n 's/^number of pdfs //p') || true
  [[ $pdfs ]] || fail_with_log "the transition model in $from/final.mdl cannot be read" "$log"
  number pdfs whole "number of pdfs in $from/final.mdl" "$pdfs" 1
  if [[ -e $from/tree ]]; then
    leaves=$(num_leaves "$from/tree" "$log") || exit 1
    number leaves whole "number of pdfs in $from/tree" "$leaves" 1
    (( leaves == pdfs )) || fail "$from/tree has $leaves pdfs, but $from/final.mdl has $pdfs: they are of different systems"
    model=tree
  fi
  (( num_targets == pdfs )) || fail "the network's output has $num_targets columns, but $from/$model has $pdfs pdfs: the output layers need dim=$pdfs"
}

num_leaves() { # <tree> <log>
  tree-info --print-args=false "$1" 2>"$2" | sed -n 's/^num-pdfs //p' | grep . || fail_with_log "the tree $1 cannot be read" "$2"
}

# A forgotten factor shortens or lengthens everything threefold, which would be found utterance by utterance when examples are made.
check_lengths() {
  local frames wanted given option place lengths=$private/lengths log=$dir/log/lengths.log # lint: whole: wanted given
  [[ ! $egs_dir && ! -e $dir/egs && ! $graph_dir ]] || return 0
  given=$frame_subsampling_factor option=frame-subsampling-factor
  if [[ $lat_dir ]]; then
    place=$lat_dir/lat.1.gz given=$alignment_subsampling_factor option=alignment-subsampling-factor
    frames=$frame_subsampling_factor
  elif [[ $tree_dir || $ali_dir ]]; then place=${tree_dir:-$ali_dir}/ali.1.gz frames=
  elif [[ $targets == *:* && $target_type == ali && $targets != *'|' ]]; then place=$targets frames=
  else return 0
  fi
  lengths_of_alignments "$place" 2>"$log" | head -n "$sample_size" >"$lengths.targets" || true
  lengths_of_features "$lengths.targets" >"$lengths.feats" 2>"$log" || true
  # The factor that makes most of these utterances fit, if there is one: frames of features for each frame of an alignment.
  wanted=$(awk 'NR == FNR { feats[$1] = $2; next } ($1 in feats) && $2 > 0 { n++; f = int(feats[$1] / $2 + 0.5); if (f < 1) f = 1
      if (feats[$1] / $2 > 0.4 && (d = feats[$1] / f - $2) < 0.1 * $2 + 2 && d > -0.1 * $2 - 2) count[f]++ }
    END { for (f in count) if (count[f] > 0.8 * n) { print f; exit } print 0 }' "$lengths.feats" "$lengths.targets")
  (( wanted > 0 )) || return 0
  if [[ $frames ]]; then
    # Lattices have a frame for each `wanted` of the features, outputs one for each `frames`.
    (( frames % wanted == 0 )) || return 0
    (( frames / wanted == given )) ||
      fail "$place has a frame for $(each_frame "$wanted") of the features, and the network has an output for $(each_frame "$frames"):" \
        "expected --$option=$((frames / wanted)), found $given"
    return
  fi
  (( wanted != given )) || return 0
  [[ $objective == frame ]] ||
    fail "$place has a frame for $(each_frame "$wanted") of the features, but the network has an output for $(each_frame "$given"): expected alignments" \
      "of the outputs, as steps/nnet3/chain/build_tree.sh or convert-ali --frame-subsampling-factor=$given makes them, or --$option=$wanted"
  fail "$place has a frame for $(each_frame "$wanted") of the features: expected --$option=$wanted, found $given"
}

each_frame() { if [[ $1 == 1 ]]; then echo "each frame"; else echo "every $1 frames"; fi; } # <number>

# Lines `utterance frames` of alignments or lattices, as many as are read.
lengths_of_alignments() { # <ali.1.gz, lat.1.gz or table>
  case $1 in
    */lat.1.gz) lattice-best-path --print-args=false "ark:gunzip -c $1 |" ark:/dev/null ark,t:- ;;
    */ali.1.gz) copy-int-vector --print-args=false "ark:gunzip -c $1 |" ark,t:- ;;
    *) copy-int-vector --print-args=false "$1" ark,t:- ;;
  esac | awk '{ print $1, NF - 1; fflush() }'
}

# The same of the features of utterances, if they are in a data folder or a script file.
lengths_of_features() { # <lines that begin with utterances>
  local scp
  if is_folder "$feats"; then
    scp=$feats/feats.scp
    if [[ -s $feats/utt2num_frames ]]; then select_lines "$1" "$feats/utt2num_frames"; return; fi
  elif [[ $feats == scp:* && $feats != *'|' ]]; then scp=${feats#scp:}
  else return 0
  fi
  select_lines "$1" "$scp" >"$private/sample.scp"
  feat-to-len --print-args=false "scp:$private/sample.scp" ark,t:-
}
