# egs/cifar/v1 of Kaldi: examples of images, and a residual network. (The recipe's own process_data.py needs Python 2; images.py does its work.)

recipe_folders=(egs/wsj/s5 egs/cifar/v1 tools/config tools/extras)

make_data() {
  local sizes=()
  if $quick; then sizes=(--num-train=500 --num-test=100); fi
  step images . "$python" "$here/local/images.py" --seed="$seed" "${sizes[@]}" "$work/images"
}

# Numbers that a user edits: run_resnet.sh assumes two archives of 25,000 images, and trains for 140 epochs.
edit_numbers() {
  local epochs=10
  if $quick; then epochs=2; fi
  sed -i -e "s|--trainer.num-epochs=140|--trainer.num-epochs=$epochs|" -e 's|num-jobs-final=2|num-jobs-final=1|' \
    "$work/egs/cifar/v1/local/nnet3/tuning/run_resnet_1e.sh"
}

run_recipe() {
  local v1=egs/cifar/v1
  mkdir -p "$work/$v1/data"
  cp -rn "$work/images/." "$work/$v1/data"
  edit_numbers
  local_jobs "$v1"
  step examples "$v1" from_stage examples 1 ./run.sh
  step resnet "$v1" from_stage resnet 0 local/nnet3/run_resnet.sh
  (cd "$work/$v1" && perl steps/info/nnet3_dir_info.pl exp/resnet1e_cifar10) >"$work/results.txt"
}
