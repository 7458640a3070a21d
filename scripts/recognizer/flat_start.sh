# A first model from words alone (end-to-end LF-MMI), and what it says about where phones are.

do_flat() {
  [[ $start == flat ]] || return 0
  local size pdfs lengths
  step "graphs of the transcripts" flat/graphs make_flat_graphs "@$dir/data/train/text" "@$dir/lang/L.fst" "@$dir/lang/topo" \
    "@$dir/lang/words.txt" "@$dir/lang/phones/sets.int" "@$dir/lang/phones/align_lexicon.txt" "$srand"
  size=$(choose_by_hours "$flat_network" 2 tiny 50 small medium)
  number pdfs whole "number of pdfs in $dir/flat/graphs/tree" "$(num_pdfs "$dir/flat/graphs/tree")" 1
  write_network "$size" "$pdfs" flat "$dir/flat/network.xconfig"
  lengths=$(lengths_of_examples "$dir/feats/train/utt2num_frames")
  [[ $lengths ]] || fail "no utterance is long enough to learn from"
  training_step "training without alignments" flat/model train_flat "=flat/graphs" "=feats/train" \
    "@$dir/flat/network.xconfig" "$flat_epochs" "$flat_initial_lrate" "$flat_final_lrate" "$num_jobs_initial" "$num_jobs_final" "$train_opts" \
    "$srand"
}

# tree and final.mdl of phones without context, training graphs fst.*.scp, phone_lm.fst.
make_flat_graphs() {
  local text=$dir/data/train/text jobs disambig=--read-disambig-syms=$dir/lang/phones/disambig.int
  jobs=$(jobs_for "$text")
  run "${log}_init.log" gmm-init-mono --shared-phones="$dir/lang/phones/sets.int" "$dir/lang/topo" 10 "$out/final.mdl" "$out/tree"
  cp "$dir/lang/phones.txt" "$out"
  numbers_of_words "$text" >"$out/numbers"
  split_lines "$out/numbers" "$jobs" "$out/numbers." ""
  run --max-jobs-run "$nj" JOB=1:"$jobs" "$log.JOB.log" compile-train-graphs "$disambig" "$out/tree" "$out/final.mdl" \
    "$dir/lang/L.fst" "ark:$out/numbers.JOB" "ark,scp:$out/fst.JOB.ark,$out/fst.JOB.scp"
  sed -i "s| $out/| $to/|" "$out"/fst.*.scp
  program "${log}_phones.log" text-to-phones --print-args=false --srand="$srand" "$dir/lang" "$text" "$out/phones"
  run "${log}_lm.log" chain-est-phone-lm --num-extra-lm-states=500 "ark:$out/phones" "$out/phone_lm.fst"
  rm "$out"/numbers* "$out/phones"
}

# Examples are whole utterances, padded or cut by four frames at most; the usual length comes first.
lengths_of_examples() { # <utt2num_frames>
  awk '{ n = 9 * int(($2 + 4) / 9); if ($2 >= 10) count[n]++ } END { for (n in count) print count[n], n }' "$1" | sort -k1,1nr -k2,2n |
    awk '{ print $2 }' | paste -sd,
}

# The options of --train-opts come last, so that they replace those of this script.
train_sh() { # <options of train.sh> … <folder>
  local more
  read -ra more <<<"$train_opts"
  if [[ $skip_bad == true ]]; then more+=(--max-lost=1); fi
  "$here/train.sh" --restart=changed --objective=chain --srand="$srand" --num-jobs-initial="$num_jobs_initial" \
    --num-jobs-final="$num_jobs_final" --nj="$nj" --cmd="$cmd" --train-cmd-opts="$train_cmd_opts" --use-gpu="$use_gpu" \
    --cpu-math="$cpu_math" --num-utts-subset=100 --num-frames-diagnostic=30000 --num-frames-combine=30000 --max-models-combine=5 \
    --remove-egs=true "${@:1:$#-1}" "${more[@]}" "${*: -1}" &
  wait $! || fail "stopped: the training did not succeed; its logs are in ${*: -1}/log"
}

train_flat() {
  train_sh --feats="$dir/feats/train" --graph-dir="$dir/flat/graphs" --xconfig="$dir/flat/network.xconfig" --chunk-width="$lengths" \
    --minibatch-size=150=1:32/300=1:16/600=1:8/1500=1:4 --num-epochs="$flat_epochs" --initial-effective-lrate="$flat_initial_lrate" \
    --final-effective-lrate="$flat_final_lrate" "$to"
}

# ---- alignments -----------------------------------------------------------------------------------------------------
do_alignments() {
  [[ $model != gaussian ]] || return 0 # (They are for the network.)
  if [[ $start == flat ]]; then step "alignments" ali make_alignments "=flat/model"
  else step "alignments for the network" ali alignments_of_gaussians "=gauss/model" "@$dir/lang/topo" "$wrong_texts"
  fi
}

# Lattices lat.*.gz of the transcripts with the times of their phones, and the best path of each as ali.*.gz; text.* says which utterances
# are in which. A frame of these is an output of the network.
make_alignments() {
  local text=$dir/data/train/text jobs aligned all disambig=--read-disambig-syms=$dir/lang/phones/disambig.int model=$dir/flat/model/final.mdl
  jobs=$(jobs_for "$text")
  split_lines "$text" "$jobs" "$out/text." ""
  for ((job = 1; job <= jobs; job++)); do numbers_of_words "$out/text.$job" >"$out/numbers.$job"; done
  run --max-jobs-run "$nj" JOB=1:"$jobs" "$log.JOB.log" compile-train-graphs --transition-scale=1.0 --self-loop-scale=1.0 "$disambig" \
    "$dir/flat/graphs/tree" "$model" "$dir/lang/L.fst" "ark:$out/numbers.JOB" ark:- \| \
    nnet3-latgen-faster --frame-subsampling-factor=3 --frames-per-chunk=150 --acoustic-scale=1.0 --beam=20 --lattice-beam=20 \
    --allow-partial=false --word-determinize=false "$model" ark:- "scp:$dir/feats/train/feats.scp" "ark:| gzip -c >$out/lat.JOB.gz"
  run --max-jobs-run "$nj" JOB=1:"$jobs" "${log}_best.JOB.log" lattice-best-path --acoustic-scale=1.0 "ark:gunzip -c $out/lat.JOB.gz |" \
    ark,t:"$out/words.JOB" "ark:| gzip -c >$out/ali.JOB.gz"
  cp "$model" "$out/final.mdl"
  all=$(wc -l <"$text")
  aligned=$(cat "$out"/words.* | wc -l) # lint: whole: aligned
  cat "$out"/words.* | awk 'NR == FNR { good[$1]; next } !($1 in good) { print "no path\t" $1 }' - "$text" >"$out/not_aligned"
  (( aligned * 10 >= all * 7 )) || fail "$aligned of $all utterances are aligned: the model that was trained without alignments fits too few;" \
    "see its report, $dir/flat/model/report.html, and $log.*.log. Transcripts that are not what is said, or too few epochs (--flat-epochs)," \
    "are usual reasons"
  count_step alignments "$all" "$aligned" "$out/not_aligned" "$dir/data/train/utt2dur"
  rm -f "$out"/{numbers,words}.*
}
