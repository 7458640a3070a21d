# egs/callhome_diarization/v2 of Kaldi: who spoke when, in recordings of several readers. The network is that of the recipe voxceleb.

recipe_folders=(egs/wsj/s5 egs/sre08/v1 egs/callhome_diarization tools/config tools/extras)

make_data() {
  other=$(dirname "$work")/voxceleb
  [[ -e $other/done/run ]] || refuse_value "callhome needs the network of the recipe voxceleb; run --only voxceleb,callhome"
}

# (The recipe voxceleb may be one of those that run before it.)
check_recipe() {
  [[ " ${recipes[*]} " == *" voxceleb "* ]] || make_data
}

place_data() {
  local v2=$work/egs/callhome_diarization/v2 part
  mkdir -p "$v2/data" "$v2/exp"
  [[ -e $v2/exp/xvector_nnet_1a ]] || cp -r "$other/egs/voxceleb/v2/exp/xvector_nnet_1a" "$v2/exp/xvector_nnet_1a"
  cp "$other/egs/voxceleb/v2/conf"/* "$v2/conf"
  for part in train:sre mixed1:callhome1 mixed2:callhome2; do
    mkdir -p "$v2/data/${part#*:}"
    find "$other/speech/${part%:*}" -maxdepth 1 -type f -exec cp -n {} "$v2/data/${part#*:}" ';'
  done
}

run_recipe() {
  local v2=egs/callhome_diarization/v2 part
  place_data
  local_jobs "$v2"
  for part in features vectors scores clusters; do step "$part" "$v2" "$here/local/diarize.sh" "$part"; done
  cp "$work/$v2/results.txt" "$work/results.txt"
}
