# Language model, graph, recognition of the recordings for tests, and the model folder.

do_lm() {
  if [[ $arpa ]]; then step "language model" lm copy_language_model "@$arpa" "@$dir/lang/words.txt" "$garbage" "$garbage_factor"
  else step "language model" lm estimate_language_model "@$dir/data/transcripts" "@$dir/lang/words.txt" "$lm_order" "$garbage" "$garbage_factor"
  fi
}

do_graph() {
  if [[ $system == gaussian ]]; then step "graph" graph make_graph "=lm" "@$dir/gauss/lang/L_disambig.fst" "=gaussian/model"
  else step "graph" graph make_graph "=lm" "@$dir/lang/L_disambig.fst" "=chain/model"
  fi
  [[ $decode_flat == true ]] || return 0
  local system=flat
  step "graph for the model that was trained without alignments" flat/graph make_graph "=lm" "@$dir/lang/L_disambig.fst" "=flat/model"
}

# Sets what a system is made of: the chain model, the one that was trained without alignments, or Gaussian models.
set_system() { # <chain|adapted|flat|gaussian>
  lang=$dir/lang self_loop_scale=1.0 factor=3
  case $1 in
    chain) tree=$dir/tree/tree mdl=$dir/chain/model/final.mdl graph=$dir/graph ;;
    adapted) tree=$dir/tree/tree mdl=$dir/chain/adapted/final.mdl graph=$dir/graph ;;
    flat) tree=$dir/flat/graphs/tree mdl=$dir/flat/model/final.mdl graph=$dir/flat/graph ;;
    gaussian)
      tree=$dir/gaussian/model/tree mdl=$dir/gaussian/model/network.mdl graph=$dir/graph
      lang=$dir/gauss/lang self_loop_scale=0.1 factor=1
      ;;
  esac
}

estimate_language_model() {
  program "$log.log" make-arpa --print-args=false --order="$lm_order" --vocabulary="$dir/lang/words.txt" "$dir/data/transcripts" "$out/lm.arpa"
  [[ $garbage == false ]] || make_garbage_rare "$out/lm.arpa"
}

# Multiplies the probabilities of the garbage word. A new speaker's words sound like it, so that it must be far better than they are.
make_garbage_rare() { # <ARPA file>
  garbage_word="$garbage_word" factor="$garbage_factor" awk -F'\t' 'BEGIN { OFS = FS; word = ENVIRON["garbage_word"]; less = log(ENVIRON["factor"]) / log(10) }
    NF > 1 { n = split($2, words, " "); if (words[n] == word) $1 = sprintf("%.6f", $1 + less) } { print }' "$1" >"$1.rare"
  mv "$1.rare" "$1"
}

# A model without the garbage word gets it as a sentence of its own.
copy_language_model() {
  if [[ $garbage == false ]] || grep -q "[[:blank:]]$garbage_word\([[:blank:]]\|\$\)" "$arpa"; then cp "$arpa" "$out/lm.arpa"; return; fi
  echo "$garbage_word" >"$out/garbage.txt"
  program "${log}_garbage.log" make-arpa --print-args=false --keys=false --order=2 --vocabulary="$out/garbage.txt" "$out/garbage.txt" "$out/garbage.arpa"
  run "$log.log" arpa-mix --weights="$(factor="$garbage_factor" awk 'BEGIN { g = 0.05 * ENVIRON["factor"]; printf "%.8f,%.8f", 1 - g, g }')" "$arpa" \
    "$out/garbage.arpa" "$out/lm.arpa"
  rm "$out"/garbage.*
}

make_graph() {
  local tree mdl graph lang self_loop_scale factor skipped phrases=true
  set_system "$system"
  [[ $system != gaussian ]] || phrases=false # (Their trees ask for the phone that follows.)
  run "$log.log" "$here/make_graph.sh" --phrases="$phrases" --self-loop-scale="$self_loop_scale" "$dir/lm/lm.arpa" "$lang" "$tree" "$mdl" "$out"
  skipped=$(grep -c "not in symbol table" "$log.log" || true)
  (( skipped == 0 )) || say "WARNING: n-grams of the language model with words that are not in the lexicon are left out, $skipped or more; see $log.log"
}

