# Language model, graph, recognition of the recordings for tests, and the model folder.

prepare_graph() {
  if [[ $arpa ]]; then step "language model" lm copy_language_model "@$arpa" "@$dir/lang/words.txt"
  else step "language model" lm estimate_language_model "@$dir/data/train/text" "@$dir/lang/words.txt" "$lm_order"
  fi
  step "graph" graph make_graph "=lm" "@$dir/lang/lexicon_disambig.fst" "=chain/model"
}

estimate_language_model() {
  "$here/make_arpa.py" --order="$lm_order" --vocabulary="$dir/lang/words.txt" "$dir/data/train/text" "$out/lm.arpa" || exit 1
}

copy_language_model() { cp "$arpa" "$out/lm.arpa"; }

make_graph() {
  run "$log.log" "$here/make_graph.sh" --self-loop-scale=1.0 "$dir/lm/lm.arpa" "$dir/lang" "$dir/tree/tree" "$dir/chain/model/final.mdl" "$out"
  local skipped
  skipped=$(grep -c "not in symbol table" "$log.log" || true)
  (( skipped == 0 )) || say "WARNING: n-grams of the language model with words that are not in the lexicon are left out, $skipped or more; see $log.log"
}

# ---- recognition ----------------------------------------------------------------------------------------------------
decode_sets() {
  local set
  for set in "${tests[@]}"; do
    step "recognition of $set" "decode/$set" decode "=feats/$set" "=graph" "$beam" "$lattice_beam" "$max_active"
  done
  {
    printf '%-20s %6s %7s %8s %6s %6s %6s %8s\n' set utts words WER sub del ins "sent. err"
    for set in "${tests[@]}"; do cat "$dir/decode/$set/result"; done
  } >"$dir/results.tmp"
  mv "$dir/results.tmp" "$dir/results.txt"
}

# Lattices, text, result (a line of the table) and errors.txt (words by how often they were wrong).
decode() {
  local feats=$dir/feats/$set/feats.scp jobs reference=$dir/data/$set/text
  jobs=$(jobs_for "$feats")
  split_lines "$feats" "$jobs" "$out/part." .scp
  run --max-jobs-run "$nj" JOB=1:"$jobs" "$log.JOB.log" nnet3-latgen-faster --frame-subsampling-factor=3 --frames-per-chunk=150 \
    --acoustic-scale=1.0 --beam="$beam" --lattice-beam="$lattice_beam" --max-active="$max_active" "$dir/chain/model/final.mdl" "$dir/graph/HCLG.fst" \
    "scp:$out/part.JOB.scp" "ark:| gzip -c >$out/lat.JOB.gz"
  rm "$out"/part.*.scp
  run "${log}_words.log" lattice-best-path --acoustic-scale=1.0 "ark:gunzip -c $out/lat.*.gz |" "ark,t:$out/numbers"
  names_of_words <"$out/numbers" >"$out/text"
  rm "$out/numbers"
  compute-wer --print-args=false --text --mode=all "ark:$reference" "ark:$out/text" >"$out/wer" 2>"${log}_wer.log" ||
    fail_with_log "the words cannot be compared" "${log}_wer.log"
  # %WER 3.45 [ 12 / 348, 2 ins, 3 del, 7 sub ] and %SER 10.0 [ 4 / 40 ]
  tr -d ',[]' <"$out/wer" | awk -v set="$set" '$1 == "%WER" { wer = $2; words = $5; ins = $6; del = $8; sub_ = $10 }
    $1 == "%SER" { ser = $2; utts = $5 }
    END { printf "%-20s %6d %7d %6.2f %% %6d %6d %6d %6.1f %%\n", set, utts, words, wer, sub_, del, ins, ser }' >"$out/result"
  count_errors "$reference" "$out/text" >"$out/errors.txt"
}

# Lines `word, spoken, right, replaced, missed, put in`, the most wrong first. A word put in counts for itself.
count_errors() { # <reference> <recognised>
  align-text --print-args=false --special-symbol='***' "ark:$1" "ark:$2" ark,t:- 2>>"${log}_wer.log" | awk '
    { for (i = 2; i <= NF; i += 3) {
        said = $i; heard = $(i + 1)
        if (said == "***") { put_in[heard]++; words[heard]; continue }
        words[said]; spoken[said]++
        if (said == heard) right[said]++
        else if (heard == "***") missed[said]++
        else replaced[said]++
      } }
    END { for (w in words) print w, spoken[w] + 0, right[w] + 0, replaced[w] + 0, missed[w] + 0, put_in[w] + 0 }' |
    awk '{ print $4 + $5 + $6, $0 }' | sort -k1,1nr -k2,2 | cut -d' ' -f2-
}

# ---- the model folder -----------------------------------------------------------------------------------------------
make_model() {
  step "model folder" model collect_model "=graph" "=feats/train" "$beam" "$lattice_beam" \
    "$max_active"
}

collect_model() {
  "$here/make_vosk_model.sh" --beam="$beam" --lattice-beam="$lattice_beam" --max-active="$max_active" "$dir" "$out/folder" >"$log.log" 2>&1 ||
    fail_with_log "the model folder cannot be made" "$log.log"
  mv "$out/folder"/* "$out"
  rmdir "$out/folder"
}
