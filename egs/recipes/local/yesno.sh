# egs/yesno/s5 of Kaldi: one speaker, two words, a monophone model.

recipe_folders=(egs/wsj/s5 egs/yesno/s5 tools/config tools/extras)

make_data() {
  step waves . "$python" "$here/local/yesno.py" --seed="$seed" "$work/waves"
}

place_data() {
  local s5=$work/egs/yesno/s5
  [[ -e $s5/waves_yesno ]] || cp -r "$work/waves" "$s5/waves_yesno"
}

run_recipe() {
  local s5=egs/yesno/s5
  place_data
  step run $s5 ./run.sh
  error_rates $s5 >"$work/results.txt"
}