# ---- recognition ----------------------------------------------------------------------------------------------------
do_recognition() {
  local set settings=("$beam" "$lattice_beam" "$max_active" "$edge_frames") table speakers=()
  for set in "${tests[@]}"; do
    [[ $ivectors == false ]] || speakers=("=ivectors/$set")
    step "recognition of $set" "decode/$set" decode "=feats/$set" "=graph" "${settings[@]}" "${speakers[@]}"
  done
  table=("${tests[@]/#/$dir/decode/}")
  if [[ $adapt_speakers == true && $system == chain ]]; then system=adapted do_adapted_recognition; fi
  if [[ $decode_flat == true ]]; then
    local system=flat
    for set in "${tests[@]}"; do
      step "recognition of $set, trained without alignments" "flat/decode/$set" decode "=feats/$set" "=flat/graph" "${settings[@]}"
    done
    table+=("${tests[@]/#/$dir/flat/decode/}")
  fi
  {
    printf '%-26s %6s %7s %9s %5s %5s %5s %11s\n' set utts words WER sub del ins "wrong utts"
    cat "${table[@]/%//result}" | mark_results
  } >"$private/results"
  mv "$private/results" "$dir/results.txt"
}

# Lattices, text, result (a line of the table), errors.txt (words by how often they were wrong) and wrong.tsv (utterances with a wrong word).
decode() {
  local feats=$dir/feats/$set/feats.scp features jobs reference=$dir/data/$set/text tree mdl graph lang self_loop_scale factor name=$set ivector_words
  set_system "$system"
  set_ivector_words "$system" "$set"
  case $system in
    flat) name+=" (flat start)" ;;
    gaussian) name+=" (Gaussians)" ;;
    adapted) name+=" (adapted)" feats=$dir/feats/adapted_$set/feats.scp ;;
  esac
  jobs=$(jobs_for "$feats")
  split_lines "$feats" "$jobs" "$out/part." .scp
  features=scp:$out/part.JOB.scp
  [[ $system != chain ]] || (( edge_frames == 0 )) || features="ark:$(heard "$out/part.JOB.scp")"
  run --max-jobs-run "$nj" JOB=1:"$jobs" "$log.JOB.log" nnet3-latgen-faster --frame-subsampling-factor="$factor" --frames-per-chunk=150 \
    --acoustic-scale=1.0 --beam="$beam" --lattice-beam="$lattice_beam" --max-active="$max_active" "${ivector_words[@]}" "$mdl" "$graph/HCLG.fst" \
    "$features" "ark:| gzip -c >$out/lat.JOB.gz"
  rm "$out"/part.*.scp
  run "${log}_words.log" lattice-best-path --acoustic-scale=1.0 "ark:gunzip -c $out/lat.*.gz |" "ark,t:$out/numbers"
  names_of_words <"$out/numbers" | without_garbage >"$out/text"
  awk 'NR == FNR { good[$1]; next } !($1 in good) { print "not recognised\t" $1 }' "$out/text" "$reference" >"$out/not_recognised"
  count_step "recognition of $name" "$(wc -l <"$reference")" "$(wc -l <"$out/text")" "$out/not_recognised" "${reference%/*}/utt2dur"
  rm "$out/numbers"
  count_empty "$reference" "$out/text"
  compute-wer --print-args=false --text --mode=all "ark:$reference" "ark:$out/text" >"$out/wer" 2>"${log}_wer.log" ||
    fail_with_log "the words cannot be compared" "${log}_wer.log"
  # %WER 3.45 [ 12 / 348, 2 ins, 3 del, 7 sub ] and %SER 10.0 [ 4 / 40 ]
  tr -d ',[]' <"$out/wer" | set="$name" awk 'BEGIN { set = ENVIRON["set"] } $1 == "%WER" { wer = $2; words = $5; ins = $6; del = $8; sub_ = $10 }
    $1 == "%SER" { ser = $2; utts = $5 }
    END { printf "%-26s %6d %7d %7.2f %% %5d %5d %5d %9.1f %%\n", set, utts, words, wer, sub_, del, ins, ser }' >"$out/result"
  count_errors "$reference" "$out/text" >"$out/errors.txt"
  wrong_utterances "$reference" "$out/text" >"$out/wrong.tsv"
  count_by_speaker "$reference" "$out/text" "$dir/data/$set/utt2spk" >"$out/speakers.txt"
  [[ -s $out/speakers.txt ]] || rm "$out/speakers.txt"
}

# A table of errors by speaker. Empty for one speaker, and where each utterance has a speaker of its own: then speakers are not known.
count_by_speaker() { # <reference> <recognised> <utt2spk>
  local rows # lint: whole: rows
  rows=$(align-text --print-args=false --special-symbol='***' "ark:$1" "ark:$2" ark,t:- 2>>"${log}_wer.log" | awk '
    FILENAME == ARGV[1] { who[$1] = $2; next }
    FILENAME == ARGV[2] { missed[$1] = NF - 1; utts[who[$1]]++; all++; words[who[$1]] += NF - 1; next }
    { s = who[$1]; delete missed[$1]
      for (i = 2; i <= NF; i += 3) if ($i != $(i + 1)) { if ($i == "***") ins[s]++; else if ($(i + 1) == "***") del[s]++; else sub_[s]++ } }
    END {
      for (utt in missed) del[who[utt]] += missed[utt] # (not recognised)
      for (s in utts) speakers++
      if (speakers < 2 || speakers == all) exit
      for (s in utts) printf "%-26s %6d %7d %7.2f %% %5d %5d %5d\n", s, utts[s], words[s],
        words[s] ? 100 * (sub_[s] + del[s] + ins[s]) / words[s] : 0, sub_[s], del[s], ins[s]
    }' "$3" "$1" - | sort)
  [[ ! $rows ]] || printf '%-26s %6s %7s %9s %5s %5s %5s\n%s\n' speaker utts words WER sub del ins "$rows"
}

# Says how many texts have no word but the garbage word, if that is more than a twentieth.
count_empty() { # <reference> <recognised>
  local empty all
  [[ $garbage == true ]] || return 0
  read -r empty all < <(awk 'NR == FNR { if (NF > 1) said[$1]; next } $1 in said { n++; if (NF < 2) empty++ } END { print empty + 0, n + 0 }' "$1" "$2")
  is_less "$((all / 20))" "$empty" || return 0 # lint: whole: all
  say "    $empty of $all texts are empty: the model takes the speech for noise (<unk>). If it is speech of known words, --garbage=false may be better"
}

# The garbage word stands for no word.
without_garbage() {
  garbage_word="$garbage_word" garbage="$garbage" awk '{ line = $1
    for (i = 2; i <= NF; i++) if (ENVIRON["garbage"] == "false" || $i != ENVIRON["garbage_word"]) line = line " " $i
    print line }'
}

# A table of the utterances that differ: key, what was said, what was recognised, with tabs between.
wrong_utterances() { # <reference> <recognised>
  awk 'BEGIN { print "utterance\tsaid\trecognised" }
    { key = $1; $1 = ""; sub(/^ /, "") }
    FILENAME == ARGV[1] { heard[key] = $0; next }
    heard[key] != $0 { print key "\t" $0 "\t" heard[key] }' "$2" "$1"
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
do_model() {
  local speakers=()
  [[ $ivectors == false ]] || speakers=("=ivector_extractor")
  [[ $system == chain ]] || speakers+=("=gaussian/model")
  [[ $system != chain || $adapt_speakers == false ]] || speakers+=("=chain/adapted" "=gauss/model")
  step "model folder" model collect_model "=graph" "=feats/train" "$beam" "$lattice_beam" "$max_active" "$edge_frames" "${versions-1}" "${speakers[@]}"
}

collect_model() {
  local tree mdl graph lang self_loop_scale factor
  set_system "$system"
  "$here/make_vosk_model.sh" --mdl="$mdl" --frame-subsampling-factor="$factor" --beam="$beam" --lattice-beam="$lattice_beam" --max-active="$max_active" "$dir" "$out/folder" >"$log.log" 2>&1 ||
    fail_with_log "the model folder cannot be made" "$log.log"
  rm "$out/folder/.made-of"
  mv "$out/folder"/* "$out"
  rmdir "$out/folder"
  rm -rf "$out/adaptation" "$out/conf"/{edges,bands}.conf # (Of an earlier folder with the same network.)
  # (Programs that read the folder put silence around recordings, too.)
  if [[ $system == chain ]] && (( edge_frames > 0 )); then
    n=$edge_frames awk 'BEGIN { print "--edge-silence=" ENVIRON["n"] / 100 }' >"$out/conf/edges.conf"
  fi
  # (A part of the copies lack upper bands.)
  if [[ $system == chain ]] && (( versions > 1 )); then echo --missing-bands=true >"$out/conf/bands.conf"; fi # lint: whole: versions
  if [[ $system == chain && $adapt_speakers == true ]]; then collect_adaptation
  elif [[ $system == gaussian ]]; then say "    nnet3-adapt-speaker cannot adapt a model of Gaussians to a speaker (--model=network --adapt-speakers=true makes one that it can), and it takes no --phrases"
  fi
}

# The files of nnet3-adapt-speaker. (nnet3-align takes the Gaussian models, too.)
collect_adaptation() {
  local name
  mkdir "$out/adaptation"
  for name in final.mdl final.alimdl final.mat tree splice_opts cmvn_opts phones.txt; do cp "$dir/gauss/model/$name" "$out/adaptation"; done
  write_options_of_cepstra "$out/adaptation/mfcc.conf"
  cp -r "$dir/gauss/lang" "$out/adaptation"
  cp "$dir/chain/adapted/final.mdl" "$out/adaptation/network.mdl"
}
